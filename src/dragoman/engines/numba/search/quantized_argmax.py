"""The label with the highest logit, found with 16-bit integers (`gemm.int16_gemm`).

The error of a quantized logit is bounded. Only the panels within that bound of the maximum can hold the best label, and
only for those the exact logits are computed. So the result is exact.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dragoman.batch import END
from dragoman.engines.numba.gemm.int16_gemm import panel_max_kernel
from dragoman.engines.numba.gemm.microkernel import dot_microkernel, microkernel, prefetch
from dragoman.engines.numba.gemm.packed_weights import (
    ONE,
    PACK_COLUMNS,
    PANEL,
    PREFETCH_ROWS,
    TWO,
    ZERO_INDEX,
    round_up_to_panel,
    transpose,
)
from dragoman.engines.numba.jit import call, device_function
from dragoman.engines.numba.simd.elementwise import maximum
from dragoman.engines.numba.simd.float32x8 import WIDTH, broadcast, lanewise_max, load, multiply_add, store
from dragoman.engines.transformer_spec import LOGITS
from dragoman.graph import Array

ZERO, HALF, MINUS, MINUS_INFINITY = np.float32(0), np.float32(0.5), np.float32(-1), np.float32(-math.inf)
TINY, TWICE = np.float32(1e-30), np.float32(2)  # smaller numbers are taken for 0
ROUNDING, SLACK = np.float32(2.0**-23), np.float32(1.001)  # twice the rounding error of one operation; of two products
HALF_WORD, LOW = np.int32(16), np.int32(0xFFFF)

dots_of_1 = dot_microkernel(1, 4)


class QuantizedOutput(NamedTuple):
    """The output layer in 16-bit integers; empty arrays if it is not used.

    address          of int16_gemm.panel_max_kernel
    weights          [panels, d / 2, 16] two inputs in each int32
    factors, biases  [16 panels] scale and bias of each label
    extent           the largest quantization step, sum of absolute weights of a label, absolute weight, absolute bias
    """

    address: int
    weights: Array
    factors: Array
    biases: Array
    extent: Array


def allocate_quantized(depth: int, vocabulary: int) -> QuantizedOutput:
    """Memory for a vocabulary of this size."""
    labels = -(-vocabulary // int(PANEL)) * int(PANEL)
    weights = np.empty(labels * depth // 2, np.int32)
    factors, biases = np.empty(labels, np.float32), np.empty(labels, np.float32)
    return QuantizedOutput(panel_max_kernel().address, weights, factors, biases, np.empty(4, np.float32))


NOT_QUANTIZED = QuantizedOutput(0, np.empty(0, np.int32), *(np.empty(0, np.float32) for _ in range(3)))


@device_function
def highest_level(k: Any) -> Any:
    """The largest quantized value: sums of k products must fit into 32 bits."""
    return np.float32(min(math.floor(math.sqrt(2.0**31 / k)) - 1, 32767))


@device_function
def quantize_output(net: Any) -> Any:
    """Quantize the output layer; returns whether it is finite (except biases of -inf, which forbid a label)."""
    quantized, d, n, highest = net.quantized, net.depth, net.vocabulary, highest_level(net.depth)
    w0, b0 = net.ends[LOGITS], net.ends[LOGITS + 1]
    level, sums, weight, bias = ZERO, ZERO, ZERO, ZERO
    block = np.empty(d * PACK_COLUMNS, np.float32)
    scale = np.empty(PACK_COLUMNS, np.float32)
    total = np.empty(PACK_COLUMNS, np.float32)
    for begin in range(0, n, PACK_COLUMNS):
        count = min(PACK_COLUMNS, n - begin)
        if net.tied:
            transpose(net.theta, w0 + begin * d, d, count, d, block, ZERO_INDEX, PACK_COLUMNS)
        else:
            copy_columns(net.theta, w0 + begin, n, d, count, block)
        largest_of_columns(block, d, scale)
        for c in range(count):
            b, top = net.theta[b0 + begin + c], scale[c]
            if not b < math.inf:
                return False
            quantized.factors[begin + c], quantized.biases[begin + c] = top / highest, b
            scale[c] = highest / top if top > TINY else ZERO
            weight, bias = max(weight, top), max(bias, abs(b) if b > MINUS_INFINITY else ZERO)
            level = max(level, top / highest if top > TINY else TWICE * top)
        for c in range(count, round_up_to_panel(count)):
            scale[c], quantized.factors[begin + c], quantized.biases[begin + c] = ZERO, ZERO, MINUS_INFINITY
            for j in range(d):
                block[j * PACK_COLUMNS + c] = ZERO
        total[:] = ZERO
        for c in range(0, count, PANEL):
            at = (begin + c) * d // 2
            panel = quantized.weights[at : at + PANEL * d // 2]
            round_panel(block, c, d, scale[c : c + PANEL], total[c : c + PANEL], panel)
        for c in range(count):
            if not total[c] < math.inf:
                return False
            sums = max(sums, total[c] * quantized.factors[begin + c])
    for c in range(min(END, n)):
        quantized.biases[c] = MINUS_INFINITY  # these labels are never written
    quantized.extent[0], quantized.extent[1], quantized.extent[2], quantized.extent[3] = level, sums, weight, bias
    return True


@device_function
def copy_columns(w: Any, w0: Any, stride: Any, d: Any, count: Any, block: Any) -> None:
    """block [d, PACK_COLUMNS] = `count` columns of w"""
    for j in range(d):
        row, out = w[w0 + j * stride : w0 + j * stride + count], block[j * PACK_COLUMNS : j * PACK_COLUMNS + count]
        for c in range(0, count, PANEL):
            prefetch(w, w0 + (j + PREFETCH_ROWS) * stride + c)
        for c in range(count):
            out[c] = row[c]


@device_function
def largest_of_columns(block: Any, d: Any, largest: Any) -> None:
    """The largest absolute value of each column"""
    zero, minus = broadcast(ZERO), broadcast(MINUS)
    for c in range(0, PACK_COLUMNS, WIDTH):
        top = zero
        for j in range(d):
            row = load(block, j * PACK_COLUMNS + c)
            top = lanewise_max(multiply_add(row, minus, zero), lanewise_max(row, top))
        store(largest, c, top)


@device_function
def round_panel(block: Any, first: Any, d: Any, scale: Any, total: Any, panel: Any) -> None:
    """Quantize 16 columns, two inputs per int32; total: sums of their absolute values, NaN for infinite weights"""
    for j in range(0, d, 2):
        at = j * PACK_COLUMNS + first
        one, two = block[at : at + PANEL], block[at + PACK_COLUMNS : at + PACK_COLUMNS + PANEL]
        out = panel[j // 2 * PANEL : (j // 2 + 1) * PANEL]
        for c in range(PANEL):
            a, b = np.rint(one[c] * scale[c]), np.rint(two[c] * scale[c])
            total[c] += abs(a) + abs(b)
            out[c] = (np.int32(b) << HALF_WORD) | (np.int32(a) & LOW)


@device_function
def filter_candidates(net: Any, x: Any, first: Any, m: Any, shorts: Any, scales: Any, errors: Any, maxima: Any) -> Any:
    """Quantized maxima [m, panels] of rows of x from `first` on and their error bounds [m]; whether x is finite"""
    quantized, d, highest = net.quantized, net.depth, highest_level(net.depth)
    level, sums, weight, bias = quantized.extent[0], quantized.extent[1], quantized.extent[2], quantized.extent[3]
    for r in range(m):
        row, out = x[(first + r) * d : (first + r + 1) * d], shorts[r * d : (r + 1) * d]
        top, total = ZERO, ZERO
        for j in range(d):
            top = maximum(top, abs(row[j]))
            total += abs(row[j])
        if not total < math.inf:
            return False
        inverse = highest / top if top > TINY else ZERO
        for j in range(d):
            out[j] = np.int16(np.rint(row[j] * inverse))
        scales[r] = top / highest if top > TINY else TWICE * top
        # |x w - x' w'| <= |x| |w - w'| + |x - x'| |w'|, each difference at most half a quantization step; then the
        # rounding of floats, here and in the exact logits
        rounded = np.float32(d + 8) * ROUNDING * (bias + total * weight)
        errors[r] = (total * level + scales[r] * sums) * HALF * SLACK + rounded
    panels = quantized.factors.shape[0] // PANEL
    given = quantized.weights.ctypes.data, quantized.factors.ctypes.data, quantized.biases.ctypes.data
    call(quantized.address, (shorts.ctypes.data, scales.ctypes.data, m, d, *given, panels, maxima.ctypes.data))
    return True


@device_function
def argmax(net: Any, x: Any, row: Any, error: Any, maxima: Any, buffer: Any) -> Any:
    """(logit, label) of the highest logit of a row, the lowest label of equal ones; maxima [panels] of this row"""
    top = MINUS_INFINITY
    for p in range(maxima.shape[0]):
        top = maximum(top, maxima[p])
    value, label = MINUS_INFINITY, ZERO_INDEX
    for p in range(maxima.shape[0]):
        if maxima[p] >= top - TWICE * error:
            begin = logits_of(net, x, row, p, buffer)
            for c in range(max(p * PANEL, END) - begin, PANEL):
                if buffer[c] > value:
                    value, label = buffer[c], begin + c
    return value, label


@device_function
def logit(net: Any, x: Any, row: Any, label: Any, buffer: Any) -> Any:
    return buffer[label - logits_of(net, x, row, label // PANEL, buffer)]


@device_function
def logits_of(net: Any, x: Any, row: Any, panel: Any, buffer: Any) -> Any:
    """The exact logits of the 16 labels of a panel (or of the last 16), bit for bit as `decode.logits` computes them

    buffer [16 (d + 1)] begins with them; returns the first label
    """
    d, n, w0, b0 = net.depth, net.vocabulary, net.ends[LOGITS], net.ends[LOGITS + 1]
    begin = min(panel * PANEL, n - PANEL)
    if not net.tied:
        given = x, row * d, d, net.theta, w0 + begin, n, d, net.theta, b0 + begin
        microkernel(ONE, TWO, *given, None, buffer, ZERO_INDEX, PANEL, None)
    elif begin == panel * PANEL:
        transpose(net.theta, w0 + begin * d, d, PANEL, d, buffer, PANEL, PANEL)
        given = x, row * d, d, buffer, PANEL, None, d, net.theta, b0 + begin
        microkernel(ONE, TWO, *given, None, buffer, ZERO_INDEX, PANEL, None)
    else:
        for c in range(begin, n, 4):
            dots_of_1(x, row * d, d, net.theta, w0 + c * d, d, d, net.theta, b0 + c, buffer, c - begin, PANEL)
    return begin
