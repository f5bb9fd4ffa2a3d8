"""Through a text, place by place: operations.vector_steps in one kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.engines.numba.arguments import matrices
from dragoman.engines.numba.jit import kernel, part
from dragoman.engines.numba.rows import mix
from dragoman.engines.numba.vectors.predictions import S32, Drawing, add_multiple, clear, predict
from dragoman.graph import Array
from dragoman.operations import vector_steps as steps

ENGINE = "numba"


@part
def keep_words(labels: Any, start: Any, stop: Any, key: Any, kept: Any, places: Any, words: Any) -> Any:
    """The words of a sentence that its draws leave, and where they stand; how many."""
    length = 0
    for place in range(start, stop):
        if mix(np.uint32(np.uint32(place) ^ key)) <= kept[labels[place]]:
            places[length], words[length] = place, labels[place]
            length += 1
    return length


@part
def learn_bag(
    table: Any, outputs: Any, words: Any, middle: Any, mean: Any, row_key: Any, rate: Any, drawing: Any
) -> Any:
    """CBOW: the mean of the words around predicts the one in the middle, and each of them moves as far as the mean.

    How many predictions that was: none where a word is alone.
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


@part
def learn_pairs(table: Any, outputs: Any, words: Any, middle: Any, row_key: Any, rate: Any, drawing: Any) -> Any:
    """Skip-gram: the word in the middle predicts each of those around it; how many there were."""
    number = 0
    h = table[words[middle]]
    for i in range(words.shape[0]):
        if i != middle:
            predict(h, outputs, words[i], row_key, number, rate, drawing)
            add_multiple(table.dtype.type(1), drawing.dh, h)
            number += 1
    return number


@kernel
def walk(
    table: Any, outputs: Any, labels: Any, offsets: Any, first: Any, last: Any, plan: Any, keys: Any, drawing: Any
) -> Any:
    """operations.vector_steps; keys: where the draws of subsampling, windows and negatives begin"""
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
                count += learn_bag(table, outputs, near, middle - start, mean, row_key, rate, drawing)
            else:
                count += learn_pairs(table, outputs, near, middle - start, row_key, rate, drawing)
    return drawing.tally[0] - math.log(drawing.tally[1]), count


@steps.vector_steps.register(ENGINE)
def vector_steps(
    table: Array,
    outputs: Array,
    labels: Array,
    offsets: Array,
    *,
    plan: steps.Plan,
    epoch: steps.Epoch,
    first: int,
    last: int,
) -> Any:
    if not matrices(table, outputs):
        return NotImplemented
    keys = np.array([epoch.key(what) for what in (steps.SUBSAMPLING, steps.WINDOW, steps.NEGATIVES)], np.uint32)
    labels, offsets = locked(labels), locked(offsets)
    room = plan.negatives + 1
    drawing = Drawing(
        plan.negatives,
        plan.shares,
        plan.others,
        rows=np.empty(room, np.int64),
        times=np.empty(room, np.int64),
        scores=np.empty(room if plan.negatives else len(outputs), table.dtype),
        dh=np.empty(table.shape[1], table.dtype),
        tally=np.array([0.0, 1.0]),
    )
    slope = (plan.last_rate - plan.first_rate) / plan.total
    how = (plan.cbow, plan.window, plan.kept, plan.first_rate, slope, epoch.before)
    found: tuple[float, int] = walk(table, outputs, labels, offsets, first, last, how, keys, drawing)
    return found


def locked(array: Array) -> Array:
    """The same array, not to be written to: kernels are compiled for such or for others, and here once is enough."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
