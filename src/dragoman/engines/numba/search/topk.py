"""The normalizer and the best labels of a row of logits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.batch import END
from dragoman.engines.numba.jit import device_function
from dragoman.engines.numba.simd.float32x8 import (
    broadcast,
    exp_sub,
    horizontal_max,
    horizontal_sum,
    lanewise_max,
    load,
    multiply_add,
)

CHUNK = np.int64(64)  # labels per chunk; chunks whose maximum is too low are skipped
ZERO, ONE, MINUS_INFINITY = np.float32(0), np.float32(1), np.float32(-math.inf)


@device_function
def normalizer(y: Any, y0: Any, n: Any, maxima: Any) -> Any:
    """log sum_s e^y_s of a row, NaN if it has no finite maximum; maxima [chunks] of the labels that may be written.

    Labels below END are never written: they count in the sum, then their logits become -inf.
    """
    row, total = y[y0 : y0 + n], broadcast(ZERO)
    top = chunk_maxima(row, n, maxima)
    if not MINUS_INFINITY < top < math.inf:
        return math.nan
    whole, shift = n - n % 8, broadcast(top)
    for c in range(0, whole, 8):
        total = multiply_add(exp_sub(load(row, c), shift), broadcast(ONE), total)
    rest = np.float64(horizontal_sum(total))
    for c in range(whole, n):
        rest += math.exp(np.float64(row[c] - top))
    for c in range(END):
        row[c] = MINUS_INFINITY
    chunk_maxima(row, min(n, CHUNK), maxima[:1])
    return np.float64(top) + math.log(rest)


@device_function
def check_logits(y: Any, y0: Any, n: Any, maxima: Any) -> Any:
    """As `normalizer` without the sum, if no scores are asked for: 0, or NaN if there is no finite maximum"""
    row = y[y0 : y0 + n]
    if not all_numbers(row, n) or not MINUS_INFINITY < chunk_maxima(row, n, maxima) < math.inf:
        return math.nan
    for c in range(END):
        row[c] = MINUS_INFINITY
    chunk_maxima(row, min(n, CHUNK), maxima[:1])
    return 0.0


@device_function
def all_numbers(row: Any, n: Any) -> Any:
    """Whether no logit is NaN: one NaN makes the sum NaN"""
    one, two, c = broadcast(ZERO), broadcast(ZERO), 0
    while c + 16 <= n:
        one, two = multiply_add(load(row, c), broadcast(ONE), one), multiply_add(load(row, c + 8), broadcast(ONE), two)
        c += 16
    total = horizontal_sum(one) + horizontal_sum(two)
    while c < n:
        total += row[c]
        c += 1
    return total == total


@device_function
def chunk_maxima(row: Any, n: Any, maxima: Any) -> Any:
    """The maximum of each chunk; returns the maximum of all"""
    top = MINUS_INFINITY
    for i in range(maxima.shape[0]):
        c, stop = i * CHUNK, min((i + 1) * CHUNK, n)
        one, two = broadcast(MINUS_INFINITY), broadcast(MINUS_INFINITY)
        while c + 16 <= stop:
            one, two = lanewise_max(load(row, c), one), lanewise_max(load(row, c + 8), two)
            c += 16
        best = horizontal_max(lanewise_max(one, two))
        while c < stop:
            best = max(best, row[c])
            c += 1
        maxima[i] = best
        top = max(top, best)
    return top


@device_function
def insert(value: Any, label: Any, count: Any, values: Any, labels: Any) -> None:
    """Insert into a list sorted in descending order, after equal values"""
    i = count - 1
    while i > 0 and value > values[i - 1]:
        values[i], labels[i] = values[i - 1], labels[i - 1]
        i -= 1
    values[i], labels[i] = value, label


@device_function
def top_k(y: Any, y0: Any, n: Any, maxima: Any, count: Any, values: Any, labels: Any) -> None:
    """The best `count` labels of a row, best first, the lowest of equal ones; -inf if there are fewer.

    At least `count` labels reach the count-th best maximum, so chunks with a lower maximum are skipped.
    """
    values[:count] = MINUS_INFINITY
    labels[:count] = 0
    for i in range(maxima.shape[0]):
        if maxima[i] > values[count - 1]:
            insert(maxima[i], i, count, values, labels)
    bound = values[count - 1]
    values[:count] = MINUS_INFINITY
    for i in range(maxima.shape[0]):
        if maxima[i] >= bound:
            for c in range(i * CHUNK, min((i + 1) * CHUNK, n)):
                if y[y0 + c] > values[count - 1]:
                    insert(y[y0 + c], c, count, values, labels)
