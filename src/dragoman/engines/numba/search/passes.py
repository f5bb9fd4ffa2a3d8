"""The passes of a Transformer over flat weights: all sources through the encoders, one new position of every sequence
through the decoders. Matrices are flat; everything here is called from a kernel that writes whole sentences.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.engines.numba.arithmetic import exponential
from dragoman.engines.numba.jit import part
from dragoman.engines.numba.panels import FIRST
from dragoman.engines.numba.search.looking import attend, scores
from dragoman.engines.numba.search.products import multiply_at
from dragoman.operations.activations import GELU_CUBE, GELU_SLOPE
from dragoman.operations.fused_search import (
    ABSENT,
    ACTIVATIONS,
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

ZERO, ONE, TWO = np.float32(0), np.float32(1), np.float32(2)
SLOPE, CUBE = np.float32(GELU_SLOPE), np.float32(GELU_CUBE)
RELU, GELU = ACTIVATIONS.index("relu"), ACTIVATIONS.index("gelu")


@part
def linear(net: Any, at: Any, which: Any, x: Any, m: Any, k: Any, n: Any, y: Any, y0: Any) -> None:
    """y = x W + b for m rows; without biases, zeros are added"""
    biases, b0 = net.theta, at[which + 1]
    if b0 == ABSENT:
        biases, b0 = np.zeros(n, np.float32), 0
    laid = net.panels.shape[0] > 0
    p0 = at[which] if laid else 0
    multiply_at(net.product, x, 0, m, k, net.theta, at[which], net.panels, p0, n, biases, b0, y, y0, laid)


@part
def normalize(net: Any, at: Any, which: Any, x: Any, m: Any, y: Any) -> None:
    """y = gamma N(x) + beta; y may be x"""
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


@part
def add(x: Any, update: Any, size: Any) -> None:
    for i in range(size):
        x[i] += update[i]


@part
def begin(net: Any, at: Any, which: Any, x: Any, m: Any, inner: Any) -> None:
    """What a sub-layer reads: pre-norm N(x) (lecture), post-norm x"""
    if net.pre:
        normalize(net, at, which, x, m, inner)
    else:
        for i in range(m * net.depth):
            inner[i] = x[i]


@part
def end(net: Any, at: Any, which: Any, x: Any, m: Any, update: Any) -> None:
    """What it leaves: pre-norm x + update, post-norm N(x + update) (book 7.31)"""
    add(x, update, m * net.depth)
    if not net.pre:
        normalize(net, at, which, x, m, x)


@part
def feed_forward(net: Any, at: Any, x: Any, m: Any, inner: Any, hidden: Any) -> None:
    begin(net, at, LAST_NORMALIZATION, x, m, inner)
    linear(net, at, HIDDEN, inner, m, net.depth, net.hidden, hidden, FIRST)
    if net.activation == RELU:
        for i in range(m * net.hidden):
            h = hidden[i]
            hidden[i] = ZERO if h <= ZERO else h  # what is no number stays none
    elif net.activation == GELU:  # (1 + tanh z) / 2 = 1 / (1 + e^-2z)
        for i in range(m * net.hidden):
            h = hidden[i]
            hidden[i] = h / (ONE + exponential(-TWO * SLOPE * (h + CUBE * h * h * h)))
    linear(net, at, OUTPUT, hidden, m, net.hidden, net.depth, inner, FIRST)
    end(net, at, LAST_NORMALIZATION, x, m, inner)


@part
def embed(net: Any, table: Any, labels: Any, positions: Any, position_table: Any, m: Any, x: Any) -> None:
    d, scale = net.depth, np.float32(net.scale)
    for i in range(m):
        vector, out = net.theta[table + labels[i] * d : table + (labels[i] + 1) * d], x[i * d : (i + 1) * d]
        for c in range(d):
            out[c] = vector[c] * scale
        if net.positioned:
            added = position_table[positions[i]]
            for c in range(d):
                out[c] += added[c]


@part
def decode(
    net: Any,
    m: Any,
    labels: Any,
    position: Any,
    past: Any,
    first: Any,
    places: Any,
    memory: Any,
    memory_places: Any,
    memory_lists: Any,
    memory_lengths: Any,
    x: Any,
) -> None:
    """One new position of m sequences; its queries, keys and values become the rows `first` to first + m of the past.

    past [layers, rows 3d]   places [m, position + 1] the rows of the past that each sequence has written
    x [m d] becomes what the logits are computed from
    """
    d = net.depth
    inner, seen, query = np.empty(m * d, np.float32), np.empty(m * d, np.float32), np.empty(m * d, np.float32)
    hidden = np.empty(m * net.hidden, np.float32)
    row = scores(max(places.shape[1], memory_places.shape[1]))
    own, positions, lengths = np.arange(m), np.full(m, position), np.full(m, position + 1)
    embed(net, net.ends[REFERENCE_TABLE], labels, positions, net.reference_positions, m, x)
    for i in range(net.decoders.shape[0]):
        at, begun = net.decoders[i], first * 3 * d
        begin(net, at, NORMALIZATION, x, m, inner)
        linear(net, at, ATTENTION, inner, m, d, 3 * d, past[i], begun)
        attend(
            net, m, past[i], begun, 3 * d, past[i], d, 3 * d, places, own, lengths, positions, at[DISTANCES], seen, row
        )
        linear(net, at, PROJECTION, seen, m, d, d, inner, FIRST)
        end(net, at, NORMALIZATION, x, m, inner)

        begin(net, at, CROSS_NORMALIZATION, x, m, inner)
        linear(net, at, CROSS_QUERY, inner, m, d, d, query, FIRST)
        attend(
            net,
            m,
            query,
            FIRST,
            d,
            memory[i],
            FIRST,
            2 * d,
            memory_places,
            memory_lists,
            memory_lengths,
            positions,
            ABSENT,
            seen,
            row,
        )
        linear(net, at, CROSS_PROJECTION, seen, m, d, d, inner, FIRST)
        end(net, at, CROSS_NORMALIZATION, x, m, inner)
        feed_forward(net, at, x, m, inner, hidden)
    if net.pre:
        normalize(net, net.ends, DECODED, x, m, x)


@part
def logits(net: Any, x: Any, first: Any, m: Any, y: Any) -> None:
    """y [m, V] of the rows of x from `first` on"""
    d, n, weights, biases = net.depth, net.vocabulary, net.ends[LOGITS], net.ends[LOGITS + 1]
    address = net.transposed_product if net.tied else net.product
    laid = net.panels.shape[0] > 0
    p0 = weights if laid else 0
    multiply_at(address, x, first * d, m, d, net.theta, weights, net.panels, p0, n, net.theta, biases, y, 0, laid)
