"""Networks whose distributions are known exactly, and slow obvious searches to compare with."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.batch import END, START, Batch
from dragoman.decoding import Hypothesis
from dragoman.graph import Array

CONTENT = END + 1  # the first label that is a word


@dataclass(frozen=True)
class Seen:
    """The source and all labels behind every row."""

    sources: tuple[tuple[Any, ...], ...]
    labels: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.sources)

    def select(self, rows: Array) -> Seen:
        return Seen(tuple(self.sources[i] for i in rows), tuple(self.labels[i] for i in rows))


class Fake:
    """Logits that depend on the source and on every label before: a beam with a wrong past gives wrong ones.

    It keeps count of its work: the sources of every encoding and the rows of every step.
    """

    def __init__(self, vocabulary: int = 8, seed: int = 0, end: float = 0.0, dtype: Any = np.float64) -> None:
        self.vocabulary, self.seed, self.end, self.dtype = vocabulary, seed, end, dtype
        self.encoded: list[int] = []
        self.rows: list[int] = []
        self.passes = 0

    def logits(self, source: tuple[Any, ...], labels: tuple[int, ...]) -> Array:
        """[V], of the label after `labels`, which begin with start."""
        key = [self.seed, len(source), *np.array(source, float).ravel().astype(int), 999, *labels]
        z = 1.5 * np.random.default_rng(key).standard_normal(self.vocabulary)
        z[END] += self.end
        return z.astype(self.dtype)

    def encode(self, batch: Batch) -> Seen:
        self.encoded.append(len(batch))
        sources = np.split(batch.labels, batch.offsets[1:-1])
        return Seen(tuple(tuple(np.ravel(s).tolist()) for s in sources), ((),) * len(batch))

    def step(self, state: Seen, labels: Array) -> tuple[Array, Seen]:
        assert labels.shape == (len(state),)
        self.rows.append(len(state))
        seen = tuple((*before, int(label)) for before, label in zip(state.labels, labels, strict=True))
        rows = [self.logits(*row) for row in zip(state.sources, seen, strict=True)]
        return np.stack(rows), Seen(state.sources, seen)

    def plain(self, batch: Batch) -> Array:
        """The logits of all positions, as a network gives them under teacher forcing."""
        self.passes += 1
        assert batch.source is not None
        sources = self.encode(batch.source).sources
        rows = []
        for source, labels in zip(sources, np.split(batch.labels, batch.offsets[1:-1]), strict=True):
            rows += [self.logits(source, tuple(labels[: n + 1].tolist())) for n in range(len(labels))]
        return np.stack(rows)

    def log_p(self, source: Any, labels: list[int]) -> Array:
        """[V] the log-probabilities of what follows the written labels."""
        z = self.logits(tuple(source), (START, *labels)).astype(np.float64)
        p: Array = np.log(np.exp(z) / np.exp(z).sum())
        return p


@dataclass(frozen=True)
class At:
    """How many labels every row has seen."""

    count: int
    position: int = 0

    def __len__(self) -> int:
        return self.count

    def select(self, rows: Array) -> At:
        return At(len(rows), self.position)


class Script:
    """The same probabilities for every sentence, one row of them for each position; the last row goes on for ever."""

    def __init__(self, *probabilities: Any) -> None:
        with np.errstate(divide="ignore"):
            self.table = np.log(np.array(probabilities, float))

    def encode(self, batch: Batch) -> At:
        return At(len(batch))

    def step(self, state: At, labels: Array) -> tuple[Array, At]:
        row = self.table[min(state.position, len(self.table) - 1)]
        return np.tile(row, (len(state), 1)), At(len(state), state.position + 1)


def greedy_by_hand(network: Fake, source: Any, longest: int, prefix: Any = ()) -> tuple[list[int], float, bool]:
    """(labels, log-probability, finished), a full list of labels at every step."""
    labels, total = [], 0.0
    while True:
        log_p = network.log_p(source, labels)
        if len(labels) < len(prefix):
            label = int(prefix[len(labels)])
        else:
            label = max(range(END, network.vocabulary), key=lambda v: (log_p[v], -v))
        if label == END:
            return labels, total + log_p[END], True
        if len(labels) == longest:
            return labels, total, False
        labels.append(label)
        total += log_p[label]


def beam_by_hand(
    network: Fake, source: Any, longest: int, width: int, penalty: float, best: int, prefix: Any = ()
) -> tuple[list[tuple[list[int], float, bool, float]], int]:
    """Beam search of one sentence in lists: ([(labels, log-probability, finished, score), ...], steps taken)."""
    live: list[tuple[list[int], float]] = [([], 0.0)]
    found: list[tuple[list[int], float, bool, float]] = []
    for t in itertools.count():
        candidates = []
        for labels, total in live:
            log_p = network.log_p(source, labels)
            allowed = [prefix[t]] if t < len(prefix) else range(END, network.vocabulary)
            candidates += [(labels, int(v), total + log_p[v]) for v in allowed]
        candidates = sorted(candidates, key=lambda c: -c[2])[: 2 * width]
        ended = [(labels, total) for labels, v, total in candidates[:width] if v == END]
        found += [(labels, total, True, total / (t + 1) ** penalty) for labels, total in ended]
        if t == longest:
            open_ended = [beam for beam in live if beam[0] not in [labels for labels, _ in ended]]
            found += [(labels, total, False, total / max(1, t) ** penalty) for labels, total in open_ended]
        found.sort(key=lambda h: -h[3])
        live = [([*labels, v], total) for labels, v, total in candidates if v != END][:width]
        if t == longest or (len(found) >= width and live[0][1] / (t + 1) ** penalty <= found[best - 1][3]):
            return found[:best], t + 1
    raise AssertionError


def everything(network: Any, source: Any, longest: int, penalty: float) -> list[tuple[list[int], float, float]]:
    """All sequences that can be written and end: (labels, log-probability, score), best first."""
    found = []
    for n in range(longest + 1):
        for labels in itertools.product(range(CONTENT, network.vocabulary), repeat=n):
            written = [*labels, END]
            total = sum(network.log_p(source, list(labels[:t]))[written[t]] for t in range(n + 1))
            found.append((list(labels), total, total / (n + 1) ** penalty))
    return sorted(found, key=lambda h: -h[2])


def plainly(hypotheses: list[list[Hypothesis]]) -> list[list[tuple[list[int], bool]]]:
    return [[(h.labels.tolist(), h.finished) for h in of_source] for of_source in hypotheses]


def same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]], tolerance: float = 0.0) -> None:
    """The same labels, and log-probabilities and scores within the tolerance."""
    assert plainly(ours) == plainly(theirs)
    for one, other in zip(itertools.chain(*ours), itertools.chain(*theirs), strict=True):
        np.testing.assert_allclose(
            [one.log_probability, one.score], [other.log_probability, other.score], atol=tolerance, rtol=tolerance / 100
        )
