"""A machine whose pace is given, under a clock of its own: shared by the tests of budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.batch import Batch
from dragoman.data import Batching, BatchStream
from dragoman.graph import Array
from dragoman.optimization import Adam, Cosine
from dragoman.training import Checkpoints, History, Stopping, Validation
from dragoman.training.budget import BudgetPlan
from dragoman.training.loop import Training
from tests.training.fake_time import running_at
from tests.training.perceptrons import Perceptrons, Rows
from tests.training.small_trainings import POINTS, Heard, grouped, judged_points

BUDGET = 100.0
Pace = Callable[[float], float]  # seconds of a step that begins at a time


class Machine:
    """A clock that moves when a batch is taken, as slowly as the pace says, and when the network is evaluated."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pace: Pace, evaluation: float = 0.0) -> None:
        self.seconds, self.pace, self.evaluation = 0.0, pace, evaluation
        running_at(monkeypatch, lambda: self.seconds)

    def samples(self) -> Rows:
        machine = self

        class Timed(Rows):
            def batch(self, items: Array) -> Batch:
                machine.seconds += machine.pace(machine.seconds)
                return POINTS.batch(items)

        return Timed(POINTS.x, POINTS.targets)

    def validation(self, every: int | None = None) -> Validation:
        def batches() -> Iterator[Batch]:
            self.seconds += self.evaluation
            yield from judged_points()

        return Validation(batches, every)

    def training(self, directory: Path | None = None, planned: int = 90, **more: Any) -> Training:
        """Of epochs of 4 steps, planned for a second each."""
        given: dict[str, Any] = {
            "stopping": Stopping(seconds=BUDGET),
            "validation": self.validation(10),
            "watch": Heard(),
        }
        if directory is not None:
            given["checkpoints"] = Checkpoints(directory / "checkpoints")
            given["history"] = History(directory / "history.jsonl")
        plan = BudgetPlan(BUDGET, planned, 1.0, self.evaluation)
        stream = BatchStream(self.samples(), Batching(5), seed=3)
        schedule = more.pop("schedule", Cosine(0.02, planned, planned // 10))
        return Training(Perceptrons(3, 2), stream, Adam(), schedule, **grouped({**given, "plan": plan, **more}))


def changing(after: float, factor: float) -> Pace:
    return lambda now: factor if now >= after else 1.0
