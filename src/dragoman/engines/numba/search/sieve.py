"""Which labels may have the highest logit, by the product with the vocabulary in integers of 16 bits (`integers`).

How far such a logit may be from the true one is known, so the few labels near the top are enough to find the best one,
and those get their true logits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dragoman.batch import END
from dragoman.engines.numba.arithmetic import maximum
from dragoman.engines.numba.jit import call, part
from dragoman.engines.numba.lanes import WIDTH, larger, load, multiply_add, spread, store
from dragoman.engines.numba.panels import AHEAD, FIRST, ONE, PACKED, PANEL, TWO, transpose, widened
from dragoman.engines.numba.search.integers import sifting
from dragoman.engines.numba.tiles import dots, fetch, tile
from dragoman.graph import Array
from dragoman.operations.fused_search import LOGITS

ZERO, HALF, MINUS, NOTHING = np.float32(0), np.float32(0.5), np.float32(-1), np.float32(-math.inf)
LEAST, TWICE = np.float32(1e-30), np.float32(2)  # what is less is taken for 0, which is off by twice half of it
ROUNDING, SLACK = np.float32(2.0**-23), np.float32(1.001)  # twice what one operation may be off; what two products are
HALF_WORD, LOW = np.int32(16), np.int32(0xFFFF)

dots_of_one = dots(1, 4)


class Sieve(NamedTuple):
    """The last layer in integers; of no size where it is not used.

    weights          [panels, d / 2, 16] two inputs in each
    factors, biases  [16 panels] what a sum is multiplied by, what is added to it
    extent           the largest level, sum of a label's absolute weights, absolute weight and bias
    """

    address: int
    weights: Array
    factors: Array
    biases: Array
    extent: Array


def make_sieve(depth: int, vocabulary: int) -> Sieve:
    """Room for so many labels."""
    labels = -(-vocabulary // int(PANEL)) * int(PANEL)
    weights = np.empty(labels * depth // 2, np.int32)
    factors, biases = np.empty(labels, np.float32), np.empty(labels, np.float32)
    return Sieve(sifting().address, weights, factors, biases, np.empty(4, np.float32))


NO_SIEVE = Sieve(0, np.empty(0, np.int32), *(np.empty(0, np.float32) for _ in range(3)))


@part
def levels(k: Any) -> Any:
    """The largest integer that may stand for a number: sums of k products have 32 bits."""
    return np.float32(min(math.floor(math.sqrt(2.0**31 / k)) - 1, 32767))


@part
def fill(net: Any) -> Any:
    """The last layer in integers; whether all of it is finite (but for labels made impossible by a bias of -inf)"""
    sieve, d, n, highest = net.sieve, net.depth, net.vocabulary, levels(net.depth)
    w0, b0 = net.ends[LOGITS], net.ends[LOGITS + 1]
    level, sums, weight, bias = ZERO, ZERO, ZERO, ZERO
    some, scale, total = np.empty(d * PACKED, np.float32), np.empty(PACKED, np.float32), np.empty(PACKED, np.float32)
    for begin in range(0, n, PACKED):
        count = min(PACKED, n - begin)
        if net.tied:
            transpose(net.theta, w0 + begin * d, d, count, d, some, FIRST, PACKED)
        else:
            copy_columns(net.theta, w0 + begin, n, d, count, some)
        largest_of_columns(some, d, scale)
        for c in range(count):
            b, top = net.theta[b0 + begin + c], scale[c]
            if not b < math.inf:
                return False
            sieve.factors[begin + c], sieve.biases[begin + c] = top / highest, b
            scale[c] = highest / top if top > LEAST else ZERO
            weight, bias = max(weight, top), max(bias, abs(b) if b > NOTHING else ZERO)
            level = max(level, top / highest if top > LEAST else TWICE * top)
        for c in range(count, widened(count)):
            scale[c], sieve.factors[begin + c], sieve.biases[begin + c] = ZERO, ZERO, NOTHING
            for j in range(d):
                some[j * PACKED + c] = ZERO
        total[:] = ZERO
        for c in range(0, count, PANEL):
            at = (begin + c) * d // 2
            panel = sieve.weights[at : at + PANEL * d // 2]
            round_panel(some, c, d, scale[c : c + PANEL], total[c : c + PANEL], panel)
        for c in range(count):
            if not total[c] < math.inf:
                return False
            sums = max(sums, total[c] * sieve.factors[begin + c])
    for c in range(min(END, n)):
        sieve.biases[c] = NOTHING  # never written
    sieve.extent[0], sieve.extent[1], sieve.extent[2], sieve.extent[3] = level, sums, weight, bias
    return True


@part
def copy_columns(w: Any, w0: Any, apart: Any, d: Any, count: Any, some: Any) -> None:
    """some [d, PACKED] = so many columns of w"""
    for j in range(d):
        row, out = w[w0 + j * apart : w0 + j * apart + count], some[j * PACKED : j * PACKED + count]
        for c in range(0, count, PANEL):
            fetch(w, w0 + (j + AHEAD) * apart + c)
        for c in range(count):
            out[c] = row[c]


@part
def largest_of_columns(some: Any, d: Any, largest: Any) -> None:
    """The largest absolute value of each"""
    zero, minus = spread(ZERO), spread(MINUS)
    for c in range(0, PACKED, WIDTH):
        top = zero
        for j in range(d):
            row = load(some, j * PACKED + c)
            top = larger(multiply_add(row, minus, zero), larger(row, top))
        store(largest, c, top)


@part
def round_panel(some: Any, first: Any, d: Any, scale: Any, total: Any, panel: Any) -> None:
    """16 columns as integers, two inputs in one; the sums of their absolute values, NaN where a number is infinite"""
    for j in range(0, d, 2):
        at = j * PACKED + first
        one, two = some[at : at + PANEL], some[at + PACKED : at + PACKED + PANEL]
        out = panel[j // 2 * PANEL : (j // 2 + 1) * PANEL]
        for c in range(PANEL):
            a, b = np.rint(one[c] * scale[c]), np.rint(two[c] * scale[c])
            total[c] += abs(a) + abs(b)
            out[c] = (np.int32(b) << HALF_WORD) | (np.int32(a) & LOW)


@part
def sift(net: Any, x: Any, first: Any, m: Any, shorts: Any, scales: Any, errors: Any, maxima: Any) -> Any:
    """maxima [m, panels] of rows of x from `first` on, errors [m] how far they may be off; whether x is finite"""
    sieve, d, highest = net.sieve, net.depth, levels(net.depth)
    level, sums, weight, bias = sieve.extent[0], sieve.extent[1], sieve.extent[2], sieve.extent[3]
    for r in range(m):
        row, out = x[(first + r) * d : (first + r + 1) * d], shorts[r * d : (r + 1) * d]
        top, total = ZERO, ZERO
        for j in range(d):
            top = maximum(top, abs(row[j]))
            total += abs(row[j])
        if not total < math.inf:
            return False
        inverse = highest / top if top > LEAST else ZERO
        for j in range(d):
            out[j] = np.int16(np.rint(row[j] * inverse))
        scales[r] = top / highest if top > LEAST else TWICE * top
        # |x w - x' w'| <= |x| |w - w'| + |x - x'| |w'|, either difference half a level at most; then what real
        # numbers are rounded by, here and where true logits are computed
        rounded = np.float32(d + 8) * ROUNDING * (bias + total * weight)
        errors[r] = (total * level + scales[r] * sums) * HALF * SLACK + rounded
    panels = sieve.factors.shape[0] // PANEL
    given = sieve.weights.ctypes.data, sieve.factors.ctypes.data, sieve.biases.ctypes.data
    call(sieve.address, (shorts.ctypes.data, scales.ctypes.data, m, d, *given, panels, maxima.ctypes.data))
    return True


@part
def best(net: Any, x: Any, row: Any, error: Any, maxima: Any, room: Any) -> Any:
    """(logit, label): the highest of a row, of equal ones the lowest; maxima [panels] of it"""
    top = NOTHING
    for p in range(maxima.shape[0]):
        top = maximum(top, maxima[p])
    value, label = NOTHING, FIRST
    for p in range(maxima.shape[0]):
        if maxima[p] >= top - TWICE * error:
            begin = logits_of(net, x, row, p, room)
            for c in range(max(p * PANEL, END) - begin, PANEL):
                if room[c] > value:
                    value, label = room[c], begin + c
    return value, label


@part
def logit(net: Any, x: Any, row: Any, label: Any, room: Any) -> Any:
    return room[label - logits_of(net, x, row, label // PANEL, room)]


@part
def logits_of(net: Any, x: Any, row: Any, panel: Any, room: Any) -> Any:
    """The true logits of the 16 labels of a panel, or of the last 16, to the bit as `passes.logits` has them

    room [16 (d + 1)] begins with them; returns the first label
    """
    d, n, w0, b0 = net.depth, net.vocabulary, net.ends[LOGITS], net.ends[LOGITS + 1]
    begin = min(panel * PANEL, n - PANEL)
    if not net.tied:
        given = x, row * d, d, net.theta, w0 + begin, n, d, net.theta, b0 + begin
        tile(ONE, TWO, *given, None, room, FIRST, PANEL, None)
    elif begin == panel * PANEL:
        transpose(net.theta, w0 + begin * d, d, PANEL, d, room, PANEL, PANEL)
        given = x, row * d, d, room, PANEL, None, d, net.theta, b0 + begin
        tile(ONE, TWO, *given, None, room, FIRST, PANEL, None)
    else:
        for c in range(begin, n, 4):
            dots_of_one(x, row * d, d, net.theta, w0 + c * d, d, d, net.theta, b0 + c, room, c - begin, PANEL)
    return begin
