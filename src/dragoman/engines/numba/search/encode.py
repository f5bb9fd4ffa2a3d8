"""All sources of a batch through the encoders at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.gemm.packed_weights import ZERO_INDEX
from dragoman.engines.numba.gemm.small_gemm import pack_in_place
from dragoman.engines.numba.jit import device_function, kernel
from dragoman.engines.numba.kernels.attention.arguments import Columns
from dragoman.engines.numba.kernels.attention.gathered import RowLists, attend, score_buffer
from dragoman.engines.numba.search.decode import embed, enter_sublayer, feed_forward, leave_sublayer, linear, normalize
from dragoman.engines.numba.search.quantized_argmax import quantize_output
from dragoman.engines.transformer_spec import (
    ABSENT,
    ATTENTION,
    CROSS,
    CROSS_PROJECTION,
    CROSS_QUERY,
    DISTANCES,
    ENCODED,
    HIDDEN,
    LOGITS,
    NORMALIZATION,
    OUTPUT,
    PROJECTION,
    SOURCE_TABLE,
)

MATRICES = np.array([ATTENTION, PROJECTION, HIDDEN, OUTPUT, CROSS_QUERY, CROSS, CROSS_PROJECTION])
PLAIN = np.bool_(False)


@kernel
def encode_sources(net: Any, labels: Any, offsets: Any, prefixes: Any) -> Any:
    """(whether the input is valid, [layers, N 2d] keys and values for the decoders, [B, S] the rows of each source)

    A separate kernel, so that the encoders are not compiled into both searches.
    """
    if not validate(net, labels, offsets, prefixes):
        return False, np.zeros((0, 0), np.float32), np.zeros((0, 0), np.int64)
    lists = source_rows(offsets)
    pack_all(net)
    if net.quantized.weights.shape[0] > 0 and not quantize_output(net):
        return False, np.zeros((0, 0), np.float32), np.zeros((0, 0), np.int64)
    return True, run_encoder(net, labels, lists), lists.rows


@device_function
def validate(net: Any, labels: Any, offsets: Any, prefixes: Any) -> Any:
    """Whether all labels and positions are in range; invalid input falls back to the definition, which raises."""
    for i in range(labels.shape[0]):
        if not 0 <= labels[i] < net.source_vocabulary:
            return False
    for s in range(prefixes.shape[0]):
        if net.positioned and offsets[s + 1] - offsets[s] > net.source_positions.shape[0]:
            return False
        for t in range(prefixes.shape[1]):
            if prefixes[s, t] >= net.vocabulary:
                return False
    return True


@device_function
def source_rows(offsets: Any) -> Any:
    """Every row attends to all rows of its source: the RowLists of the encoders."""
    count, rows = offsets.shape[0] - 1, offsets[-1]
    longest = 0
    for s in range(count):
        longest = max(longest, offsets[s + 1] - offsets[s])
    row_lists = np.empty((count, longest), np.int64)
    list_of, lengths, positions = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
    for s in range(count):
        for i in range(offsets[s], offsets[s + 1]):
            list_of[i], lengths[i], positions[i] = s, offsets[s + 1] - offsets[s], i - offsets[s]
            row_lists[s, i - offsets[s]] = i
    return RowLists(row_lists, list_of, lengths, positions)


@device_function
def pack_all(net: Any) -> None:
    """Pack all weights, if the model view has memory for it."""
    if net.packed_weights.shape[0] == 0:
        return
    d, h = net.depth, net.hidden
    for i in range(2 * net.encoders.shape[0]):
        at = net.encoders[i // 2] if i % 2 == 0 else net.decoders[i // 2]
        for which in MATRICES:
            if at[which] != ABSENT:  # encoders have no cross attention
                k = h if which == OUTPUT else d
                n = 3 * d if which == ATTENTION else 2 * d if which == CROSS else h if which == HIDDEN else d
                pack_in_place(net.theta, at[which], k, n, PLAIN, net.packed_weights)
    if net.quantized.weights.shape[0] == 0:
        pack_in_place(net.theta, net.ends[LOGITS], d, net.vocabulary, net.tied, net.packed_weights)


@device_function
def run_encoder(net: Any, labels: Any, lists: Any) -> Any:
    """Keys and values of every source for every decoder: [layers, N 2d]; lists: RowLists of all rows"""
    m, d, layers = labels.shape[0], net.depth, net.encoders.shape[0]
    x, inner, seen = np.empty(m * d, np.float32), np.empty(m * d, np.float32), np.empty(m * d, np.float32)
    qkv = np.empty(m * 3 * d, np.float32)
    hidden = np.empty(m * net.hidden, np.float32)
    row = score_buffer(lists.rows.shape[1])
    embed(net, net.ends[SOURCE_TABLE], labels, lists.positions, net.source_positions, m, x)
    for i in range(layers):
        at = net.encoders[i]
        enter_sublayer(net, at, NORMALIZATION, x, m, inner)
        linear(net, at, ATTENTION, inner, m, d, 3 * d, qkv, ZERO_INDEX)
        queries, keys = Columns(qkv, ZERO_INDEX, 3 * d), Columns(qkv, d, 3 * d)
        attend(net, m, queries, keys, lists, at[DISTANCES], seen, row)
        linear(net, at, PROJECTION, seen, m, d, d, inner, ZERO_INDEX)
        leave_sublayer(net, at, NORMALIZATION, x, m, inner)
        feed_forward(net, at, x, m, inner, hidden)
    if net.pre:
        normalize(net, net.ends, ENCODED, x, m, x)
    memory = np.empty((layers, m * 2 * d), np.float32)
    for i in range(layers):
        linear(net, net.decoders[i], CROSS, x, m, d, 2 * d, memory[i], ZERO_INDEX)
    return memory
