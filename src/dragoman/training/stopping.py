"""When a training is over, and why (thesis 5.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dragoman.errors import ConfigurationError
from dragoman.loss import Loss
from dragoman.wording import counted


@dataclass(frozen=True)
class Stopping:
    """Stopping rules: limits, and goals for the training error and accuracy; the first one met stops. None: no rule.

    steps, epochs, seconds   limits
    loss_goal, accuracy_goal  of the training part, over the steps between two evaluations (an epoch)
    patience                 evaluations in a row without an improvement
    """

    steps: int | None = None
    loss_goal: float | None = None
    accuracy_goal: float | None = None
    epochs: int | None = None
    seconds: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        for name in ("steps", "epochs", "seconds", "patience"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"stopping: {name} must be above 0, got {value}")
        if self.accuracy_goal is not None and not 0 < self.accuracy_goal <= 1:
            raise ConfigurationError(f"an accuracy goal must be between 0 and 1, got {self.accuracy_goal:g}")

    def limit(self, step: int, epochs_done: float, seconds: float) -> str | None:
        """Return which limit is reached after a step, or None."""
        if self.steps is not None and step >= self.steps:
            return f"finished {counted(self.steps, 'step')}"
        if self.epochs is not None and epochs_done >= self.epochs:
            return f"finished {counted(self.epochs, 'epoch')}"
        if self.seconds is not None and seconds >= self.seconds:
            return f"the time budget of {format_time(self.seconds)} is used up"
        return None

    def goal(self, training: Loss, bad_evaluations: int = 0) -> str | None:
        """Return which goal is reached at an evaluation, or None."""
        if self.loss_goal is not None and training.index <= self.loss_goal:
            return f"the loss {training.index:.4g} reached the goal {self.loss_goal:g}"
        if self.accuracy_goal is not None and math.isnan(training.hits) and math.isfinite(training.error):
            raise ConfigurationError(
                "an accuracy goal needs targets that are labels: with this error there is no accuracy; "
                "stop by the loss, steps, epochs or seconds"
            )
        if self.accuracy_goal is not None and training.accuracy >= self.accuracy_goal:
            return f"the accuracy {training.accuracy:.4g} reached the goal {self.accuracy_goal:g}"
        if self.patience is not None and bad_evaluations >= self.patience:
            row = "1 evaluation" if bad_evaluations == 1 else f"{bad_evaluations:,} evaluations in a row"
            return f"no improvement in {row} (patience)"
        return None


def format_time(seconds: float) -> str:
    """3725 -> 1 h 2 min; 95 -> 1 min 35 s; 7.3 -> 7.3 s"""
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    if seconds >= 60:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{seconds:.3g} s"
