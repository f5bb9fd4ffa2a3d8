"""Sources are read: all of them through the encoders at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.jit import kernel, part
from dragoman.engines.numba.panels import FIRST
from dragoman.engines.numba.search.looking import attend, scores
from dragoman.engines.numba.search.passes import begin, embed, end, feed_forward, linear, normalize
from dragoman.engines.numba.search.products import lay_out
from dragoman.engines.numba.search.sieve import fill
from dragoman.operations.fused_search import (
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
def read(net: Any, labels: Any, offsets: Any, prefixes: Any) -> Any:
    """(whether all is sound, [layers, N 2d] what decoders look at, [B, S] the rows of each source)

    A kernel of its own, so that greedy and beam search need not be compiled with the encoders in them.
    """
    if not sound(net, labels, offsets, prefixes):
        return False, np.zeros((0, 0), np.float32), np.zeros((0, 0), np.int64)
    places, lists, lengths, positions = sources(offsets)
    lay_out_all(net)
    if net.sieve.weights.shape[0] > 0 and not fill(net):
        return False, np.zeros((0, 0), np.float32), np.zeros((0, 0), np.int64)
    return True, encode(net, labels, positions, places, lists, lengths), places


@part
def sound(net: Any, labels: Any, offsets: Any, prefixes: Any) -> Any:
    """Whether all labels and positions are known; where not, the definition says what is wrong"""
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


@part
def sources(offsets: Any) -> Any:
    """places [B, S]: the rows of each source; lists, lengths, positions [N]: whose a row is, how long that is, where
    in it the row stands"""
    count, rows = offsets.shape[0] - 1, offsets[-1]
    longest = 0
    for s in range(count):
        longest = max(longest, offsets[s + 1] - offsets[s])
    places = np.empty((count, longest), np.int64)
    lists, lengths, positions = np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)
    for s in range(count):
        for i in range(offsets[s], offsets[s + 1]):
            lists[i], lengths[i], positions[i] = s, offsets[s + 1] - offsets[s], i - offsets[s]
            places[s, i - offsets[s]] = i
    return places, lists, lengths, positions


@part
def lay_out_all(net: Any) -> None:
    """All matrices in panels, if there is room for them"""
    if net.panels.shape[0] == 0:
        return
    d, h = net.depth, net.hidden
    for i in range(2 * net.encoders.shape[0]):
        at = net.encoders[i // 2] if i % 2 == 0 else net.decoders[i // 2]
        for which in MATRICES:
            if at[which] != ABSENT:  # an encoder has no cross attention
                k = h if which == OUTPUT else d
                n = 3 * d if which == ATTENTION else 2 * d if which == CROSS else h if which == HIDDEN else d
                lay_out(net.theta, at[which], k, n, PLAIN, net.panels)
    if net.sieve.weights.shape[0] == 0:
        lay_out(net.theta, net.ends[LOGITS], d, net.vocabulary, net.tied, net.panels)


@part
def encode(net: Any, labels: Any, positions: Any, places: Any, lists: Any, lengths: Any) -> Any:
    """Keys and values of every source for every decoder: [layers, N 2d]

    places [B, S] the rows of each source; lists, lengths, positions [N] whose it is, how long that is, where it stands
    """
    m, d, layers = labels.shape[0], net.depth, net.encoders.shape[0]
    x, inner, seen = np.empty(m * d, np.float32), np.empty(m * d, np.float32), np.empty(m * d, np.float32)
    qkv, hidden, row = np.empty(m * 3 * d, np.float32), np.empty(m * net.hidden, np.float32), scores(places.shape[1])
    embed(net, net.ends[SOURCE_TABLE], labels, positions, net.source_positions, m, x)
    for i in range(layers):
        at = net.encoders[i]
        begin(net, at, NORMALIZATION, x, m, inner)
        linear(net, at, ATTENTION, inner, m, d, 3 * d, qkv, FIRST)
        attend(net, m, qkv, FIRST, 3 * d, qkv, d, 3 * d, places, lists, lengths, positions, at[DISTANCES], seen, row)
        linear(net, at, PROJECTION, seen, m, d, d, inner, FIRST)
        end(net, at, NORMALIZATION, x, m, inner)
        feed_forward(net, at, x, m, inner, hidden)
    if net.pre:
        normalize(net, net.ends, ENCODED, x, m, x)
    memory = np.empty((layers, m * 2 * d), np.float32)
    for i in range(layers):
        linear(net, net.decoders[i], CROSS, x, m, d, 2 * d, memory[i], FIRST)
    return memory
