"""Beam search in one call: the network and the search, from the sources to the labels (decoding.Beam)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dragoman.batch import END, START
from dragoman.engines.fused_search import FREE
from dragoman.engines.numba.jit import device_function, kernel
from dragoman.engines.numba.search.decode import SourceMemory, decode, logits
from dragoman.engines.numba.search.hypotheses import Candidates, Hypotheses, collect_finished
from dragoman.engines.numba.search.prefix_tree import BLOCK, INITIAL_POSITIONS, append, forced_label, grow, ints
from dragoman.engines.numba.search.topk import CHUNK, insert, normalizer, top_k


@device_function
def choose(net: Any, x: Any, m: Any, t: Any, sentence: Any, prefixes: Any, y: Any, values: Any, labels: Any) -> Any:
    """The best labels [m, K] of every beam and their log-probabilities, values [m, K]; False if a logit is NaN"""
    n, count = net.vocabulary, values.shape[1]
    maxima, best = np.empty((n + CHUNK - 1) // CHUNK, np.float32), np.empty(count, np.float32)
    for first in range(0, m, BLOCK):
        rows = min(BLOCK, m - first)
        logits(net, x, first, rows, y)
        for i in range(rows):
            r, forced = first + i, forced_label(prefixes, sentence[first + i], t)
            given = y[i * n + max(forced, 0)]
            normalization = normalizer(y, i * n, n, maxima)
            if math.isnan(normalization):
                return False
            if forced == FREE:
                top_k(y, i * n, n, maxima, count, best, labels[r])
            else:
                for j in range(count):
                    best[j], labels[r, j] = -math.inf, 0
                best[0], labels[r, 0] = given, forced
            for j in range(count):
                values[r, j] = best[j] - normalization
    return True


@device_function
def rank(first: Any, beams: Any, values: Any, totals: Any, sums: Any, origins: Any) -> None:
    """The best continuations of a sentence, best first; origins: K * beam + rank within the beam"""
    for j in range(sums.shape[0]):
        sums[j], origins[j] = -math.inf, 0
    count = values.shape[1]
    for b in range(beams):
        for j in range(count):
            total = totals[first + b] + values[first + b, j]
            if not total > sums[sums.shape[0] - 1]:
                break  # the rest are no better
            insert(total, b * count + j, sums.shape[0], sums, origins)


class Options(NamedTuple):
    """Of decoding.Beam, and longest [B], the most labels of each sentence."""

    width: Any
    penalty: Any
    longest: Any


class Beams(NamedTuple):
    """All beams of a step. rows [3, B width]: sentence, last cache row, next label; totals [B width]"""

    rows: Any
    totals: Any


@device_function
def advance(
    options: Any,
    t: Any,
    values: Any,
    chosen: Any,
    going: Any,
    active: Any,
    counts: Any,
    now: Any,
    after: Any,
    hypotheses: Any,
) -> Any:
    """One step of every active sentence: (beams of the next step, active sentences, whether all can be continued)

    active, counts [going] the sentences and how many beams each has   now, after: Beams of this and of the next step
    """
    width, penalty, longest = options
    sums, origins, size = np.empty(2 * width), np.empty(2 * width, np.int64), values.shape[1]
    candidates = Candidates(sums, origins, chosen)
    first, left, still, possible = np.int64(0), 0, 0, True
    kept, held = hypotheses.kept, hypotheses.held
    best = kept.shape[1]
    for a in range(going):
        s, count = active[a], counts[a]
        full, begun = longest[s] == t, left
        rank(first, count, values, now.totals, sums, origins)
        possible = possible and sums[0] > -math.inf
        collect_finished(first, count, width, s, t, full, candidates, now.rows[1], now.totals, hypotheses, penalty)
        for place in range(2 * width):
            b, label = origins[place] // size, chosen[first + origins[place] // size, origins[place] % size]
            if full or sums[place] == -math.inf or left - begun == width:
                break
            if label == END:
                continue
            if left == begun and held[s] >= width and sums[place] / (t + 1) ** penalty <= kept[s, best - 1, 0]:
                break  # no unfinished beam scores better than the last hypothesis to be returned
            after.rows[0, left], after.rows[1, left], after.rows[2, left] = s, now.rows[1, first + b], label
            after.totals[left] = sums[place]
            left += 1
        if left > begun:
            active[still], counts[still] = s, left - begun
            still += 1
        first += count
    return left, still, possible


@kernel
def beam(
    net: Any,
    memory: Any,
    memory_rows: Any,
    offsets: Any,
    longest: Any,
    prefixes: Any,
    width: Any,
    penalty: Any,
    best: Any,
) -> Any:
    """(whether it succeeded, then the arguments of `collect_results`)"""
    count, n, d = offsets.shape[0] - 1, net.vocabulary, net.depth
    most, size = count * width, min(2 * width, n - END)
    cache = np.empty((net.decoders.shape[0], count * INITIAL_POSITIONS * 3 * d), np.float32)
    parents = ints(count * INITIAL_POSITIONS)
    fed = ints(count * INITIAL_POSITIONS)
    row_lists = np.empty((most, INITIAL_POSITIONS), np.int64)
    memory_lengths = ints(most)
    x, y = np.empty(most * d, np.float32), np.empty(min(most, BLOCK) * n, np.float32)
    values, chosen = np.empty((most, size)), np.empty((most, size), np.int64)
    hypotheses = Hypotheses(np.zeros((count, best, 2)), np.zeros((count, best, 3), np.int64), ints(count))
    now = Beams(np.zeros((3, most), np.int64), np.zeros(most))
    after = Beams(np.zeros((3, most), np.int64), np.zeros(most))
    options, active, counts = Options(width, penalty, longest), np.arange(count), np.ones(count, np.int64)
    for s in range(count):
        now.rows[0, s], now.rows[1, s], now.rows[2, s] = s, -1, START
    ok, m, going, t, used = True, count, count, np.int64(0), np.int64(0)
    while ok and m > 0:
        if net.positioned and t >= net.reference_positions.shape[0]:
            ok = False
            break
        cache, parents, fed = grow(cache, parents, fed, used + m)
        if t == row_lists.shape[1]:
            row_lists = np.empty((most, 2 * t), np.int64)
        for r in range(m):
            memory_lengths[r] = offsets[now.rows[0, r] + 1] - offsets[now.rows[0, r]]
        sentence, last, labels = now.rows[0], now.rows[1], now.rows[2]
        append(parents, fed, last, labels, m, used, t, row_lists)
        sources = SourceMemory(memory, memory_rows, sentence, memory_lengths)
        decode(net, m, labels, t, cache, used, row_lists[:m], sources, x)
        used += m | 1  # odd: rows of a sequence at power-of-two strides would share few cache sets
        ok = choose(net, x, m, t, sentence, prefixes, y, values, chosen)
        if ok:
            m, going, ok = advance(options, t, values, chosen, going, active, counts, now, after, hypotheses)
            now, after = after, now
        t += 1
    return ok, hypotheses.kept, hypotheses.rows, hypotheses.held, parents, fed
