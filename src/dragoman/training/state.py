"""The progress of a training, and the validated state in a checkpoint."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from dragoman.errors import FileFormatError
from dragoman.loss import Loss
from dragoman.training.validation import LossMean


@dataclass
class Progress:
    """How far a training has come, besides its arrays and its position in the data.

    loss_mean, busy, tokens  since the last evaluation: its loss, the seconds spent in steps, the tokens read
    bad_evaluations          in a row, since the best one
    seconds                  of training until it was resumed last
    ended                    why training is over, or None
    last                     training loss between the last two evaluations
    """

    loss_mean: LossMean = field(default_factory=LossMean)
    best_score: float = -math.inf
    bad_evaluations: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    busy: float = 0.0
    tokens: int = 0
    ended: str | None = None
    last: Loss | None = None

    def compare(self, score: float) -> bool:
        """Count an evaluation as the best or as a bad one."""
        best = score > self.best_score
        self.best_score, self.bad_evaluations = (score, 0) if best else (self.best_score, self.bad_evaluations + 1)
        return best

    def end_evaluation(self, training: Loss, ended: str | None) -> None:
        """Reset what is measured between two evaluations."""
        self.evaluations += 1
        self.ended, self.last = ended, training if training.positions else None
        self.loss_mean, self.busy, self.tokens = LossMean(), 0.0, 0

    def state(self) -> dict[str, Any]:
        """Return the progress for a checkpoint."""
        mean = self.loss_mean
        return {
            "loss_mean": [mean.error, mean.hits, mean.positions, mean.batches],
            "best_score": self.best_score if math.isfinite(self.best_score) else None,
            "bad_evaluations": self.bad_evaluations,
            "evaluations": self.evaluations,
            "tokens": self.tokens,
            "busy": self.busy,
            "seconds": self.seconds,
            "ended": self.ended,
            "last": self.last and asdict(self.last),
        }

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """Restore the progress from a checkpoint."""
        error, hits, positions, batches = state["loss_mean"]
        return cls(
            LossMean(error, hits, positions, Loss(0.0, 0.0, 0.0, 0.0) if batches else None, batches),
            -math.inf if state["best_score"] is None else state["best_score"],
            state["bad_evaluations"],
            state["evaluations"],
            state["seconds"],
            state["busy"],
            state["tokens"],
            state["ended"],
            None if state["last"] is None else Loss(**state["last"]),
        )


class StateError(FileFormatError):
    """A value of a state that is missing or of the wrong type."""


Count = Annotated[int, Field(ge=0, le=10**12)]
TWO = Field(min_length=2, max_length=2)


class Strict(BaseModel):
    """Validation without conversion between types."""

    model_config = ConfigDict(strict=True, extra="forbid")


class StreamState(Strict):
    seed: int = Field(ge=0)
    epoch: Count
    position: Count


class PlateauState(Strict):
    rate: FiniteFloat = Field(ge=0)
    best: float  # infinity before the first observation
    bad_evaluations: Count


class LearnedState(Strict):
    """A rate that is learned with the weights."""

    rate: FiniteFloat = Field(ge=0)


class PlanState(Strict):
    """The plan of a time budget."""

    budget: FiniteFloat | None
    steps: Count
    step_seconds: FiniteFloat | None
    evaluation_seconds: FiniteFloat
    new_plans: list[Annotated[list[Count], TWO]]


class ReplannedState(Strict):
    """A schedule whose end was changed."""

    peak: FiniteFloat
    steps: Count
    warm_up: Count
    replans: list[Annotated[list[FiniteFloat], TWO]]


class LossState(Strict):
    """NaN where there was nothing to measure."""

    error: float
    regularization: float
    hits: float
    positions: float


class SavedState(Strict):
    """`Training.state()`; other values are allowed and ignored."""

    model_config = ConfigDict(extra="allow")

    layout: str
    optimizer: str
    step: Count
    age: Count
    stream: StreamState | None
    schedule: PlateauState | None = None
    learned: LearnedState | None = None
    plan: PlanState | None = None
    replanned: ReplannedState | None = None
    loss_mean: list[float] = Field(min_length=4, max_length=4)
    best_score: FiniteFloat | None
    bad_evaluations: Count
    evaluations: Count
    tokens: Count
    busy: FiniteFloat
    seconds: FiniteFloat
    ended: str | None
    last: LossState | None
    ranks: int = Field(default=1, ge=1, le=10**6)


def check_state(state: dict[str, Any]) -> None:
    """Raise a StateError that names each value that is missing or wrong."""
    try:
        SavedState.model_validate(state)
    except ValidationError as error:
        wrong = [
            f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}"
            + ("" if mistake["type"] == "missing" else f" (got {mistake['input']!r:.60})")
            for mistake in error.errors()
        ]
        raise StateError("; ".join(wrong)) from None
