"""Whole searches in one call: the network and the choice of labels, from sources to hypotheses.

`decoding` defines the searches. An engine that registers `greedy_search` or `beam_search` runs one without returning to
Python between labels; where none does, or network or method are not covered, decoding goes step by step.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from dragoman.batch import Batch
from dragoman.engines.transformer_reader import reader_of
from dragoman.engines.transformer_spec import ModelSpec
from dragoman.graph import Array, dispatched

FREE = -1  # in prefixes: the method chooses the label
METHOD_OPTIONS = {  # of the methods that kernels know
    "dragoman.decoding.single.Greedy": {"scored"},
    "dragoman.decoding.beam.Beam": {"width", "length_penalty", "best"},
}


class SearchResult(NamedTuple):
    """Hypotheses of the sentences of a batch, best first, those of the first sentence before those of the second.

    counts [B] how many each sentence has   labels, offsets   those of hypothesis i from offsets[i] to offsets[i + 1]
    totals [H] log-probabilities            finished [H] whether each wrote its end label
    """

    counts: Array
    labels: Array
    offsets: Array
    totals: Array
    finished: Array


@dispatched
def greedy_search(
    spec: ModelSpec, labels: Array, offsets: Array, longest: Array, prefixes: Array, *, scored: bool
) -> SearchResult | None:
    """What decoding.Greedy finds for packed sources. None: not covered, nothing was done."""
    return None


@dispatched
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
) -> SearchResult | None:
    """What decoding.Beam finds for packed sources. None: not covered, nothing was done."""
    return None


def search(network: Any, method: Any, batch: Batch, longest: Array, prefixes: Array) -> SearchResult | None:
    """The hypotheses that a method finds for the sources of a batch; None: search step by step instead."""
    kind = f"{type(method).__module__}.{type(method).__qualname__}"
    if kind not in METHOD_OPTIONS or vars(method).keys() != METHOD_OPTIONS[kind] or batch.labels.ndim != 1:
        return None
    reader = reader_of(network)
    if reader is None or reader.reason:
        return None
    lengths = (after - before for before, after in pairwise(batch.offsets.tolist()))  # few: faster than arrays
    spec = reader.spec(network, max(lengths, default=0), max(longest.tolist(), default=0) + 1)
    run = greedy_search if kind.endswith("Greedy") else beam_search
    return run(spec, batch.labels, batch.offsets, longest, prefixes, **vars(method))
