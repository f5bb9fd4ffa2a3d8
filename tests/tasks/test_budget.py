"""A translator trained within a time budget, on a machine that becomes slower."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from dragoman.batch import Batch
from dragoman.data.dataset import Part
from dragoman.graph import Array
from dragoman.loss import Loss
from dragoman.tasks import decisions
from dragoman.tasks.configuration import resolved
from dragoman.tasks.model import load_metadata
from dragoman.tasks.planning import Speed
from dragoman.tasks.training import train_model
from dragoman.training import Callback
from dragoman.training.checkpoints import Checkpoints
from dragoman.training.interrupts import Interrupts
from dragoman.training.loop import Training
from tests.tasks.models import tiny, told_history
from tests.training.fake_time import running_at

GIVEN = tiny({"stopping": {"epochs": None, "budget": "100s"}, "data": {"protect": False}})


class Machine(Callback):
    """One second a step as measured, from half of the budget on 2.2; Ctrl-C after a step, if asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds, self.interrupt_at, self.interrupts = 0.0, 0, Interrupts()
        whole = Part.batch

        def batch(part: Part, items: Array) -> Batch:
            if len(part) > 200:
                self.seconds += 2.2 if self.seconds > 50 else 1.0
            return whole(part, items)

        monkeypatch.setattr(Part, "batch", batch)
        running_at(monkeypatch, lambda: self.seconds)
        monkeypatch.setattr(decisions, "measure", lambda *_: Speed(1000, 1.0, 100.0, 10, 0.0, 2**20))

    def step(self, step: int, loss: Loss, training: Training) -> None:
        if step == self.interrupt_at:
            self.interrupts.signal = signal.SIGINT

    def train(self, out: Path, given: dict[str, Any] = GIVEN, interrupt_at: int = 0) -> tuple[Any, list[str]]:
        told: list[str] = []
        self.interrupt_at, self.interrupts = interrupt_at, Interrupts()
        return train_model(given, out, self, self.interrupts, told.append)[1], told


def test_the_rate_falls_to_its_end_on_a_machine_that_becomes_slower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch)
    outcome, told = machine.train(tmp_path / "model")
    history = told_history(tmp_path / "model")
    steps = load_metadata(tmp_path / "model").training["steps"]
    assert outcome.reason == f"finished {steps} steps"
    assert history[-1]["rate"] == pytest.approx(0, abs=1e-6)
    assert 85 < machine.seconds <= 100
    assert steps < 75
    assert history[-1]["planned_steps"] == steps
    assert any("new_plans" in line for line in history)
    settings = resolved(tmp_path / "model" / "configuration.toml")
    assert (settings.stopping.steps, settings.optimizer.schedule_steps) == (None, 90)
    assert any("about 90 steps, planned again when the pace changes" in text for text in told)
    found = Checkpoints(tmp_path / "model" / "checkpoints").load()
    assert found is not None
    assert found[1]["plan"]["steps"] == steps
    again, _ = machine.train(tmp_path / "model")
    assert (again.records, again.reason) == ([], outcome.reason)


def test_a_resumed_training_keeps_its_plan_and_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    machine.train(tmp_path / "model", interrupt_at=62)
    found = Checkpoints(tmp_path / "model" / "checkpoints").load()
    assert found is not None
    plan = found[1]["plan"]["steps"]
    assert plan < 90
    machine.seconds += 1e6  # a pause does not count
    without = tiny({"stopping": {"epochs": None}, "data": {"protect": False}})
    machine.train(tmp_path / "model", without)
    assert load_metadata(tmp_path / "model").training["steps"] == plan, "without the budget the plan stays"
    assert told_history(tmp_path / "model")[-1]["rate"] == pytest.approx(0, abs=1e-6)


def test_a_larger_budget_continues_a_finished_training_with_a_new_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch)
    machine.train(tmp_path / "model")
    steps = load_metadata(tmp_path / "model").training["steps"]
    machine.seconds += 1e6  # a pause does not count
    longer = tiny({**GIVEN, "stopping": {"epochs": None, "budget": "200s"}})
    outcome, _ = machine.train(tmp_path / "model", longer)
    history = told_history(tmp_path / "model")
    assert outcome.reason == f"finished {history[-1]['step']} steps"
    assert history[-1]["step"] > steps + 30
    assert 170 < load_metadata(tmp_path / "model").training["seconds"] <= 200
    assert max(line["rate"] for line in history if line["step"] > steps) > 0.001, "it learns on"
    assert history[-1]["rate"] == pytest.approx(0, abs=1e-6)
    again, _ = machine.train(tmp_path / "model", longer)
    assert (again.records, again.reason) == ([], outcome.reason)
