"""When a training is over, and why (thesis 5.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dragoman.errors import ConfigurationError
from dragoman.loss import Loss
from dragoman.wording import counted


@dataclass(frozen=True)
class Stopping:
    """Limits, and goals for the training error and accuracy of a round; whatever comes first. None: no such rule.

    steps, epochs, seconds   how far to go at most
    loss_goal, accuracy_goal  of the training part, over one round (an epoch, or what lies between two evaluations)
    patience                 rounds in a row without a better validation
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
                raise ConfigurationError(f"stopping: {name} is above 0, got {value}")
        if self.accuracy_goal is not None and not 0 < self.accuracy_goal <= 1:
            raise ConfigurationError(f"an accuracy goal lies between 0 and 1, got {self.accuracy_goal:g}")

    def limit(self, step: int, epochs_done: float, seconds: float) -> str | None:
        """Which limit is reached after a step, or None to go on."""
        if self.steps is not None and step >= self.steps:
            return "the one step was taken" if self.steps == 1 else f"all {self.steps:,} steps were taken"
        if self.epochs is not None and epochs_done >= self.epochs:
            return f"finished {counted(self.epochs, 'epoch')}"
        if self.seconds is not None and seconds >= self.seconds:
            return f"the budget of {format_time(self.seconds)} is used up"
        return None

    def goal(self, training: Loss, bad_evaluations: int = 0) -> str | None:
        """Which goal a round reached, or None to go on."""
        if self.loss_goal is not None and training.index <= self.loss_goal:
            return f"the loss {training.index:.4g} reached the goal {self.loss_goal:g}"
        if self.accuracy_goal is not None and math.isnan(training.hits) and math.isfinite(training.error):
            raise ConfigurationError(
                "an accuracy goal needs targets that are labels: with this error nothing is right or wrong; "
                "stop by the loss, steps, epochs or seconds"
            )
        if self.accuracy_goal is not None and training.accuracy >= self.accuracy_goal:
            return f"the accuracy {training.accuracy:.4g} reached the goal {self.accuracy_goal:g}"
        if self.patience is not None and bad_evaluations >= self.patience:
            row = "1 evaluation" if bad_evaluations == 1 else f"{bad_evaluations:,} evaluations in a row"
            return f"{row} brought nothing better (patience)"
        return None


def format_time(seconds: float) -> str:
    """3725 -> 1 h 2 min; 95 -> 1 min 35 s; 7.3 -> 7.3 s"""
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    if seconds >= 60:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{seconds:.3g} s"
