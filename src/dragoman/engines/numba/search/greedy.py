"""Greedy search in one call: the network and the search, from the sources to the labels (decoding.Greedy)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.batch import END, START
from dragoman.engines.fused_search import FREE
from dragoman.engines.numba.gemm.packed_weights import PANEL
from dragoman.engines.numba.jit import kernel
from dragoman.engines.numba.search.decode import SourceMemory, decode, logits
from dragoman.engines.numba.search.prefix_tree import (
    BLOCK,
    INITIAL_POSITIONS,
    append,
    forced_label,
    grow,
    ints,
    read_back,
)
from dragoman.engines.numba.search.quantized_argmax import argmax, filter_candidates, logit
from dragoman.engines.numba.search.topk import CHUNK, check_logits, normalizer, top_k


@kernel
def greedy(net: Any, memory: Any, memory_rows: Any, offsets: Any, longest: Any, prefixes: Any, scored: Any) -> Any:
    """(whether it succeeded, labels, offsets, totals, finished)"""
    count, n, d = offsets.shape[0] - 1, net.vocabulary, net.depth
    cache = np.empty((net.decoders.shape[0], count * INITIAL_POSITIONS * 3 * d), np.float32)
    parents = ints(count * INITIAL_POSITIONS)
    fed_labels = ints(count * INITIAL_POSITIONS)
    row_lists, x = np.empty((count, INITIAL_POSITIONS), np.int64), np.empty(count * d, np.float32)
    quantized, block = net.quantized.weights.shape[0] > 0, min(count, BLOCK)
    y, maxima = np.empty(0 if quantized else block * n, np.float32), np.empty((n + CHUNK - 1) // CHUNK, np.float32)
    value, label = np.empty(1, np.float32), ints(np.int64(1))
    shorts, scales, errors = np.empty(block * d, np.int16), np.empty(block, np.float32), np.empty(block, np.float32)
    maxima_of_panels = np.empty((block, net.quantized.factors.shape[0] // PANEL), np.float32)
    buffer = np.empty(PANEL * (d + 1), np.float32)
    sentence, last, written = np.arange(count), np.full(count, -1), np.full(count, START)
    ends, lengths, totals, finished = ints(count), ints(count), np.zeros(count), np.zeros(count, np.bool_)
    memory_lengths = offsets[1:] - offsets[:-1]
    ok, m, t, used = True, count, np.int64(0), np.int64(0)
    while m > 0 and ok:
        if net.positioned and t >= net.reference_positions.shape[0]:
            ok = False
            break
        cache, parents, fed_labels = grow(cache, parents, fed_labels, used + m)
        if t == row_lists.shape[1]:
            row_lists = np.empty((count, 2 * t), np.int64)
        append(parents, fed_labels, last, written, m, used, t, row_lists)
        sources = SourceMemory(memory, memory_rows, sentence, memory_lengths)
        decode(net, m, written, t, cache, used, row_lists[:m], sources, x)
        used += m | 1  # odd: rows of a sequence at power-of-two strides would share few cache sets
        left = 0
        for first in range(0, m, BLOCK):
            rows = min(BLOCK, m - first)
            if quantized:
                ok = filter_candidates(net, x, first, rows, shorts, scales, errors, maxima_of_panels) and ok
            else:
                logits(net, x, first, rows, y)
            for i in range(rows):
                r, s = first + i, sentence[first + i]
                forced = forced_label(prefixes, s, t)
                normalization = 0.0
                if quantized and forced == FREE:
                    value[0], label[0] = argmax(net, x, r, errors[i], maxima_of_panels[i], buffer)
                elif quantized:
                    value[0], label[0] = logit(net, x, r, forced, buffer), forced
                else:
                    label[0], value[0] = forced, y[i * n + max(forced, 0)]
                    normalization = normalizer(y, i * n, n, maxima) if scored else check_logits(y, i * n, n, maxima)
                    if forced == FREE:
                        top_k(y, i * n, n, maxima, 1, value, label)
                chosen = value[0] - normalization
                if not chosen > -math.inf:  # with fast-math, isfinite(a - b) would be folded to True
                    ok = False
                ends[s], lengths[s] = last[r], t
                full = longest[s] == t
                if label[0] == END or not full:  # a label beyond the maximum length does not count
                    totals[s] += chosen
                if label[0] == END or full:
                    finished[s] = label[0] == END
                else:
                    sentence[left], last[left], written[left] = s, last[r], label[0]
                    memory_lengths[left] = memory_lengths[r]
                    left += 1
        m, t = left, t + 1
    starts = ints(count + 1)
    for s in range(count):
        starts[s + 1] = starts[s] + lengths[s]
    found = ints(starts[-1])
    if ok:
        for s in range(count):
            read_back(parents, fed_labels, ends[s], lengths[s], found[starts[s] : starts[s + 1]])
    return ok, found, starts, totals, finished
