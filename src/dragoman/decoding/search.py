"""decode: sources in, hypotheses out, in batches of similar length. How each label is chosen is the method's affair."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from dragoman.batch import END, PAD, START, Batch
from dragoman.engines import fused_search
from dragoman.engines.compute import fast_compute
from dragoman.engines.fused_search import FREE
from dragoman.errors import ConfigurationError, LabelError, ShapeError
from dragoman.graph import Array
from dragoman.graph.operation import current_engine
from dragoman.wording import counted

logger = logging.getLogger(__name__)


class SequenceState(Protocol):
    """Where a decoding stands; one row for each sequence being written."""

    def __len__(self) -> int: ...

    def select(self, rows: Array) -> Self:
        """The state of some rows, in the given order, with repetitions."""
        ...


S = TypeVar("S", bound=SequenceState)


class SequenceNetwork(Protocol[S]):
    """What decoding asks of a network. One that has no source (a language model) ignores the batch but for its size."""

    def encode(self, batch: Batch) -> S: ...

    def step(self, state: S, labels: Array) -> tuple[Array, S]:
        """Logits [B, V] of the label after `labels` [B], and the state that has seen them."""
        ...


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One sequence that a network may have meant.

    labels           [T], without start and end
    log_probability  the network's, summed over the labels and, when it is finished, the end label
    finished         it wrote its end label before the maximum length stopped it
    score            log_probability / length**penalty, length the number of summands; what hypotheses are ranked by
    """

    labels: Array
    log_probability: float
    finished: bool
    score: float

    @classmethod
    def of(cls, labels: Array, log_probability: float, finished: bool, penalty: float = 1.0) -> Self:
        length = max(1, len(labels) + finished)
        return cls(labels.copy(), float(log_probability), bool(finished), float(log_probability / length**penalty))


@dataclass(frozen=True, eq=False)
class Request:
    """What is asked for the B sentences of a batch.

    longest   [B] how many labels may be written, the end label not counted
    prefixes  [B, P] how each sentence must begin, FREE after that
    numbers   [B] what a sentence's random draws depend on
    """

    longest: Array
    prefixes: Array
    numbers: Array

    def select(self, rows: Array) -> Request:
        return Request(self.longest[rows], self.prefixes[rows], self.numbers[rows])

    def forced(self, t: int, vocabulary: int) -> Array:
        """[B] the label that must be written at position t, FREE where the method chooses."""
        if t >= self.prefixes.shape[1]:
            return np.full(len(self.longest), FREE)
        labels: Array = self.prefixes[:, t]
        if labels.max(initial=FREE) >= vocabulary:
            raise LabelError(
                f"a prefix has the label {labels.max()} at position {t}, but the network knows {vocabulary} labels"
            )
        return labels


Each = Callable[[Callable[[Array], list[list[Hypothesis]]], list[Array]], Iterable[list[list[Hypothesis]]]]


class Method(Protocol):
    """A way to choose labels: Greedy, Sampling, Beam."""

    def search(self, network: SequenceNetwork[S], state: S, request: Request) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence of the state, best first."""
        ...


def decode(
    network: SequenceNetwork[S],
    sources: Sequence[Sequence[int] | Array],
    method: Method,
    longest: Sequence[int] | int,
    prefixes: Sequence[Sequence[int] | Array] | None = None,
    batch: int = 64,
    numbers: Sequence[int] | None = None,
    each: Each = map,
) -> list[list[Hypothesis]]:
    """Write a sequence for every source: its hypotheses, best first, in the order of the sources.

    longest   how many labels may be written (a prefix counts, the end label does not), for all or for each;
              the network reads one position more, the start label
    prefixes  labels that every hypothesis of a source begins with, without start and end
    batch     sources decoded together; sources of similar length are
    numbers   what random draws depend on besides the seed; default: the places of the sources in the list
    each      runs the batches, one after the other or on threads

    Runs on the fastest engine, with one BLAS thread for each thread.
    An empty source is handed to the network as it is; for a language model, all are: `[[]] * n` with prefixes.
    """
    if batch < 1:
        raise ConfigurationError(f"a batch holds at least one source, got batch={batch}")
    request = _request(len(sources), longest, prefixes, numbers)
    order = _order(sources, request)
    results: list[list[Hypothesis]] = [[] for _ in sources]

    def write(chosen: Array) -> list[list[Hypothesis]]:
        read = Batch.pack([sources[i] for i in chosen])
        asked = request if len(sources) == 1 else request.select(chosen)
        found = at_once(network, method, read, asked)
        logger.debug("%s: %s", counted(len(chosen), "sentence"), "step by step" if found is None else "fused search")
        return method.search(network, network.encode(read), asked) if found is None else found

    batches = [order[start : start + batch] for start in range(0, len(order), batch)]
    with fast_compute():
        logger.info("decoding %s with the %s engine", counted(len(sources), "sentence"), current_engine())
        for chosen, found in zip(batches, each(write, batches), strict=True):
            for i, hypotheses in zip(chosen, found, strict=True):
                results[i] = hypotheses
    return results


def _order(sources: Sequence[Sequence[int] | Array], request: Request) -> Array:
    """Sources of similar length side by side, the longest first: what needs most memory fails first."""
    if len(sources) == 1:
        return np.zeros(1, np.int64)
    prefix_lengths = (request.prefixes != FREE).sum(axis=1)
    source_lengths = np.array([len(source) for source in sources], np.int64)
    return np.lexsort((request.longest, prefix_lengths, source_lengths))[::-1]


def at_once(network: Any, method: Any, batch: Batch, request: Request) -> list[list[Hypothesis]] | None:
    """What an engine finds in one call; None if it does not cover network, method and options."""
    written = fused_search.search(network, method, batch, request.longest, request.prefixes)
    if written is None:
        return None
    penalty, ends, labels = getattr(method, "length_penalty", 1.0), written.offsets.tolist(), written.labels
    each = zip(pairwise(ends), written.totals.tolist(), written.finished.tolist(), strict=True)
    all_found = (
        Hypothesis(labels[a:b], total, finished, total / max(1, b - a + finished) ** penalty)
        for (a, b), total, finished in each  # plain numbers: this is all that is left to do in Python
    )
    return [list(islice(all_found, count)) for count in written.counts.tolist()]


def _request(
    count: int,
    longest: Sequence[int] | int,
    prefixes: Sequence[Sequence[int] | Array] | None,
    numbers: Sequence[int] | None,
) -> Request:
    """All that is asked, checked and in arrays."""
    limits = [longest] * count if isinstance(longest, int | np.integer) else longest
    beginnings = [()] * count if prefixes is None else prefixes
    draws = range(count) if numbers is None else numbers
    for name, asked in (("maximum lengths", limits), ("prefixes", beginnings), ("numbers", draws)):
        if len(asked) != count:
            raise ShapeError(f"{len(asked)} {name} for {count} sources; give one for each")
    most, given = np.array(limits, np.int64), np.array([len(prefix) for prefix in beginnings], np.int64)
    if prefixes is None and most.min(initial=0) >= 0:
        return Request(most, np.full((count, 0), FREE), np.array(draws, np.int64))
    for i in np.flatnonzero(most < given):
        raise ConfigurationError(
            f"source {i}: at most {most[i]} tokens may be written, but {given[i]} are given as its prefix; "
            "allow as many as that, and never fewer than 0"
        )
    return Request(most, _table(beginnings, given), np.array(draws, np.int64))


def _table(prefixes: Sequence[Sequence[int] | Array], lengths: Array) -> Array:
    """[B, P] the prefixes, one under the other, FREE where they are over."""
    labels = np.array(list(chain.from_iterable(prefixes)) or np.zeros(0, np.int64))
    wrong = (labels < 0) | np.isin(labels, (PAD, START, END)) | (labels.dtype.kind not in "iu")
    for place in np.flatnonzero(wrong):
        i = int(np.searchsorted(np.cumsum(lengths), place, side="right"))
        raise LabelError(
            f"source {i}: {labels[place]} in its prefix; a prefix holds tokens, without pad ({PAD}), start ({START}) "
            f"and end ({END}), which decode writes itself"
        )
    table = np.full((len(lengths), lengths.max(initial=0)), FREE)
    table[np.arange(table.shape[1]) < lengths[:, None]] = labels
    return table
