"""Registers whole greedy and beam searches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.engines import fused_search as dispatch
from dragoman.engines.fused_search import SearchResult
from dragoman.engines.numba.ops.arguments import int64s
from dragoman.engines.numba.search.beam import beam
from dragoman.engines.numba.search.encode import encode_sources
from dragoman.engines.numba.search.greedy import greedy
from dragoman.engines.numba.search.hypotheses import collect_results
from dragoman.engines.numba.search.model_view import model_view, supports
from dragoman.engines.transformer_spec import ModelSpec
from dragoman.graph import Array

ENGINE = "numba"


@dispatch.greedy_search.register(ENGINE)
def greedy_search(
    spec: ModelSpec, labels: Array, offsets: Array, longest: Array, prefixes: Array, *, scored: bool
) -> Any:
    if not supports(spec, labels):
        return NotImplemented
    labels, offsets, longest, prefixes = map(int64s, (labels, offsets, longest, prefixes))
    net = model_view(spec, len(longest), argmax_only=not scored)
    ok, *memory = encode_sources(net, labels, offsets, prefixes)
    if not ok:
        return NotImplemented
    ok, found, ends, totals, finished = greedy(net, *memory, offsets, longest, prefixes, scored)
    if not ok:
        return NotImplemented
    if not scored:
        totals[:] = math.nan
    return SearchResult(np.ones(len(longest), np.int64), found, ends, totals, finished)


@dispatch.beam_search.register(ENGINE)
def beam_search(
    spec: ModelSpec,
    labels: Array,
    offsets: Array,
    longest: Array,
    prefixes: Array,
    *,
    width: int,
    length_penalty: float,
    best: int,
) -> Any:
    if not supports(spec, labels):
        return NotImplemented
    labels, offsets, longest, prefixes = map(int64s, (labels, offsets, longest, prefixes))
    net = model_view(spec, len(longest) * width)
    ok, *memory = encode_sources(net, labels, offsets, prefixes)
    if not ok:
        return NotImplemented
    ok, *found = beam(net, *memory, offsets, longest, prefixes, width, float(length_penalty), best)
    return SearchResult(*collect_results(*found)) if ok else NotImplemented
