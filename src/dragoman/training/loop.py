"""The training loop: batches, gradient, step, until a stopping rule says why it is over."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dragoman.batch import Batch
from dragoman.layers import Run
from dragoman.loss import Loss, LossIndex
from dragoman.networks import Network
from dragoman.operations import Noise
from dragoman.optimization import Optimizer, Plateau, Schedule, clip_gradient


@dataclass(frozen=True)
class Stopping:
    """When to stop (thesis 5.1): after so many steps, or as soon as a batch reaches a goal."""

    steps: int
    loss_goal: float | None = None
    accuracy_goal: float | None = None

    def reason(self, t: int, loss: Loss) -> str | None:
        """Why to stop after step t, or None to go on."""
        if self.loss_goal is not None and loss.index <= self.loss_goal:
            return f"the loss {loss.index:.4g} reached the goal {self.loss_goal:g}"
        if self.accuracy_goal is not None and loss.accuracy >= self.accuracy_goal:
            return f"the accuracy {loss.accuracy:.4g} reached the goal {self.accuracy_goal:g}"
        if t >= self.steps:
            return f"all {self.steps} steps were taken"
        return None


@dataclass
class Outcome:
    """What a training did: the loss and gradient norm of every step, and why it ended."""

    losses: list[Loss] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    reason: str = "there were no more batches"


def train(
    network: Network,
    batches: Iterable[Batch],
    optimizer: Optimizer,
    schedule: Schedule,
    stopping: Stopping,
    loss_index: LossIndex | None = None,
    clip: float = math.inf,
    seed: int = 0,
    on_step: Callable[[int, Loss], None] | None = None,
) -> Outcome:
    """Minimise the loss index over a stream of batches; theta changes in place."""
    loss_index = loss_index or LossIndex()
    outcome = Outcome()
    if optimizer.t >= stopping.steps:
        outcome.reason = f"all {stopping.steps} steps were taken"
        return outcome
    for batch in batches:
        t = optimizer.t + 1
        loss, gradient = loss_index.differentiate(network, batch, Run(Noise(seed, t)))
        norm = clip_gradient(network.theta, gradient, clip)
        optimizer.update(network.theta, gradient, schedule(t))
        if isinstance(schedule, Plateau):
            schedule.observe(loss.index)
        outcome.losses.append(loss)
        outcome.norms.append(norm)
        if on_step is not None:
            on_step(t, loss)
        reason = stopping.reason(t, loss)
        if reason is not None:
            outcome.reason = reason
            break
    return outcome
