"""Validation: evaluate a network while it is trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, Loss, LossIndex
from dragoman.loss.index import Error
from dragoman.networks import Network
from dragoman.ranks import ALONE, Ranks
from dragoman.training.carrying import carried_states
from dragoman.training.workers import Workers


@dataclass(frozen=True)
class Validation:
    """Evaluates a network while it is trained (thesis 6.1).

    batches  the validation part, the same each time
    every    steps between evaluations; None: every epoch
    best_by  error (low is good), accuracy, or a name that `scores` gives (high is good)
    scores   what else to measure of the network
    error    how outputs are compared with targets
    """

    batches: Callable[[], Iterable[Batch]]
    every: int | None = None
    best_by: str = "error"
    scores: Callable[[Network], dict[str, float]] | None = None
    error: Error = field(default_factory=CrossEntropy)

    def evaluate(self, network: Network, workers: Workers | None = None, ranks: Ranks = ALONE) -> Loss:
        """Compute the error without smoothing, dropout or regularization; every rank takes some of the batches."""
        loss_mean, plain, workers = LossMean(), LossIndex(self.error), workers or Workers()
        batches, carried = iter(self.batches()), None
        first = next(batches, None)
        if first is None:
            return loss_mean.total()
        batches = chain([first], batches)
        if first.continues is None:
            batches = islice(batches, ranks.rank, None, ranks.size)
        else:
            ranks = ALONE  # each batch needs the states that the one before has left
        while several := list(islice(batches, 4 * workers.threads)):
            if several[0].continues is None:
                for loss in workers.map(lambda batch: plain.evaluate(network, batch), several):
                    loss_mean.add(loss)
                continue
            for batch in several:  # one after the other: each begins with the states that the last one left
                carried = carried_states(network, batch.continues, len(batch), carried)
                loss_mean.add(plain.evaluate(network, batch, ForwardContext(carried=carried)))
        return loss_mean.of_all(ranks).total()

    def score(self, loss: Loss, scores: dict[str, float]) -> float:
        """Return the value that `best` maximizes."""
        values = {"error": -loss.error, "accuracy": loss.accuracy} | scores
        if self.best_by not in values:
            raise ConfigurationError(f"best_by must be one of {', '.join(values)}, got '{self.best_by}'")
        return values[self.best_by]


@dataclass
class LossMean:
    """The mean loss of several batches, weighted by their positions."""

    error: float = 0.0
    hits: float = 0.0
    positions: float = 0.0
    last: Loss | None = None
    batches: int = 0

    def add(self, loss: Loss) -> None:
        self.error += loss.error * loss.positions
        self.hits += loss.hits
        self.positions += loss.positions
        self.last = loss
        self.batches += 1

    def of_all(self, ranks: Ranks) -> LossMean:
        """The mean over the batches of all ranks."""
        if ranks.size == 1:
            return self
        own = self.error, self.hits, self.positions, self.batches
        error, hits, positions, batches = ranks.gather(own).sum(axis=0)
        last = self.last or Loss(0.0, 0.0, 0.0, 0.0)
        if batches == 1 and positions:
            last = Loss(error / positions, 0.0, hits, positions)
        return LossMean(float(error), float(hits), float(positions), last if batches else None, int(batches))

    def total(self) -> Loss:
        if self.last is None:
            return Loss(math.nan, 0.0, 0.0, 0.0)
        if self.batches == 1:
            return self.last
        mean = self.error / self.positions if self.positions else math.nan
        return replace(self.last, error=mean, hits=self.hits, positions=self.positions)
