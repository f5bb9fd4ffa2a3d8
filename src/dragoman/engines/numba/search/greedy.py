"""Greedy search in one call: the network and the search, from the sources to the labels (decoding.Greedy)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.batch import END, START
from dragoman.engines.numba.jit import kernel
from dragoman.engines.numba.panels import PANEL
from dragoman.engines.numba.search.choosing import CHUNK, highest, normalizer, unnormalized
from dragoman.engines.numba.search.known import fit, known
from dragoman.engines.numba.search.passes import decode, logits
from dragoman.engines.numba.search.reading import read
from dragoman.engines.numba.search.sequences import BLOCK, ROOM, append, forced_at, ints, read_back, room_for
from dragoman.engines.numba.search.sieve import best, logit, sift
from dragoman.graph import Array
from dragoman.operations import fused_search
from dragoman.operations.fused_search import FREE, ModelSpec, SearchResult

ENGINE = "numba"


@kernel
def greedy(net: Any, memory: Any, memory_places: Any, offsets: Any, longest: Any, prefixes: Any, scored: Any) -> Any:
    """(whether all went well, labels, offsets, totals, finished)"""
    count, n, d = offsets.shape[0] - 1, net.vocabulary, net.depth
    past, parents = np.empty((net.decoders.shape[0], count * ROOM * 3 * d), np.float32), ints(count * ROOM)
    fed_labels = ints(count * ROOM)
    places, x = np.empty((count, ROOM), np.int64), np.empty(count * d, np.float32)
    sifted, block = net.sieve.weights.shape[0] > 0, min(count, BLOCK)
    y, maxima = np.empty(0 if sifted else block * n, np.float32), np.empty((n + CHUNK - 1) // CHUNK, np.float32)
    value, label = np.empty(1, np.float32), ints(np.int64(1))
    shorts, scales, errors = np.empty(block * d, np.int16), np.empty(block, np.float32), np.empty(block, np.float32)
    near = np.empty((block, net.sieve.factors.shape[0] // PANEL), np.float32)
    room = np.empty(PANEL * (d + 1), np.float32)
    sentence, last, written = np.arange(count), np.full(count, -1), np.full(count, START)
    ends, lengths, totals, finished = ints(count), ints(count), np.zeros(count), np.zeros(count, np.bool_)
    memory_lengths = offsets[1:] - offsets[:-1]
    well, m, t, used = True, count, np.int64(0), np.int64(0)
    while m > 0 and well:
        if net.positioned and t >= net.reference_positions.shape[0]:
            well = False
            break
        past, parents, fed_labels = room_for(past, parents, fed_labels, used + m)
        if t == places.shape[1]:
            places = np.empty((count, 2 * t), np.int64)
        append(parents, fed_labels, last, written, m, used, t, places)
        decode(net, m, written, t, past, used, places[:m], memory, memory_places, sentence, memory_lengths, x)
        used += m | 1  # rows of one sequence as far apart as a power of two would share few lines of the cache
        left = 0
        for first in range(0, m, BLOCK):
            rows = min(BLOCK, m - first)
            if sifted:
                well = sift(net, x, first, rows, shorts, scales, errors, near) and well
            else:
                logits(net, x, first, rows, y)
            for i in range(rows):
                r, s = first + i, sentence[first + i]
                forced = forced_at(prefixes, s, t)
                whole = 0.0
                if sifted and forced == FREE:
                    value[0], label[0] = best(net, x, r, errors[i], near[i], room)
                elif sifted:
                    value[0], label[0] = logit(net, x, r, forced, room), forced
                else:
                    label[0], value[0] = forced, y[i * n + max(forced, 0)]
                    whole = normalizer(y, i * n, n, maxima) if scored else unnormalized(y, i * n, n, maxima)
                    if forced == FREE:
                        highest(y, i * n, n, maxima, 1, value, label)
                chosen = value[0] - whole
                if not chosen > -math.inf:  # isfinite(a - b) is always true once sums may be reordered
                    well = False
                ends[s], lengths[s] = last[r], t
                full = longest[s] == t
                if label[0] == END or not full:  # a label there was no room for does not count
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
    if well:
        for s in range(count):
            read_back(parents, fed_labels, ends[s], lengths[s], found[starts[s] : starts[s + 1]])
    return well, found, starts, totals, finished


@fused_search.write_greedily.register(ENGINE)
def write_greedily(
    flat: ModelSpec, labels: Array, offsets: Array, longest: Array, prefixes: Array, *, scored: bool = True
) -> Any:
    if not fit(flat, labels):
        return NotImplemented
    net = known(flat, len(longest), best_alone=not scored)
    well, *memory = read(net, labels.astype(np.int64), offsets, prefixes)
    if not well:
        return NotImplemented
    well, found, ends, totals, finished = greedy(net, *memory, offsets, longest, prefixes, scored)
    if not well:
        return NotImplemented
    if not scored:
        totals[:] = math.nan
    return SearchResult(np.ones(len(longest), np.int64), found, ends, totals, finished)
