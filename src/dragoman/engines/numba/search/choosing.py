"""What a search reads from the logits of a row: their normalizer and the best labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.batch import END
from dragoman.engines.numba.jit import part
from dragoman.engines.numba.lanes import larger, largest, load, multiply_add, powers, spread, together

CHUNK = np.int64(64)  # labels whose maximum is remembered: most of them are never looked at again
ZERO, ONE, NOTHING = np.float32(0), np.float32(1), np.float32(-math.inf)


@part
def normalizer(y: Any, y0: Any, n: Any, maxima: Any) -> Any:
    """log sum_s e^y_s of a row, NaN if it has no finite maximum; maxima [chunks] of what may be written.

    Labels below END, which are never written, are counted and then made impossible.
    """
    row, total = y[y0 : y0 + n], spread(ZERO)
    top = survey(row, n, maxima)
    if not NOTHING < top < math.inf:
        return math.nan
    whole, shift = n - n % 8, spread(top)
    for c in range(0, whole, 8):
        total = multiply_add(powers(load(row, c), shift), spread(ONE), total)
    rest = np.float64(together(total))
    for c in range(whole, n):
        rest += math.exp(np.float64(row[c] - top))
    for c in range(END):
        row[c] = NOTHING
    survey(row, min(n, CHUNK), maxima[:1])
    return np.float64(top) + math.log(rest)


@part
def unnormalized(y: Any, y0: Any, n: Any, maxima: Any) -> Any:
    """0, or NaN where there is no finite maximum: the same without the sum, for those who do not ask for it"""
    row = y[y0 : y0 + n]
    if not numbers(row, n) or not NOTHING < survey(row, n, maxima) < math.inf:
        return math.nan
    for c in range(END):
        row[c] = NOTHING
    survey(row, min(n, CHUNK), maxima[:1])
    return 0.0


@part
def numbers(row: Any, n: Any) -> Any:
    """Whether all are: a sum with one that is none is none"""
    one, two, c = spread(ZERO), spread(ZERO), 0
    while c + 16 <= n:
        one, two = multiply_add(load(row, c), spread(ONE), one), multiply_add(load(row, c + 8), spread(ONE), two)
        c += 16
    total = together(one) + together(two)
    while c < n:
        total += row[c]
        c += 1
    return total == total


@part
def survey(row: Any, n: Any, maxima: Any) -> Any:
    """The maximum of each chunk, and that of all"""
    top = NOTHING
    for i in range(maxima.shape[0]):
        c, stop = i * CHUNK, min((i + 1) * CHUNK, n)
        one, two = spread(NOTHING), spread(NOTHING)
        while c + 16 <= stop:
            one, two = larger(load(row, c), one), larger(load(row, c + 8), two)
            c += 16
        best = largest(larger(one, two))
        while c < stop:
            best = max(best, row[c])
            c += 1
        maxima[i] = best
        top = max(top, best)
    return top


@part
def insert(value: Any, label: Any, count: Any, values: Any, labels: Any) -> None:
    """Into a list that is sorted, best first; behind those that are equal"""
    i = count - 1
    while i > 0 and value > values[i - 1]:
        values[i], labels[i] = values[i - 1], labels[i - 1]
        i -= 1
    values[i], labels[i] = value, label


@part
def highest(y: Any, y0: Any, n: Any, maxima: Any, count: Any, values: Any, labels: Any) -> None:
    """The best `count` labels of a row, best first, of equal ones the lowest; -inf where there are fewer.

    There are `count` labels as good as the count-th best maximum, so chunks below that hold none of them.
    """
    values[:count] = NOTHING
    labels[:count] = 0
    for i in range(maxima.shape[0]):
        if maxima[i] > values[count - 1]:
            insert(maxima[i], i, count, values, labels)
    bound = values[count - 1]
    values[:count] = NOTHING
    for i in range(maxima.shape[0]):
        if maxima[i] >= bound:
            for c in range(i * CHUNK, min((i + 1) * CHUNK, n)):
                if y[y0 + c] > values[count - 1]:
                    insert(y[y0 + c], c, count, values, labels)
