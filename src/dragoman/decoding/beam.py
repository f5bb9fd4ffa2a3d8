"""Beam search: continue several prefixes of every sentence in parallel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dragoman.batch import END, START
from dragoman.decoding.probabilities import FIRST, check_possible, highest, log_normalizer
from dragoman.decoding.search import Hypothesis, Request, S, SequenceNetwork
from dragoman.engines.fused_search import FREE
from dragoman.errors import ConfigurationError
from dragoman.graph import Array


@dataclass(frozen=True)
class Beam:
    """Beam search: the best `width` prefixes of a sentence are continued at every step (book 7.5); width 1 is greedy.

    Of the best 2 width continuations, those that end and are among the first `width` are finished hypotheses; the best
    `width` of the others go on. A sentence is done when it has `width` finished hypotheses and no prefix stands better
    than those that are returned, or at its maximum length, where the prefixes that do not end are hypotheses too.

    length_penalty  hypotheses are ranked by log_probability / length**length_penalty: 0 favours short ones, 1 compares
                    the mean of their labels
    best            maximum number of hypotheses to return per sentence
    """

    width: int = 4
    length_penalty: float = 1.0
    best: int = 1

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ConfigurationError(f"the width of a beam must be at least 1, got {self.width}")
        if not 1 <= self.best <= self.width:
            raise ConfigurationError(
                f"a beam of width {self.width} can return 1 to {self.width} hypotheses, not {self.best}"
            )
        if not np.isfinite(self.length_penalty):
            raise ConfigurationError(f"the length penalty must be finite, got {self.length_penalty}")

    def search(self, network: SequenceNetwork[S], state: S, request: Request) -> list[list[Hypothesis]]:
        """Search; the rows of the state are the beams of the first sentence, then those of the second, ..."""
        found: list[list[Hypothesis]] = [[] for _ in range(len(state))]
        active, beams = found, Beams(np.zeros((len(state), 1)), np.full((len(state), 1, 1), START))
        while active:
            logits, state = network.step(state, beams.written[:, :, -1].ravel())
            forced = request.forced(beams.length, logits.shape[1])
            candidates = continuations(logits, beams.totals, forced, 2 * self.width)
            full = request.longest == beams.length
            self._collect(active, beams, candidates, full)
            rows = np.flatnonzero(~full & ~self._is_done(active, beams, candidates))
            beams, origins = beams.extend(candidates, rows, self.width)
            if not np.array_equal(origins, np.arange(len(state))):
                state = state.select(origins)
            active, request = [active[i] for i in rows], request.select(rows)
        return [sorted(hypotheses, key=lambda h: -h.score)[: self.best] for hypotheses in found]

    def _collect(self, active: list[list[Hypothesis]], beams: Beams, candidates: Candidates, full: Array) -> None:
        """Turn candidates that end into hypotheses, and all beams of sentences at their maximum length."""
        ending = candidates.ends & (np.arange(candidates.ends.shape[1]) < self.width)
        unfinished = full[:, None] & (beams.totals > -np.inf)
        for i, place in np.argwhere(ending):
            beam = candidates.beams[i, place]
            unfinished[i, beam] = False
            active[i].append(self._hypothesis(beams.written[i, beam], candidates.totals[i, place], True))
        for i, beam in np.argwhere(unfinished):
            active[i].append(self._hypothesis(beams.written[i, beam], beams.totals[i, beam], False))

    def _is_done(self, active: list[list[Hypothesis]], beams: Beams, candidates: Candidates) -> Array:
        """Return [B], whether a sentence has its final hypotheses.

        Stopping as soon as `width` have finished, as some programs do, can lose the best one: if the network is sure of
        a long sentence, the other beams are improbable and some of them end early.
        """
        best = np.where(candidates.continues, candidates.totals, -np.inf).max(axis=1)
        settled: Array = np.isneginf(best)
        for i, standing in enumerate(best / (beams.length + 1) ** self.length_penalty):
            if len(active[i]) >= self.width:
                settled[i] |= standing <= sorted(h.score for h in active[i])[-self.best]
        return settled

    def _hypothesis(self, written: Array, total: float, finished: bool) -> Hypothesis:
        return Hypothesis.of(written[1:], total, finished, self.length_penalty)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The best continuations of each sentence, best first.

    totals [B, K] log-probabilities, -inf where there are fewer
    beams  [B, K] the beam to continue ...
    labels [B, K] ... with which label
    """

    totals: Array
    beams: Array
    labels: Array

    @property
    def ends(self) -> Array:
        ends: Array = (self.labels == END) & (self.totals > -np.inf)
        return ends

    @property
    def continues(self) -> Array:
        continues: Array = (self.labels != END) & (self.totals > -np.inf)
        return continues


@dataclass(frozen=True, eq=False)
class Beams:
    """The active prefixes, best first.

    totals [B, W] log-probabilities, -inf where a sentence has fewer   written [B, W, 1 + t] start and t labels
    W is what the fullest sentence has: 1 at the start and through a prefix, so that nothing is computed twice.
    """

    totals: Array
    written: Array

    @property
    def length(self) -> int:
        """Number of labels written so far, t."""
        return int(self.written.shape[2]) - 1

    def extend(self, candidates: Candidates, rows: Array, width: int) -> tuple[Beams, Array]:
        """Return the best `width` candidates that do not end, and the row of the state that each comes from."""
        continues = candidates.continues[rows]
        places = np.argsort(~continues, axis=1, kind="stable")[:, : min(width, continues.sum(axis=1).max(initial=0))]
        rows = rows[:, None]
        beams, labels = candidates.beams[rows, places], candidates.labels[rows, places]
        totals = np.where(np.take_along_axis(continues, places, axis=1), candidates.totals[rows, places], -np.inf)
        written = np.concatenate((self.written[rows, beams], labels[:, :, None]), axis=2)
        return Beams(totals, written), (rows * self.totals.shape[1] + beams).ravel()


def continuations(logits: Array, totals: Array, forced: Array, count: int) -> Candidates:
    """Return the best `count` continuations per sentence; ties go to the better beam, then to the lower label.

    logits [B W, V]   totals [B, W]   forced [B], the label that a sentence must continue with, or FREE
    """
    normalizer = log_normalizer(logits)
    values, columns = highest(logits[:, FIRST:], count)  # the best of a sentence are among the best of its beams
    labels = columns + FIRST
    held = np.repeat(forced, totals.shape[1])
    rows = np.flatnonzero(held != FREE)
    values[rows, 1:] = -np.inf
    values[rows, 0], labels[rows, 0] = logits[rows, held[rows]], held[rows]

    sums = (totals.reshape(-1, 1) + (values - normalizer[:, None])).reshape(len(totals), -1)
    order = np.argsort(-sums, axis=1, kind="stable")[:, :count]
    best = np.take_along_axis(sums, order, axis=1)
    check_possible(best[:, 0])
    return Candidates(
        best, order // values.shape[1], np.take_along_axis(labels.reshape(len(totals), -1), order, axis=1)
    )
