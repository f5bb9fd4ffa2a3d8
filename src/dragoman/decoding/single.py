"""Greedy search and sampling: one hypothesis per sentence, one label at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dragoman.batch import END, START
from dragoman.decoding.probabilities import FIRST, check_possible, highest, log_normalizer
from dragoman.decoding.search import Hypothesis, Request, S, SequenceNetwork
from dragoman.engines.fused_search import FREE
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.operations.dropout import ALL_BITS, GOLDEN, mix

DecodingOptions = Callable[[Array, int, Array], Array]  # logits [B, L], position t, numbers [B] -> columns [B]


@dataclass(frozen=True)
class Greedy:
    """Greedy search: the most probable label at every step (book 7.5); ties go to the lowest.

    scored  False: log-probabilities are NaN. Their sum over the vocabulary is a fifth of the work.
    """

    scored: bool = True

    def choose(self, logits: Array, t: int, numbers: Array) -> Array:
        """The column [B] of each row of logits [B, L]."""
        columns: Array = logits.argmax(axis=1)
        return columns

    def search(self, network: SequenceNetwork[S], state: S, request: Request) -> list[list[Hypothesis]]:
        found = _write(network, state, request, self.choose)
        return found if self.scored else [[replace(h, log_probability=math.nan, score=math.nan)] for (h,) in found]


@dataclass(frozen=True)
class Sampling:
    """Sampling: a label drawn at random at every step (book 7.5).

    temperature  logits are divided by it: below 1 sharper, above 1 flatter
    top_k        only the k most probable labels are drawn (of equal ones, the lowest)
    top_p        only the fewest most probable labels that have at least this probability together
    seed         the draws of a sentence depend on (seed, its number, position) and on nothing else

    Probabilities are of what may be written; top_p counts after the temperature and among the top_k. A hypothesis
    still carries the network's own log-probability, without any of these.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise ConfigurationError(
                f"a temperature must be finite and above 0, got {self.temperature}; the limit 0 is Greedy()"
            )
        if self.top_k is not None and self.top_k < 1:
            raise ConfigurationError(f"top_k keeps at least one token, got {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ConfigurationError(f"top_p is a probability above 0, got {self.top_p}")

    def search(self, network: SequenceNetwork[S], state: S, request: Request) -> list[list[Hypothesis]]:
        return _write(network, state, request, self.choose)

    def choose(self, logits: Array, t: int, numbers: Array) -> Array:
        """Draw a label for each sentence, by inverting the distribution function at a uniform draw."""
        ends = np.cumsum(self.weights(logits), axis=1)
        drawn = uniform(self.seed, t, numbers) * ends[:, -1]
        columns: Array = (ends <= drawn[:, None]).sum(axis=1)  # a label of weight 0 ends where it begins: never drawn
        return columns

    def weights(self, logits: Array) -> Array:
        """Return [B, L], weights proportional to the probability of drawing each label; 0 if it is cut off."""
        z = logits.astype(np.float64)
        best = z.max(axis=1)
        check_possible(best)
        z -= best[:, None]
        with np.errstate(over="ignore"):  # a tiny temperature: e^-inf is the 0 that is meant
            weights: Array = np.exp(z / self.temperature)
        if self.top_k is None and self.top_p is None:
            return weights
        kept, columns = self._cut(weights)
        cut = np.zeros_like(weights)
        np.put_along_axis(cut, columns, kept, axis=1)
        return cut

    def _cut(self, weights: Array) -> tuple[Array, Array]:
        """Return the weights of the most probable labels, 0 beyond top_p, and their columns: [B, K], best first."""
        count = self.top_k or 64
        kept, columns = highest(weights, count)
        if self.top_p is None:
            return kept, columns
        enough = self.top_p * (weights if self.top_k is None else kept).sum(axis=1)
        together = np.cumsum(kept, axis=1)
        while self.top_k is None and count < weights.shape[1] and (together[:, -1] < enough).any():
            count *= 8  # few labels are enough as a rule; sorting all of them costs more than the step itself
            kept, columns = highest(weights, count)
            together = np.cumsum(kept, axis=1)
        return np.where(together - kept < enough[:, None], kept, 0), columns


def uniform(seed: int, t: int, numbers: Array) -> Array:
    """Return [B] draws in (0, 1), hashed so that the draws of a sentence do not depend on the others."""
    key = np.zeros(1, np.uint32)
    for word in (seed, seed >> 32, t):
        key = mix(key + np.uint32(word & ALL_BITS) + np.uint32(GOLDEN))
    low, high = (numbers & ALL_BITS).astype(np.uint32), (numbers >> 32 & ALL_BITS).astype(np.uint32)
    return (mix(mix(key + low) + high) + 0.5) / 2**32


def _write(network: SequenceNetwork[S], state: S, request: Request, choose: DecodingOptions) -> list[list[Hypothesis]]:
    """Write label by label until every sentence has ended or is full; finished ones leave the batch."""
    totals, lengths = np.zeros(len(state)), np.zeros(len(state), np.int64)
    finished = np.zeros(len(state), bool)
    written: list[Array] = []  # for each position, the labels [B] of all sentences
    active, labels, t = np.arange(len(state)), np.full(len(state), START), 0  # the sentences behind the state's rows
    while len(active):
        logits, state = network.step(state, labels)
        normalizer = log_normalizer(logits)
        forced = request.forced(t, logits.shape[1])
        labels = np.where(forced == FREE, choose(logits[:, FIRST:], t, request.numbers) + FIRST, forced)
        chosen = logits[np.arange(len(logits)), labels] - normalizer
        check_possible(chosen)

        ends, full = labels == END, request.longest == t
        goes_on = ~ends & ~full
        totals[active] += np.where(ends | ~full, chosen, 0)  # a label beyond the maximum does not count
        finished[active] = ends
        lengths[active] += goes_on
        written.append(np.zeros_like(totals, np.int64))
        written[-1][active] = labels
        if not goes_on.all():
            rows = np.flatnonzero(goes_on)
            active, labels, state, request = active[rows], labels[rows], state.select(rows), request.select(rows)
        t += 1
    table = np.stack(written, axis=1)
    return [[Hypothesis.of(table[i, : lengths[i]], totals[i], finished[i])] for i in range(len(table))]
