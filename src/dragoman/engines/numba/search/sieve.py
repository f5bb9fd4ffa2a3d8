"""Which labels may have the highest logit: the product with the vocabulary in integers of 16 bits, twice as many at a
time as real numbers. How far such a logit may be from the true one is known, so the few labels near the top are enough
to find the best one, and those get their true logits.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import carray
from numba.core import cgutils, types
from numba.extending import intrinsic

from dragoman.batch import END
from dragoman.engines.numba.arithmetic import build_call, maximum
from dragoman.engines.numba.jit import call, callback, part
from dragoman.engines.numba.lanes import (
    VECTOR,
    WIDTH,
    build_larger,
    build_load,
    build_reduction,
    build_spread,
    larger,
    load,
    multiply_add,
    spread,
    store,
)
from dragoman.engines.numba.panels import (
    AHEAD,
    FIRST,
    FIVE,
    FOUR,
    ONE,
    PACKED,
    PANEL,
    ROWS,
    SIX,
    THREE,
    TWO,
    transpose,
    widened,
)
from dragoman.engines.numba.tiles import UNROLLED, dots, fetch, kept, pointers, tile
from dragoman.graph import Array
from dragoman.operations.writing import LOGITS

LABELS = 32  # weights of a panel beside each other: two inputs of 16 labels
BLOCK = 16  # panels that stay in the cache while all rows pass by
ZERO, HALF, MINUS, NOTHING = np.float32(0), np.float32(0.5), np.float32(-1), np.float32(-math.inf)
LEAST, TWICE = np.float32(1e-30), np.float32(2)  # what is less is taken for 0, which is off by twice half of it
ROUNDING, SLACK = np.float32(2.0**-23), np.float32(1.001)  # twice what one operation may be off; what two products are
HALF_WORD, LOW = np.int32(16), np.int32(0xFFFF)
_INDEX = ir.IntType(64)
_SHORTS, _SUMS = ir.VectorType(ir.IntType(16), 2 * WIDTH), ir.VectorType(ir.IntType(32), WIDTH)

dots_of_one = dots(1, 4)


@intrinsic  # type: ignore[untyped-decorator]
def tops(
    typing: Any,
    rows: Any,
    x: Any,
    x0: Any,
    x_apart: Any,
    w: Any,
    w0: Any,
    pairs: Any,
    factors: Any,
    f0: Any,
    biases: Any,
    b0: Any,
    scales: Any,
    s0: Any,
    y: Any,
    y0: Any,
    y_apart: Any,
) -> Any:
    """y[r] = the largest of the 16 numbers scale[r] factor[c] sum_k x[r, k] w[k, c] + biases[c]

    rows  a tuple of so many numbers, as tiles take it; x, w  integers, those of w in a panel, two inputs at a time
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, arguments = signature.args[1:], arguments[1:]
        x, w, factors, biases, scales, y = pointers(context, builder, kinds, arguments, 0, 3, 6, 8, 10, 12)
        x_apart, pairs, y_apart = (arguments[i] for i in (2, 5, 14))
        cells = [[cgutils.alloca_once(builder, _SUMS) for _ in range(2)] for _ in rows]
        for cell in (cell for pair in cells for cell in pair):
            builder.store(ir.Constant(_SUMS, [0] * WIDTH), cell)
        lines = [kept(builder, builder.gep(x, [builder.mul(x_apart, _INDEX(r))])) for r in range(len(rows))]
        with cgutils.for_range_slice(builder, _INDEX(0), pairs, _INDEX(UNROLLED), inc=True) as (first, _):
            for i in range(UNROLLED):
                k = builder.add(first, _INDEX(i))
                panel = builder.gep(w, [builder.mul(k, _INDEX(LABELS))])
                weights = [_shorts(builder, builder.gep(panel, [_INDEX(c * LABELS // 2)])) for c in range(2)]
                for line, sums in zip(lines, cells, strict=True):
                    numbers = _pair(builder, builder.gep(line, [builder.mul(k, _INDEX(2))]))
                    for c in range(2):
                        products = _multiply_pairs(builder, numbers, weights[c])
                        builder.store(_held(builder, builder.add(builder.load(sums[c]), products)), sums[c])
        for r, sums in enumerate(cells):
            scale = build_spread(builder, builder.load(builder.gep(scales, [_INDEX(r)])))
            found = []
            for c in range(2):
                at = [_INDEX(c * WIDTH)]
                number = builder.sitofp(builder.load(sums[c]), VECTOR)
                number = builder.fmul(number, build_load(builder, builder.gep(factors, at)))
                found.append(build_call(builder, "fma", number, scale, build_load(builder, builder.gep(biases, at))))
            top = build_reduction(builder, build_larger(builder, *found), functools.partial(build_larger, builder))
            builder.store(top, builder.gep(y, [builder.mul(y_apart, _INDEX(r))]))
        return context.get_dummy_value()

    i = types.intp
    return types.void(rows, x, i, i, w, i, i, factors, i, biases, i, scales, i, y, i, i), generate


def _shorts(builder: Any, place: Any) -> Any:
    loaded = builder.load(builder.bitcast(place, _SHORTS.as_pointer()))
    loaded.align = 2
    return loaded


def _held(builder: Any, sums: Any) -> Any:
    """Sums in the order they are written in: the compiler would add products to each other and run out of registers."""
    return builder.asm(ir.FunctionType(_SUMS, [_SUMS]), "", "=x,0", [sums], False)


def _pair(builder: Any, place: Any) -> Any:
    """Two numbers, in all places."""
    both = builder.load(builder.bitcast(place, ir.IntType(32).as_pointer()))
    both.align = 2
    one = builder.insert_element(ir.Constant(_SUMS, ir.Undefined), both, cgutils.int32_t(0))
    return builder.bitcast(builder.shuffle_vector(one, one, ir.Constant(_SUMS, [0] * WIDTH)), _SHORTS)


def _multiply_pairs(builder: Any, a: Any, b: Any) -> Any:
    """a[2i] b[2i] + a[2i + 1] b[2i + 1], one instruction of processors with vectors of 8 numbers"""
    kind = ir.FunctionType(_SUMS, [_SHORTS, _SHORTS])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx2.pmadd.wd"), [a, b])


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
    return Sieve(_callback().address, weights, factors, biases, np.empty(4, np.float32))


NO_SIEVE = Sieve(0, np.empty(0, np.int32), *(np.empty(0, np.float32) for _ in range(3)))


def _sift(x: Any, scales: Any, m: Any, k: Any, w: Any, factors: Any, biases: Any, panels: Any, maxima: Any) -> None:
    """maxima [m, panels] of the logits of each panel"""
    x, w, maxima = carray(x, 1), carray(w, 1), carray(maxima, 1)
    scales, factors, biases = carray(scales, 1), carray(factors, 1), carray(biases, 1)
    for begin in range(0, panels, BLOCK):
        end = min(begin + BLOCK, panels)
        r = FIRST
        while r < m:
            rows = min(ROWS, m - r)
            for p in range(begin, end):
                given = x, r * k, k, w, p * PANEL * k, k // 2, factors, p * PANEL, biases, p * PANEL
                out = scales, r, maxima, r * panels + p, panels
                if rows == 6:
                    tops(SIX, *given, *out)
                elif rows == 5:
                    tops(FIVE, *given, *out)
                elif rows == 4:
                    tops(FOUR, *given, *out)
                elif rows == 3:
                    tops(THREE, *given, *out)
                elif rows == 2:
                    tops(TWO, *given, *out)
                else:
                    tops(ONE, *given, *out)
            r += rows


@functools.cache
def _callback() -> Any:
    shorts, numbers, count = "CPointer(int16), ", "CPointer(float32), ", "int64, "
    return callback(f"void({shorts}{numbers}{2 * count}{shorts}{2 * numbers}{count}CPointer(float32))", _sift)


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
