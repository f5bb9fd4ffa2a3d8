"""operations.vector_steps in one kernel: all positions of some sentences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.engines.numba.jit import device_function, kernel
from dragoman.engines.numba.kernels.row_kernels import mix
from dragoman.engines.numba.word_vectors.predictions import S32, add_multiple, clear, predict


@device_function
def keep_words(labels: Any, start: Any, stop: Any, key: Any, kept: Any, places: Any, words: Any) -> Any:
    """The words of a sentence that subsampling keeps, and their positions; returns how many."""
    length = 0
    for place in range(start, stop):
        if mix(np.uint32(np.uint32(place) ^ key)) <= kept[labels[place]]:
            places[length], words[length] = place, labels[place]
            length += 1
    return length


@device_function
def cbow_step(
    table: Any, outputs: Any, words: Any, middle: Any, mean: Any, row_key: Any, rate: Any, drawing: Any
) -> Any:
    """CBOW: the mean of the context predicts the middle word, and every context word gets the update of the mean.

    Returns the number of predictions: 0 without context, else 1.
    """
    around = words.shape[0] - 1
    if around == 0:
        return 0
    share = table.dtype.type(1) / table.dtype.type(around)
    clear(mean)
    for i in range(words.shape[0]):
        if i != middle:
            add_multiple(share, table[words[i]], mean)
    predict(mean, outputs, words[middle], row_key, 0, rate, drawing)
    for i in range(words.shape[0]):
        if i != middle:
            add_multiple(table.dtype.type(1), drawing.dh, table[words[i]])
    return 1


@device_function
def skip_gram_step(table: Any, outputs: Any, words: Any, middle: Any, row_key: Any, rate: Any, drawing: Any) -> Any:
    """Skip-gram: the middle word predicts every context word; returns how many."""
    number = 0
    h = table[words[middle]]
    for i in range(words.shape[0]):
        if i != middle:
            predict(h, outputs, words[i], row_key, number, rate, drawing)
            add_multiple(table.dtype.type(1), drawing.dh, h)
            number += 1
    return number


@kernel
def train_sentences(
    table: Any, outputs: Any, labels: Any, offsets: Any, first: Any, last: Any, plan: Any, keys: Any, drawing: Any
) -> Any:
    """(error, predictions); keys: hash keys of the draws of subsampling, windows and negatives"""
    cbow, window, kept, first_rate, slope, before = plan
    longest = 0
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    places, words = np.empty(longest, np.int64), np.empty(longest, np.int64)
    mean = np.empty(table.shape[1], table.dtype)
    count = 0
    for s in range(first, last):
        length = keep_words(labels, offsets[s], offsets[s + 1], keys[0], kept, places, words)
        for middle in range(length):
            place = places[middle]
            drawn = np.uint64(mix(np.uint32(np.uint32(place) ^ keys[1]))) * np.uint64(window)
            reach = window - np.int64(drawn >> S32)
            start, stop = max(0, middle - reach), min(length, middle + 1 + reach)
            near, row_key = words[start:stop], mix(np.uint32(np.uint32(place) ^ keys[2]))
            rate = table.dtype.type(first_rate + slope * (before + place))
            if cbow:
                count += cbow_step(table, outputs, near, middle - start, mean, row_key, rate, drawing)
            else:
                count += skip_gram_step(table, outputs, near, middle - start, row_key, rate, drawing)
    return drawing.tally[0] - math.log(drawing.tally[1]), count
