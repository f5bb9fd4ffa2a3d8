"""Beam search in one call: the network and the search, from the sources to the labels (decoding.Beam)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.batch import END, START
from dragoman.engines.numba.jit import kernel, part
from dragoman.engines.numba.search.choosing import CHUNK, highest, insert, normalizer
from dragoman.engines.numba.search.hypotheses import collect, told
from dragoman.engines.numba.search.known import fit, known
from dragoman.engines.numba.search.passes import decode, logits
from dragoman.engines.numba.search.reading import read
from dragoman.engines.numba.search.sequences import BLOCK, ROOM, append, forced_at, ints, room_for
from dragoman.graph import Array
from dragoman.operations import fused_search
from dragoman.operations.fused_search import FREE, ModelSpec, SearchResult

ENGINE = "numba"


@part
def choose(net: Any, x: Any, m: Any, t: Any, sentence: Any, prefixes: Any, y: Any, values: Any, labels: Any) -> Any:
    """The best continuations of every beam, values [m, K] their log-probabilities; False if one is no number"""
    n, count = net.vocabulary, values.shape[1]
    maxima, best = np.empty((n + CHUNK - 1) // CHUNK, np.float32), np.empty(count, np.float32)
    for first in range(0, m, BLOCK):
        rows = min(BLOCK, m - first)
        logits(net, x, first, rows, y)
        for i in range(rows):
            r, forced = first + i, forced_at(prefixes, sentence[first + i], t)
            given = y[i * n + max(forced, 0)]
            whole = normalizer(y, i * n, n, maxima)
            if math.isnan(whole):
                return False
            if forced == FREE:
                highest(y, i * n, n, maxima, count, best, labels[r])
            else:
                for j in range(count):
                    best[j], labels[r, j] = -math.inf, 0
                best[0], labels[r, 0] = given, forced
            for j in range(count):
                values[r, j] = best[j] - whole
    return True


@part
def rank(first: Any, beams: Any, values: Any, totals: Any, sums: Any, origins: Any) -> None:
    """The best continuations of a sentence, best first; origins: beam and place, K beam + place"""
    for j in range(sums.shape[0]):
        sums[j], origins[j] = -math.inf, 0
    count = values.shape[1]
    for b in range(beams):
        for j in range(count):
            total = totals[first + b] + values[first + b, j]
            if not total > sums[sums.shape[0] - 1]:
                break  # those after it are no better
            insert(total, b * count + j, sums.shape[0], sums, origins)


@part
def advance(
    going: Any,
    t: Any,
    width: Any,
    penalty: Any,
    longest: Any,
    values: Any,
    chosen: Any,
    active: Any,
    beams: Any,
    now: Any,
    totals: Any,
    after: Any,
    after_totals: Any,
    kept: Any,
    rows: Any,
    held: Any,
) -> Any:
    """One step of every sentence that goes on: (beams of the next step, sentences that go on, whether all can)

    active, beams [going]  which sentences, how many beams each has; now, after [3, B width] their sentence, last row
    and next label
    """
    sums, origins, size = np.empty(2 * width), np.empty(2 * width, np.int64), values.shape[1]
    first, left, still, best, possible = np.int64(0), 0, 0, kept.shape[1], True
    for a in range(going):
        s, count = active[a], beams[a]
        full, begun = longest[s] == t, left
        rank(first, count, values, totals, sums, origins)
        possible = possible and sums[0] > -math.inf
        collect(first, count, width, s, t, full, sums, origins, chosen, now[1], totals, kept, rows, held, penalty)
        for place in range(2 * width):
            b, label = origins[place] // size, chosen[first + origins[place] // size, origins[place] % size]
            if full or sums[place] == -math.inf or left - begun == width:
                break
            if label == END:
                continue
            if left == begun and held[s] >= width and sums[place] / (t + 1) ** penalty <= kept[s, best - 1, 0]:
                break  # the best that goes on does not stand better than the last that is returned
            after[0, left], after[1, left], after[2, left] = s, now[1, first + b], label
            after_totals[left] = sums[place]
            left += 1
        if left > begun:
            active[still], beams[still] = s, left - begun
            still += 1
        first += count
    return left, still, possible


@kernel
def beam(
    net: Any,
    memory: Any,
    memory_places: Any,
    offsets: Any,
    longest: Any,
    prefixes: Any,
    width: Any,
    penalty: Any,
    best: Any,
) -> Any:
    """(whether all went well, and what `told` reads)"""
    count, n, d = offsets.shape[0] - 1, net.vocabulary, net.depth
    most, size = count * width, min(2 * width, n - END)
    past, parents = np.empty((net.decoders.shape[0], count * ROOM * 3 * d), np.float32), ints(count * ROOM)
    fed, places, memory_lengths = ints(count * ROOM), np.empty((most, ROOM), np.int64), ints(most)
    x, y = np.empty(most * d, np.float32), np.empty(min(most, BLOCK) * n, np.float32)
    values, chosen = np.empty((most, size)), np.empty((most, size), np.int64)
    kept, rows, held = np.zeros((count, best, 2)), np.zeros((count, best, 3), np.int64), ints(count)
    now, totals = np.zeros((3, most), np.int64), np.zeros(most)
    after, after_totals = np.zeros((3, most), np.int64), np.zeros(most)
    active, beams = np.arange(count), np.ones(count, np.int64)
    for s in range(count):
        now[0, s], now[1, s], now[2, s] = s, -1, START
    well, m, going, t, used = True, count, count, np.int64(0), np.int64(0)
    while well and m > 0:
        if net.positioned and t >= net.reference_positions.shape[0]:
            well = False
            break
        past, parents, fed = room_for(past, parents, fed, used + m)
        if t == places.shape[1]:
            places = np.empty((most, 2 * t), np.int64)
        for r in range(m):
            memory_lengths[r] = offsets[now[0, r] + 1] - offsets[now[0, r]]
        append(parents, fed, now[1], now[2], m, used, t, places)
        decode(net, m, now[2], t, past, used, places[:m], memory, memory_places, now[0], memory_lengths, x)
        used += m | 1  # rows of one sequence as far apart as a power of two would share few lines of the cache
        well = choose(net, x, m, t, now[0], prefixes, y, values, chosen)
        if well:
            m, going, well = advance(
                going,
                t,
                width,
                penalty,
                longest,
                values,
                chosen,
                active,
                beams,
                now,
                totals,
                after,
                after_totals,
                kept,
                rows,
                held,
            )
            now, totals, after, after_totals = after, after_totals, now, totals
        t += 1
    return well, kept, rows, held, parents, fed


@fused_search.write_beams.register(ENGINE)
def write_beams(
    flat: ModelSpec,
    labels: Array,
    offsets: Array,
    longest: Array,
    prefixes: Array,
    *,
    width: int,
    length_penalty: float,
    best: int,
) -> Any:
    if not fit(flat, labels):
        return NotImplemented
    net = known(flat, len(longest) * width)
    well, *memory = read(net, labels.astype(np.int64), offsets, prefixes)
    if not well:
        return NotImplemented
    well, *found = beam(net, *memory, offsets, longest, prefixes, width, float(length_penalty), best)
    return SearchResult(*told(*found)) if well else NotImplemented
