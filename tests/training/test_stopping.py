"""When a training is over, and why: limits after every step, goals after every round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.data import Batching, BatchStream
from dragoman.errors import ConfigurationError
from dragoman.loss import Loss, LossIndex, Regularization
from dragoman.optimization import Constant, GradientDescent
from dragoman.training import Outcome, Stopping, Validation, loop, train
from dragoman.training import clock as clock_of_trainings
from dragoman.training.clock import TICK
from dragoman.training.stopping import format_time
from tests.training.perceptrons import Perceptrons, Rows
from tests.training.small_trainings import CASES, POINTS, After, Case, Heard, judged_points

WHOLE = POINTS.batch(np.arange(17))


def classify(stopping: Stopping, batches: Any = None, rate: float = 0.5, **more: Any) -> Outcome:
    stream = itertools.repeat(WHOLE) if batches is None else batches
    return train(Perceptrons(3, 2), stream, GradientDescent(), Constant(rate), stopping, **more)


def stream(size: int = 5) -> BatchStream:
    return BatchStream(POINTS, Batching(size), seed=1)


# The rules alone

ALL = Stopping(steps=5, epochs=2, seconds=90, loss_goal=0.2, accuracy_goal=0.9, patience=3)


@pytest.mark.ledger("T-5.1-stop")
@pytest.mark.parametrize(
    ("step", "epochs", "seconds", "reason"),
    [
        (4, 1.99, 89.9, None),
        (5, 0.0, 0.0, "finished 5 steps"),
        (6, 0.0, 0.0, "finished 5 steps"),
        (4, 2.0, 0.0, "finished 2 epochs"),
        (4, 0.0, 90.0, "the time budget of 1 min 30 s is used up"),
        (5, 2.0, 90.0, "finished 5 steps"),
        (4, 2.0, 90.0, "finished 2 epochs"),
    ],
)
def test_a_limit_that_is_reached(step: int, epochs: float, seconds: float, reason: str | None) -> None:
    assert ALL.limit(step, epochs, seconds) == reason
    assert Stopping(loss_goal=0.2, accuracy_goal=0.9, patience=3).limit(step, epochs, seconds) is None


@pytest.mark.ledger("T-5.1-stop")
@pytest.mark.parametrize(
    ("error", "accuracy", "bad_evaluations", "reason"),
    [
        (0.21, 0.89, 2, None),
        (0.2, 0.0, 0, "the loss 0.2 reached the goal 0.2"),
        (0.3, 0.9, 0, "the accuracy 0.9 reached the goal 0.9"),
        (0.3, 0.5, 3, "no improvement in 3 evaluations in a row (patience)"),
        (0.3, 0.5, 4, "no improvement in 4 evaluations in a row (patience)"),
        (0.1, 0.95, 3, "the loss 0.1 reached the goal 0.2"),
        (0.3, 0.95, 3, "the accuracy 0.95 reached the goal 0.9"),
        (math.nan, math.nan, 0, None),
    ],
)
def test_a_goal_that_is_reached(error: float, accuracy: float, bad_evaluations: int, reason: str | None) -> None:
    loss = Loss(error, 0.0, accuracy, 1.0)
    assert ALL.goal(loss, bad_evaluations) == reason
    assert Stopping(steps=5, epochs=2, seconds=90).goal(loss, bad_evaluations) is None


@pytest.mark.ledger("T-5.1-stop", "T-4.5-loss")
def test_the_loss_goal_counts_the_regularization() -> None:
    rule = Stopping(loss_goal=1.0)
    assert rule.goal(Loss(0.9, 0.2, 0.0, 1.0)) is None
    assert rule.goal(Loss(0.9, 0.1, 0.0, 1.0)) is not None


@pytest.mark.parametrize("name", ["steps", "epochs", "seconds", "patience"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_a_rule_counts_from_one(name: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} must be above 0, got {value}"):
        Stopping(**{name: value})


@pytest.mark.parametrize("goal", [0.0, -0.1, 1.01, 90])
def test_an_accuracy_goal_is_a_share(goal: float) -> None:
    with pytest.raises(ConfigurationError, match=f"between 0 and 1, got {goal:g}"):
        Stopping(accuracy_goal=goal)
    assert Stopping(accuracy_goal=1.0).goal(Loss(0.0, 0.0, 4.0, 4.0)) is not None


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(7.3, "7.3 s"), (0.25, "0.25 s"), (60, "1 min 0 s"), (95, "1 min 35 s"), (3600, "1 h 0 min"), (3725, "1 h 2 min")],
)
def test_a_time_is_told_in_words(seconds: float, told: str) -> None:
    assert format_time(seconds) == told
    assert Stopping(seconds=seconds).limit(1, 0.0, seconds) == f"the time budget of {told} is used up"


# The rules in a training


@pytest.mark.ledger("T-5.1-stop", "T-5.1-opt")
def test_stops_after_the_last_step() -> None:
    heard = Heard()
    outcome = classify(Stopping(7), watch=heard)
    assert [t for t, _ in heard.steps] == [1, 2, 3, 4, 5, 6, 7]
    assert len(outcome.losses) == len(outcome.norms) == 7
    assert outcome.reason == "finished 7 steps"
    assert outcome.finished


@pytest.mark.ledger("T-5.1-stop", "T-5.1-opt")
def test_stops_at_the_loss_goal() -> None:
    outcome = classify(Stopping(1000, loss_goal=0.3), loss_index=LossIndex(regularization=Regularization("l2", 0.01)))
    *before, last = [loss.index for loss in outcome.losses]
    assert last <= 0.3 < min(before)
    assert outcome.losses[-1].error < last
    assert outcome.reason == f"the loss {last:.4g} reached the goal 0.3"


@pytest.mark.ledger("T-5.1-stop")
def test_stops_at_the_accuracy_goal() -> None:
    outcome = classify(Stopping(1000, accuracy_goal=0.99))
    *before, last = [loss.accuracy for loss in outcome.losses]
    assert last >= 0.99 > max(before)
    assert outcome.reason == f"the accuracy {last:.4g} reached the goal 0.99"


@pytest.mark.ledger("T-5.1-stop")
def test_stops_when_there_are_no_more_batches() -> None:
    outcome = classify(Stopping(1000), [WHOLE] * 3)
    assert len(outcome.losses) == 3
    assert outcome.reason == "there were no more batches"
    assert outcome.finished


@pytest.mark.ledger("T-5.1-stop")
def test_a_goal_is_told_before_a_limit_reached_by_the_same_step() -> None:
    reached = len(classify(Stopping(1000, loss_goal=0.3)).losses)
    assert "reached the goal" in classify(Stopping(reached, loss_goal=0.3)).reason
    assert classify(Stopping(reached - 1, loss_goal=0.3)).reason == f"finished {reached - 1} steps"


def test_no_step_beyond_a_limit_already_reached() -> None:
    network, optimizer = Perceptrons(3, 2), GradientDescent()
    train(network, [WHOLE] * 5, optimizer, Constant(0.1), Stopping(5))
    before = network.theta.values.copy()
    outcome = train(network, [WHOLE] * 5, optimizer, Constant(0.1), Stopping(5))
    assert outcome.reason == "finished 5 steps"
    assert outcome.records == []
    np.testing.assert_array_equal(network.theta.values, before)


@pytest.mark.ledger("T-5.3-batch", "T-5.1-stop")
@pytest.mark.parametrize(("accumulate", "steps"), [(1, 12), (3, 6)])
def test_epochs_are_whole(accumulate: int, steps: int) -> None:
    """17 samples by 5 make 4 batches, in 4 steps or in 2."""
    heard = Heard()
    case = Case(lambda: Perceptrons(3, 2), POINTS, settings={"accumulate": accumulate, "watch": heard})
    outcome = case.build(stopping=Stopping(epochs=3)).run()
    assert outcome.reason == "finished 3 epochs"
    assert len(heard.steps) == steps
    assert [(record.epoch, record.training.positions) for record in outcome.records] == [(1, 17), (2, 17), (3, 17)]


def test_a_limit_within_an_epoch_ends_its_round() -> None:
    heard = Heard()
    outcome = classify(Stopping(6), stream(), watch=heard)
    assert [record.step for record in outcome.records] == [4, 6]
    assert [record.epoch for record in outcome.records] == [1.0, 1.5]
    assert outcome.records[1].training.positions == sum(loss.positions for loss in heard.losses[4:])


# Goals are judged by rounds


@pytest.mark.ledger("T-6.1-goal")
def test_stops_at_the_first_epoch_whose_training_accuracy_reaches_the_goal() -> None:
    heard = Heard()
    x = np.random.default_rng(0).standard_normal((60, 3))
    samples = Rows(x, (x @ [1.0, -2.0, 0.5] > 0.3).astype(int))
    batches = BatchStream(samples, Batching(7), seed=2)
    outcome = classify(Stopping(epochs=100, accuracy_goal=0.90), batches, rate=0.05, watch=heard)
    *before, last = [record.training.accuracy for record in outcome.records]
    assert last >= 0.90 > max(before)
    assert len(before) >= 3
    assert len(heard.steps) == 9 * len(outcome.records)  # it stopped at the end of an epoch ...
    assert max(loss.accuracy for loss in heard.losses[:-9]) >= 0.90  # ... though a batch alone got there before
    hits = sum(loss.hits for loss in heard.losses[-9:])
    assert last == hits / 60
    assert outcome.reason == f"the accuracy {last:.4g} reached the goal 0.9"


@pytest.mark.ledger("T-5.1-stop")
@pytest.mark.parametrize(("every", "steps_a_round"), [(None, 4), (3, 3)])
def test_the_loss_goal_is_that_of_a_whole_round(every: int | None, steps_a_round: int) -> None:
    heard = Heard()
    validation = None if every is None else Validation(judged_points, every)
    outcome = classify(Stopping(400, loss_goal=0.4), stream(), watch=heard, validation=validation)
    *before, last = [record.training.error for record in outcome.records]
    assert last <= 0.4 < min(before)
    assert min(loss.error for loss in heard.losses[:-steps_a_round]) < 0.4  # a batch alone got there before
    assert len(heard.steps) == steps_a_round * len(outcome.records)
    assert outcome.reason == f"the loss {last:.4g} reached the goal 0.4"


def judged_as(values: list[float]) -> Validation:
    """A validation that says what it is told to"""
    told = iter(values)
    return Validation(judged_points, best_by="quality", scores=lambda network: {"quality": next(told)})


@pytest.mark.parametrize(
    ("values", "patience", "evaluations"),
    [
        ([1, 2, 3, 3, 3, 9], 2, 5),  # as good as the best is not better
        ([5, 4, 6, 5, 5, 5, 9], 3, 6),  # a better one begins the count anew
        ([3, 2, 9, 9], 1, 2),
        ([1, 2, 3, 4], 2, None),
    ],
)
def test_patience_counts_rounds_in_a_row_that_brought_nothing_better(
    values: list[float], patience: int, evaluations: int | None
) -> None:
    limits = Stopping(epochs=len(values), patience=patience)
    outcome = classify(limits, stream(), validation=judged_as(values))
    assert len(outcome.records) == (evaluations or len(values))
    row = "1 evaluation" if patience == 1 else f"{patience} evaluations in a row"
    ended_by_patience = f"no improvement in {row} (patience)"
    assert outcome.reason == (ended_by_patience if evaluations else f"finished {len(values)} epochs")


# A budget of seconds


class Clock:
    """Time that passes only when a batch is taken, or something else says so"""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds, self.suspended = 1000.0, 0.0
        running = SimpleNamespace(monotonic=lambda: self.seconds + self.suspended, process_time=lambda: self.seconds)
        monkeypatch.setattr(clock_of_trainings, "time", running)

    def passing(self, seconds: float) -> Iterator[Batch]:
        while True:
            self.seconds += seconds
            yield WHOLE


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_stops_when_the_budget_is_used_up(clock: Clock) -> None:
    outcome = classify(Stopping(1000, seconds=60), clock.passing(7.0))
    assert [record.seconds for record in outcome.records] == [7.0 * t for t in range(1, 10)]
    assert outcome.reason == "the time budget of 1 min 0 s is used up"


def test_the_budget_counts_evaluations_and_begins_when_the_training_does(clock: Clock) -> None:
    def slow() -> Iterator[Batch]:
        clock.seconds += 20.0
        yield WHOLE

    case = Case(lambda: Perceptrons(3, 2))
    training = case.build(stopping=Stopping(1000, seconds=60), validation=Validation(slow))
    training.batches = clock.passing(1.0)
    clock.seconds += 500.0
    assert [record.seconds for record in training.run().records] == [21.0, 42.0, 63.0]


def test_a_budget_goes_on_after_a_pause_which_does_not_count(clock: Clock, tmp_path: Path) -> None:
    case, limits = CASES["Adam"], Stopping(1000, seconds=10)

    class Ticking(Heard):
        def step(self, step: int, loss: Loss, training: loop.Training) -> None:
            clock.seconds += 1.0

    interrupted = case.build(tmp_path, stopping=limits, watch=Ticking(), interrupted=After(7)).run()
    assert interrupted.reason == "asked to stop"
    clock.seconds += 1e6
    training = case.build(tmp_path, stopping=limits, watch=Ticking())
    outcome = training.run()
    assert outcome.reason == "the time budget of 10 s is used up"
    assert training.optimizer.t == 10
    assert outcome.records[-1].seconds == 10.0


def test_a_suspended_process_does_not_use_up_its_budget(clock: Clock) -> None:
    class Suspended(Heard):
        def step(self, step: int, loss: Loss, training: loop.Training) -> None:
            clock.suspended += 3600.0 if step == 3 else 0.0

    case = Case(lambda: Perceptrons(3, 2))
    training = case.build(stopping=Stopping(1000, seconds=60), watch=Suspended())
    training.batches = clock.passing(7.0)
    outcome = training.run()
    assert [record.seconds for record in outcome.records] == [7.0, 14.0, *(7.0 * t + TICK for t in range(3, 10))]


def test_a_round_that_is_over_is_not_ended_twice_by_its_budget(clock: Clock) -> None:
    outcome = classify(Stopping(seconds=3), clock.passing(1.0))
    assert [record.step for record in outcome.records] == [1, 2, 3]


def test_limits_are_told_as_numbers_are_written_elsewhere() -> None:
    assert Stopping(steps=1102).limit(1102, 0.0, 0.0) == "finished 1,102 steps"
    assert Stopping(steps=1).limit(1, 0.0, 0.0) == "finished 1 step"
