"""A time budget on a machine whose pace changes: the learning rate reaches its end in time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.loss import Loss
from dragoman.optimization import Constant
from dragoman.training import History, Outcome, Stopping
from dragoman.training.budget import BudgetPlan
from dragoman.training.loop import Training
from tests.training.machines import BUDGET, Machine, Pace, changing
from tests.training.small_trainings import After, Heard, left_in


def check_ended_in_time(training: Training, outcome: Outcome) -> None:
    assert outcome.reason == f"finished {training.optimizer.t} steps", "not the clock"
    assert training.rate < 1e-4 * 0.02
    assert 0.84 * BUDGET <= training.now() <= BUDGET


@pytest.mark.parametrize("every", [10, 1000], ids=["evaluated often", "evaluated at the end alone"])
@pytest.mark.parametrize(
    "pace",
    [
        changing(40, 2.2),
        changing(0, 2.2),
        changing(3, 2.2),
        changing(75, 4.0),
        changing(0, 9.0),
        changing(40, 0.3),
        changing(0, 0.1),
        lambda now: 3.0 if 20 < now < 50 else 1.0,
        lambda now: 12.0 if 60 < now < 65 else 1.0,
        lambda now: 1.0 + now / 50,
    ],
    ids=[
        "2.2 from 40",
        "2.2",
        "2.2 from 3",
        "4 from 75",
        "9",
        "0.3 from 40",
        "0.1",
        "3 for a while",
        "stall",
        "slower",
    ],
)
def test_the_rate_reaches_its_end_within_the_budget_whatever_the_pace_does(
    pace: Pace, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch, pace)
    training = machine.training(validation=machine.validation(every))
    check_ended_in_time(training, training.run())


def test_evaluations_that_take_longer_than_measured_are_planned_for(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, lambda now: 1.0)
    training = machine.training()
    machine.evaluation = 8.0
    check_ended_in_time(training, training.run())


def test_a_steady_pace_keeps_the_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    training = Machine(monkeypatch, lambda now: 1.04 if int(now) % 2 else 0.97).training(tmp_path)
    training.run()
    assert training.optimizer.t == 90
    assert all(line["planned_steps"] == 90 for line in History(tmp_path / "history.jsonl").lines())
    assert all("new_plans" not in line for line in History(tmp_path / "history.jsonl").lines())


def test_a_faster_machine_takes_more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Machine(monkeypatch, changing(10, 0.5)).training()
    training.run()
    assert training.optimizer.t > 150


def test_every_new_plan_is_in_the_history_and_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    training, heard = Machine(monkeypatch, changing(40, 2.2)).training(tmp_path, watch=Heard()), Heard()
    training.watch = heard
    training.run()
    lines = History(tmp_path / "history.jsonl").lines()
    plans = [plan for line in lines for plan in line.get("new_plans", [])]
    assert 1 <= len(plans) <= 6
    assert 1 <= len(heard.notices) <= len(plans), "small changes are in the history alone"
    assert "steps are planned instead of 90 to fit into 1 min 40 s" in heard.notices[0]
    assert lines[-1]["planned_steps"] == plans[-1][1] == training.optimizer.t
    assert all(0 < step < planned for step, planned in plans)


def test_the_rate_never_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []

    class Rates(Heard):
        def step(self, step: int, loss: Loss, training: Training) -> None:
            rates.append(training.rate)

    Machine(monkeypatch, lambda now: 3.0 if 20 < now < 50 else 1.0).training(watch=Rates()).run()
    falls = np.diff(rates)
    assert (falls[8:] <= 0).all()
    assert np.abs(falls[8:]).max() < 0.15 * max(rates)


def test_a_resumed_training_goes_on_with_the_plan_of_its_checkpoint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Interrupted after the plan has changed: the same bits as a run that was not, while the clock says the same."""
    whole = Machine(monkeypatch, changing(20, 2.2)).training(tmp_path / "whole")
    whole.run()
    interrupted = Machine(monkeypatch, changing(20, 2.2)).training(tmp_path / "resumed", interrupted=After(33))
    assert interrupted.run().reason == "asked to stop"
    assert interrupted.schedule != interrupted.planned_schedule, "or nothing is tested"
    resumed = Machine(monkeypatch, lambda now: 2.2).training(tmp_path / "resumed")
    resumed.resume()
    assert resumed.stopping.steps == interrupted.stopping.steps
    assert resumed.schedule == interrupted.schedule
    resumed.run()
    left, other = left_in(tmp_path / "resumed"), left_in(tmp_path / "whole")
    assert left.arrays["theta"].tobytes() == other.arrays["theta"].tobytes()
    assert left.history == other.history


def test_a_longer_budget_stretches_what_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, lambda now: 1.0)
    machine.training(tmp_path, interrupted=After(45)).run()
    longer = {"plan": BudgetPlan(200.0, 90, 1.0), "stopping": Stopping(seconds=200.0)}
    training = machine.training(tmp_path, **longer)
    training.run()
    assert 168 < training.now() <= 200
    assert training.rate < 1e-6


def test_without_a_budget_the_plan_of_a_checkpoint_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine = Machine(monkeypatch, changing(10, 2.2))
    interrupted = machine.training(tmp_path, interrupted=After(30))
    interrupted.run()
    training = machine.training(tmp_path, stopping=Stopping(), plan=BudgetPlan(float("inf"), 90))
    machine.pace = lambda now: 50.0
    training.run()
    assert training.optimizer.t == interrupted.plan.steps  # type: ignore[union-attr]
    assert training.rate < 1e-6


def test_a_plan_may_have_a_rate_that_does_not_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch, changing(40, 2.2))
    training = machine.training(schedule=Constant(0.02))
    outcome = training.run()
    assert outcome.reason == f"finished {training.optimizer.t} steps"
    assert training.now() <= BUDGET
