"""How probable given texts are: every token under teacher forcing, whatever the length of the text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dragoman.batch import UNKNOWN, Batch
from dragoman.decoding.probabilities import log_normalizer
from dragoman.engines.compute import fast_compute
from dragoman.graph import Array, value_of
from dragoman.layers import ForwardContext
from dragoman.operations.shapes import check_labels
from dragoman.ranks import ALONE, Ranks

ROWS = 8192  # positions that go through the network together
LOG_2 = math.log(2)


@dataclass(frozen=True)
class TextScore:
    """The log-probability of a text, in nats, and what it was measured on.

    unknown  tokens that the model has no label for; it scores them as "something unknown"
    """

    text: str
    log_probability: float
    tokens: int
    unknown: int = 0

    @property
    def perplexity(self) -> float:
        """As if the model had to choose among so many tokens at each of them; NaN of an empty text."""
        return math.exp(min(700.0, -self.log_probability / self.tokens)) if self.tokens else math.nan

    @property
    def bits_per_character(self) -> float:
        return -self.log_probability / LOG_2 / len(self.text) if self.text else math.nan

    def as_dict(self) -> dict[str, Any]:
        numbers = {
            "log_probability": round(self.log_probability, 4),
            "perplexity": round(self.perplexity, 4) if self.tokens else None,
            "bits_per_character": round(self.bits_per_character, 4) if self.text else None,
        }
        return {"text": self.text, **numbers, "tokens": self.tokens, "unknown": self.unknown}


class Window(NamedTuple):
    """Some tokens of a text as the network reads them: those before `counted` are only looked back at."""

    text: int
    start: int
    stop: int
    counted: int


class Measured(NamedTuple):
    """Of every position that was read: log p of its target, whether it was the most probable, place in its window."""

    log_probabilities: Array
    right: Array
    places: Array
    counted: Array  # whether it is the one reading of its target that counts


def windows(lengths: Sequence[int], context: int) -> Iterator[Window]:
    """Windows of at most `context` positions; one that is not the first of a text repeats half a window before it."""
    step = max(1, context // 2)
    for i, length in enumerate(lengths):
        start = 0
        while start < length:
            counted = start if start == 0 else start + context - step
            yield Window(i, start, min(length, start + context), counted)
            if start + context >= length:
                break
            start += step


def measure(network: Any, labels: Sequence[Array], context: int | None, ranks: Ranks = ALONE) -> list[Measured]:
    """The positions of every sequence of labels, of which the first is given; [n + 1] labels have n positions.

    context  positions that a network reads at most, looking back at half of them at least; None: a recurrent one, which
             reads every sequence from its beginning to its end
    ranks    that share the passes through the network; a recurrent one needs its state, so each rank reads everything
    """
    with fast_compute():
        if context is None:
            return [_carried(network, each) for each in labels]
        found: list[list[Measured]] = [[] for _ in labels]
        plan = list(windows([len(each) - 1 for each in labels], context))
        ends = np.cumsum([0, *(w.stop - w.start for w in plan)])
        values, right = np.zeros(ends[-1], np.float64), np.zeros(ends[-1], np.uint8)
        first = 0
        for number, several in enumerate(_together(plan)):
            last = first + len(several)
            if number % ranks.size == ranks.rank:
                cut = [labels[w.text][w.start : w.stop + 1] for w in several]
                batch = Batch(*_packed([each[:-1] for each in cut]), np.concatenate([each[1:] for each in cut]))
                rows = slice(ends[first], ends[last])
                values[rows], right[rows] = _judged(network, batch, None)
            first = last
        ranks.sum(values)
        ranks.sum(right)
        for w, a, b in zip(plan, ends[:-1], ends[1:], strict=True):
            places = np.arange(b - a)
            is_right = right[a:b].astype(bool)
            found[w.text].append(Measured(values[a:b], is_right, places, places + w.start >= w.counted))
        return [_joined(each) for each in found]


def _together(plan: Sequence[Window]) -> Iterator[list[Window]]:
    """Windows for one pass through the network."""
    several: list[Window] = []
    rows = 0
    for window in plan:
        if several and rows + window.stop - window.start > ROWS:
            yield several
            several, rows = [], 0
        several.append(window)
        rows += window.stop - window.start
    if several:
        yield several


def _carried(network: Any, labels: Array) -> Measured:
    """A whole sequence through a recurrent network, with its state carried from piece to piece."""
    carried, found = network.new_carried(1), []
    for start in range(0, len(labels) - 1, ROWS):
        piece = labels[start : start + ROWS + 1]
        batch = Batch(piece[:-1], np.array([0, len(piece) - 1]), piece[1:], per="position")
        values, right = _judged(network, batch, ForwardContext(carried=carried))
        found.append(Measured(values, right, start + np.arange(len(values)), np.ones(len(values), bool)))
    return _joined(found)


def _judged(network: Any, batch: Batch, run: ForwardContext | None) -> tuple[Array, Array]:
    """(log p of each target, whether it is the most probable label)."""
    logits, targets = value_of(network.plain(batch, run)), batch.targets
    assert targets is not None
    check_labels("score", targets, logits.shape[1])
    values: Array = logits[np.arange(len(logits)), targets] - log_normalizer(logits)
    return values, logits.argmax(axis=1) == targets


def _packed(sequences: Sequence[Array]) -> tuple[Array, Array]:
    offsets = np.zeros(len(sequences) + 1, np.int64)
    np.cumsum([len(each) for each in sequences], out=offsets[1:])
    return np.concatenate(sequences), offsets


def _joined(found: Sequence[Measured]) -> Measured:
    if not found:
        return Measured(np.zeros(0), np.zeros(0, bool), np.zeros(0, np.int64), np.zeros(0, bool))
    return Measured(*(np.concatenate(each) for each in zip(*found, strict=True)))


def score_of(text: str, labels: Array, measured: Measured) -> TextScore:
    """The score of a text from its positions."""
    total = float(measured.log_probabilities[measured.counted].sum())
    return TextScore(text, total, len(labels), int(np.count_nonzero(labels == UNKNOWN)))
