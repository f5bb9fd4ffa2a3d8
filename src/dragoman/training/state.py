"""The state of a training as a checkpoint keeps it: what each value must be, checked before any of it is used."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from dragoman.errors import FileFormatError


class StateError(FileFormatError):
    """A value of a state that is missing or of the wrong type."""


Count = Annotated[int, Field(ge=0, le=10**12)]
TWO = Field(min_length=2, max_length=2)


class Strict(BaseModel):
    """A number is not read from a text, nor a count from a fraction."""

    model_config = ConfigDict(strict=True, extra="forbid")


class StreamState(Strict):
    seed: int = Field(ge=0)
    epoch: Count
    position: Count


class PlateauState(Strict):
    rate: FiniteFloat = Field(ge=0)
    best: float  # infinity before the first observation
    bad_evaluations: Count


class PlanState(Strict):
    """The plan of a time budget."""

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
    """`Training.state()`; what it does not name is left to whoever wrote it."""

    model_config = ConfigDict(extra="allow")

    layout: str
    optimizer: str
    step: Count
    age: Count
    stream: StreamState | None
    schedule: PlateauState | None = None
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


RENAMED = {"tally": "loss_mean", "merit": "best_score", "waited": "bad_evaluations", "rounds": "evaluations"}


def with_current_names(state: dict[str, Any]) -> dict[str, Any]:
    """A state with the keys of this version: version 0.1.0 had other names for some."""
    renamed = {RENAMED.get(name, name): value for name, value in state.items()}
    if isinstance(renamed.get("schedule"), dict):
        renamed["schedule"] = {RENAMED.get(name, name): value for name, value in renamed["schedule"].items()}
    return renamed


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
