"""The layers of a Transformer on flat weights, and one new position of every sequence through the decoders.

All matrices are flat arrays. `net` is a model view; `at` is a row of its tables of starts, `which` a column.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dragoman.engines.activations import GELU, RELU
from dragoman.engines.numba.gemm.packed_weights import ZERO_INDEX
from dragoman.engines.numba.gemm.small_gemm import call_gemm
from dragoman.engines.numba.jit import device_function
from dragoman.engines.numba.kernels.activations import gelu_denominator
from dragoman.engines.numba.kernels.attention.arguments import Columns
from dragoman.engines.numba.kernels.attention.gathered import RowLists, attend, score_buffer
from dragoman.engines.transformer_spec import (
    ABSENT,
    ATTENTION,
    CROSS_NORMALIZATION,
    CROSS_PROJECTION,
    CROSS_QUERY,
    DECODED,
    DISTANCES,
    HIDDEN,
    LAST_NORMALIZATION,
    LOGITS,
    NORMALIZATION,
    OUTPUT,
    PROJECTION,
    REFERENCE_TABLE,
)

ZERO, ONE = np.float32(0), np.float32(1)


@device_function
def linear(net: Any, at: Any, which: Any, x: Any, m: Any, k: Any, n: Any, y: Any, y0: Any) -> None:
    """y = x W + b for m rows; b = 0 if the layer has no biases"""
    biases, b0 = net.theta, at[which + 1]
    if b0 == ABSENT:
        biases, b0 = np.zeros(n, np.float32), 0
    packed = net.packed_weights.shape[0] > 0
    p0 = at[which] if packed else 0
    call_gemm(net.gemm, x, 0, m, k, net.theta, at[which], net.packed_weights, p0, n, biases, b0, y, y0, packed)


@device_function
def normalize(net: Any, at: Any, which: Any, x: Any, m: Any, y: Any) -> None:
    """y = gamma N(x) + beta; y may be x

    Not row_kernels.normalize_row: that divides by d, here 1 / d is a factor, and no statistics are saved.
    """
    d = net.depth
    gamma, beta = net.theta[at[which] : at[which] + d], net.theta[at[which + 1] : at[which + 1] + d]
    share, epsilon = ONE / np.float32(d), np.float32(net.epsilon)
    for r in range(m):
        row, out = x[r * d : (r + 1) * d], y[r * d : (r + 1) * d]
        mean = ZERO
        for c in range(d):
            mean += row[c]
        mean *= share
        variance = ZERO
        for c in range(d):
            variance += (row[c] - mean) * (row[c] - mean)
        variance *= share
        inverse = ONE / (math.sqrt(variance) + epsilon) if net.outside else ONE / math.sqrt(variance + epsilon)
        for c in range(d):
            out[c] = (row[c] - mean) * inverse * gamma[c] + beta[c]


@device_function
def add(x: Any, update: Any, size: Any) -> None:
    for i in range(size):
        x[i] += update[i]


@device_function
def enter_sublayer(net: Any, at: Any, which: Any, x: Any, m: Any, inner: Any) -> None:
    """The input of a sub-layer: N(x) for pre-norm (lecture), x for post-norm"""
    if net.pre:
        normalize(net, at, which, x, m, inner)
    else:
        for i in range(m * net.depth):
            inner[i] = x[i]


@device_function
def leave_sublayer(net: Any, at: Any, which: Any, x: Any, m: Any, update: Any) -> None:
    """The output of a sub-layer: x + update for pre-norm, N(x + update) for post-norm (book 7.31)"""
    add(x, update, m * net.depth)
    if not net.pre:
        normalize(net, at, which, x, m, x)


@device_function
def feed_forward(net: Any, at: Any, x: Any, m: Any, inner: Any, hidden: Any) -> None:
    enter_sublayer(net, at, LAST_NORMALIZATION, x, m, inner)
    linear(net, at, HIDDEN, inner, m, net.depth, net.hidden, hidden, ZERO_INDEX)
    if net.activation == RELU:
        for i in range(m * net.hidden):
            h = hidden[i]
            hidden[i] = ZERO if h <= ZERO else h  # NaN propagates
    elif net.activation == GELU:
        for i in range(m * net.hidden):
            hidden[i] /= gelu_denominator(hidden[i])
    linear(net, at, OUTPUT, hidden, m, net.hidden, net.depth, inner, ZERO_INDEX)
    leave_sublayer(net, at, LAST_NORMALIZATION, x, m, inner)


@device_function
def embed(net: Any, table: Any, labels: Any, positions: Any, position_table: Any, m: Any, x: Any) -> None:
    """Not row_kernels.embed_rows, which rounds product and sum once: here theta is flat and both are rounded."""
    d, scale = net.depth, np.float32(net.scale)
    for i in range(m):
        vector, out = net.theta[table + labels[i] * d : table + (labels[i] + 1) * d], x[i * d : (i + 1) * d]
        for c in range(d):
            out[c] = vector[c] * scale
        if net.positioned:
            added = position_table[positions[i]]
            for c in range(d):
                out[c] += added[c]


class SourceMemory(NamedTuple):
    """The encoded sources, as the decoders read them.

    keys_values [layers, N 2d]   rows [B, S] the rows of each source   source_of, lengths [m] of each sequence
    """

    keys_values: Any
    rows: Any
    source_of: Any
    lengths: Any


@device_function
def decode(
    net: Any,
    m: Any,
    labels: Any,
    position: Any,
    cache: Any,
    first: Any,
    row_lists: Any,
    memory: Any,
    x: Any,
) -> None:
    """One new position of m sequences; its queries, keys and values become the rows first to first + m of the cache.

    cache [layers, rows 3d]   row_lists [m, position + 1] the cache rows of each sequence   memory: SourceMemory
    x [m d] receives the output of the last decoder
    """
    d = net.depth
    inner, seen, query = np.empty(m * d, np.float32), np.empty(m * d, np.float32), np.empty(m * d, np.float32)
    hidden = np.empty(m * net.hidden, np.float32)
    row = score_buffer(max(row_lists.shape[1], memory.rows.shape[1]))
    positions = np.full(m, position)
    own = RowLists(row_lists, np.arange(m), np.full(m, position + 1), positions)
    sources = RowLists(memory.rows, memory.source_of, memory.lengths, positions)
    embed(net, net.ends[REFERENCE_TABLE], labels, positions, net.reference_positions, m, x)
    for i in range(net.decoders.shape[0]):
        at, begun = net.decoders[i], first * 3 * d
        enter_sublayer(net, at, NORMALIZATION, x, m, inner)
        linear(net, at, ATTENTION, inner, m, d, 3 * d, cache[i], begun)
        queries, keys = Columns(cache[i], begun, 3 * d), Columns(cache[i], d, 3 * d)
        attend(net, m, queries, keys, own, at[DISTANCES], seen, row)
        linear(net, at, PROJECTION, seen, m, d, d, inner, ZERO_INDEX)
        leave_sublayer(net, at, NORMALIZATION, x, m, inner)

        enter_sublayer(net, at, CROSS_NORMALIZATION, x, m, inner)
        linear(net, at, CROSS_QUERY, inner, m, d, d, query, ZERO_INDEX)
        queries, keys = Columns(query, ZERO_INDEX, d), Columns(memory.keys_values[i], ZERO_INDEX, 2 * d)
        attend(net, m, queries, keys, sources, ABSENT, seen, row)
        linear(net, at, CROSS_PROJECTION, seen, m, d, d, inner, ZERO_INDEX)
        leave_sublayer(net, at, CROSS_NORMALIZATION, x, m, inner)
        feed_forward(net, at, x, m, inner, hidden)
    if net.pre:
        normalize(net, net.ends, DECODED, x, m, x)


@device_function
def logits(net: Any, x: Any, first: Any, m: Any, y: Any) -> None:
    """Logits y [m, V] of m rows of x from `first` on"""
    d, n, weights, biases = net.depth, net.vocabulary, net.ends[LOGITS], net.ends[LOGITS + 1]
    address = net.gemm_transposed if net.tied else net.gemm
    packed = net.packed_weights.shape[0] > 0
    p0 = weights if packed else 0
    call_gemm(
        address, x, first * d, m, d, net.theta, weights, net.packed_weights, p0, n, net.theta, biases, y, 0, packed
    )
