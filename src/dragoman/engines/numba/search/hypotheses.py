"""The best finished hypotheses of every sentence of a beam search."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dragoman.batch import END
from dragoman.engines.numba.jit import device_function, kernel
from dragoman.engines.numba.search.prefix_tree import ints, read_back


class Hypotheses(NamedTuple):
    """The best hypotheses of every sentence so far.

    kept [B, best, 2] score and total   rows [B, best, 3] last cache row, length, whether it is finished
    held [B] how many have finished
    """

    kept: Any
    rows: Any
    held: Any


class Candidates(NamedTuple):
    """The best continuations of a sentence. sums: log-probabilities; origins: K * beam + rank; labels [m, K]"""

    sums: Any
    origins: Any
    labels: Any


@device_function
def insert_hypothesis(hypotheses: Any, s: Any, last: Any, length: Any, total: Any, finished: Any, p: Any) -> None:
    """Insert a hypothesis among the best of its sentence, after equal ones, and count it."""
    kept, rows, held = hypotheses
    score = total / max(1, length + finished) ** p
    best, i = kept.shape[1], min(held[s], kept.shape[1])
    held[s] += 1
    if i == best:
        if not score > kept[s, best - 1, 0]:
            return
        i -= 1
    while i > 0 and score > kept[s, i - 1, 0]:
        for c in range(2):
            kept[s, i, c] = kept[s, i - 1, c]
        for c in range(3):
            rows[s, i, c] = rows[s, i - 1, c]
        i -= 1
    kept[s, i, 0], kept[s, i, 1] = score, total
    rows[s, i, 0], rows[s, i, 1], rows[s, i, 2] = last, length, finished


@device_function
def collect_finished(
    first: Any,
    beams: Any,
    width: Any,
    s: Any,
    t: Any,
    full: Any,
    candidates: Any,
    last: Any,
    totals: Any,
    hypotheses: Any,
    p: Any,
) -> None:
    """Insert the continuations that end; at the maximum length, the other beams too."""
    sums, origins, labels = candidates
    count = labels.shape[1]
    ended = np.zeros(beams, np.bool_)
    for place in range(width):
        b, j = origins[place] // count, origins[place] % count
        if sums[place] > -math.inf and labels[first + b, j] == END:
            ended[b] = True
            insert_hypothesis(hypotheses, s, last[first + b], t, sums[place], np.int64(1), p)
    if full:
        for b in range(beams):
            if not ended[b]:
                insert_hypothesis(hypotheses, s, last[first + b], t, totals[first + b], np.int64(0), p)


@kernel
def collect_results(kept: Any, rows: Any, held: Any, parents: Any, fed: Any) -> Any:
    """(counts, labels, offsets, totals, finished): the fields of SearchResult"""
    sentences, best = kept.shape[0], kept.shape[1]
    counts, size, total = ints(sentences), np.int64(0), np.int64(0)
    for s in range(sentences):
        counts[s] = min(held[s], best)
        size += counts[s]
        for i in range(counts[s]):
            total += rows[s, i, 1]
    labels, offsets, totals, finished = ints(total), ints(size + 1), np.zeros(size), np.zeros(size, np.bool_)
    h = 0
    for s in range(sentences):
        for i in range(counts[s]):
            offsets[h + 1] = offsets[h] + rows[s, i, 1]
            totals[h], finished[h] = kept[s, i, 1], rows[s, i, 2] == 1
            read_back(parents, fed, rows[s, i, 0], rows[s, i, 1], labels[offsets[h] : offsets[h + 1]])
            h += 1
    return counts, labels, offsets, totals, finished
