"""One training step: the gradient of a batch, or of several, clipped, and one update of the parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.layers import CarriedStates, ForwardContext
from dragoman.loss import Loss, LossIndex
from dragoman.networks import Network
from dragoman.operations import DropoutKey
from dragoman.optimization import LearnedRate, Optimizer, Schedule, clipping_factor, gradient_norm
from dragoman.ranks import ALONE, Ranks
from dragoman.training.averaging import follow
from dragoman.training.carrying import carried_states, exchange_states
from dragoman.training.placing import placed
from dragoman.training.scheduled import StepwiseDecoder, with_own_outputs
from dragoman.training.validation import LossMean
from dragoman.training.workers import Workers


@dataclass(frozen=True)
class StepSettings:
    """How a step is made.

    clip                the largest norm of a gradient; a larger gradient is scaled down to it
    seed                of dropout and scheduled sampling
    accumulate          batches whose gradients make one step
    averaging           decay of the moving average of theta that is evaluated and kept; 0: theta itself
    scheduled_sampling  share of the tokens a decoder reads that are its own outputs, after t steps
    """

    clip: float = math.inf
    seed: int = 0
    accumulate: int = 1
    averaging: float = 0.0
    scheduled_sampling: Callable[[int], float] = lambda t: 0.0

    def __post_init__(self) -> None:
        if self.accumulate < 1:
            raise ConfigurationError(f"a step takes at least one batch, got accumulate = {self.accumulate}")
        if not 0 <= self.averaging < 1:
            raise ConfigurationError(f"averaging is at least 0 and below 1, got {self.averaging}")


@dataclass(frozen=True)
class StepOutcome:
    """The loss of a step, the norm of its gradient before clipping, its learning rate, and the tokens it read."""

    loss: Loss
    norm: float
    rate: float
    tokens: int


class TrainingStep:
    """Takes training steps: `optimizer.t` counts them, `average` is the moving average of theta, if there is one.

    carried  the states that the last batch left to the next one (truncated back-propagation), or None
    change   how the last step changed theta, if the rate is learned from it, or None
    """

    def __init__(
        self,
        network: Network,
        optimizer: Optimizer,
        loss_index: LossIndex,
        workers: Workers,
        settings: StepSettings,
        ranks: Ranks = ALONE,
    ) -> None:
        self.network, self.optimizer, self.loss_index = network, optimizer, loss_index
        self.workers, self.settings, self.ranks = workers, settings, ranks
        self.average: Array | None = network.theta.values.copy() if settings.averaging else None
        self.carried: CarriedStates | None = None
        self.change: Array | None = None

    def take(self, batches: Iterable[Batch], schedule: Schedule) -> StepOutcome | None:
        """Update the parameters once with the gradients of these batches; None if there are none."""
        loss_mean, tokens, accumulate = LossMean(), 0, self.settings.accumulate
        gradient: Array | None = None
        for batch in batches:
            key = DropoutKey(self.settings.seed, self.optimizer.t * accumulate + loss_mean.batches + 1)
            loss, found, read = self.differentiate(batch, key)
            if accumulate > 1:
                found = found * loss.positions  # a copy: the next batch overwrites the gradient
            gradient = found if gradient is None else gradient + found
            loss_mean.add(loss)
            tokens += read
        if gradient is None:
            return None
        if accumulate > 1:
            self.ranks.reduction(self.network.theta, gradient).finish()
        if accumulate > 1 and loss_mean.positions:
            gradient /= loss_mean.positions
        norm, rate = self._update(gradient, schedule)
        return StepOutcome(loss_mean.total(), norm, rate, tokens)

    def differentiate(self, batch: Batch, key: DropoutKey) -> tuple[Loss, Array, int]:
        """The loss of a batch of which this rank has a part, its gradient, and the tokens that were read.

        Where several batches make a step, the gradient is that of this rank's part: they are summed once a step.
        """
        share, network = self.settings.scheduled_sampling(self.optimizer.t), self.network
        found = placed(batch, self.ranks)

        def prepare(shard: Batch) -> Batch:
            return with_own_outputs(cast(StepwiseDecoder, network), shard, share, key) if share else shard

        self.carried = carried_states(network, found.continues, found.sequences, self.carried)
        run = ForwardContext(key, carried=self.carried)
        loss, gradient = self.workers.differentiate(
            self.loss_index, network, found.batch, run, prepare, found.weight, self.ranks, self.settings.accumulate == 1
        )
        exchange_states(self.carried, found.batch, self.ranks)
        return loss, gradient, found.tokens

    def _update(self, gradient: Array, schedule: Schedule) -> tuple[float, float]:
        """Change theta, the moments and the average; returns the norm of the gradient and the learning rate."""
        theta, each = self.network.theta, self.workers.map
        norm = gradient_norm(theta, gradient, each)
        factor = clipping_factor(norm, self.settings.clip)
        before: Array | None = None
        if isinstance(schedule, LearnedRate):
            schedule.learn(self._cosine(gradient, norm))
            before = theta.values.copy()
        rate = schedule(self.optimizer.t + 1)
        self.optimizer.update(theta, gradient, rate, each, factor)
        if self.optimizer.span is not None:
            for rank, span in enumerate(self.ranks.spans(len(theta))):
                self.ranks.broadcast(theta.values[span], rank)
        if before is not None:
            self.change = theta.values - before
        if self.average is not None:
            decay = min(self.settings.averaging, self.optimizer.t / (self.optimizer.t + 9))
            follow(self.average, theta, decay, each)
        return norm, rate

    def _cosine(self, gradient: Array, norm: float) -> float:
        """Between a gradient of this norm and the last change of theta; 0 before the first step."""
        if self.change is None:
            return 0.0
        segments = self.network.theta.trainable()
        along = sum(float(gradient[s] @ self.change[s]) for s in segments)
        size = norm * math.sqrt(sum(float(self.change[s] @ self.change[s]) for s in segments))
        return along / size if size else 0.0
