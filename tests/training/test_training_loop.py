"""The loop: it steps, it tells, and a round ends as it should."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from dragoman import Batch
from dragoman.graph import Array
from dragoman.loss import LossIndex, MeanSquaredError, Regularization
from dragoman.optimization import Adam, Constant, GradientDescent, Momentum, Plateau
from dragoman.training import Stopping, Validation, train
from tests.training.perceptrons import Perceptrons, rows
from tests.training.small_trainings import CASES, POINTS, Case, Heard, judged_points, left_in, small_transformer

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 3))
CLASSES = rows(X, (X @ [1.0, -2.0, 0.5] > 0).astype(int))
CURVE = rows(X, X @ np.array([[1.0], [-2.0], [0.5]]))


@pytest.mark.ledger("T-5.1-opt")
def test_the_loss_falls_and_every_step_and_round_is_told() -> None:
    heard, network = Heard(), Perceptrons(3, 2)
    outcome = train(network, itertools.repeat(CLASSES), GradientDescent(), Constant(0.5), Stopping(30), watch=heard)
    assert heard.steps == list(enumerate(outcome.losses, start=1))
    assert heard.records == outcome.records
    assert [record.step for record in heard.records] == list(range(1, 31))
    indices = [loss.index for loss in outcome.losses]
    assert indices == sorted(indices, reverse=True)
    assert LossIndex().evaluate(network, CLASSES).index < indices[-1] < 0.5 * indices[0]


def test_a_step_is_told_after_theta_has_moved_with_the_rate_and_norm_of_that_step() -> None:
    told: list[tuple[float, float]] = []

    class Look(Heard):
        def step(self, step, loss, training) -> None:
            super().step(step, loss, training)
            told.append((training.rate, training.norm))

    look, network, index = Look(), Perceptrons(3, 2), LossIndex()
    start = network.theta.values.copy()
    train(network, [CLASSES] * 2, GradientDescent(), lambda t: t / 10, Stopping(2), watch=look)
    for theta, (rate, norm), after in zip([start, look.thetas[0]], told, look.thetas, strict=True):
        network.theta.assign(theta)
        gradient = index.differentiate(network, CLASSES)[1]
        assert norm == pytest.approx(np.linalg.norm(gradient))
        np.testing.assert_allclose(after, theta - rate * gradient, atol=1e-15)
    assert [rate for rate, _ in told] == [0.1, 0.2]


def test_the_schedule_is_asked_for_every_step_and_obeyed() -> None:
    """L = mean of (theta - target)^2 moves theta by 2 / n of the rate times the distance."""
    asked: list[int] = []

    def schedule(t: int) -> float:
        asked.append(t)
        return (0.0, 0.25, 0.5)[t - 1]

    heard, network = Heard(), Perceptrons(1, 1)
    network.theta.assign(np.zeros(2))
    batch = rows(np.zeros((1, 1)), np.array([[8.0]]))
    index = LossIndex(MeanSquaredError())
    train(network, [batch] * 3, GradientDescent(), schedule, Stopping(3), index, watch=heard)
    assert asked == [1, 2, 3]
    assert [theta[1] for theta in heard.thetas] == [0.0, 4.0, 8.0]


@pytest.mark.ledger("L-63-clip", "B-7.2-clip")
def test_the_norm_before_clipping_is_recorded_and_the_step_is_clipped() -> None:
    network, index = Perceptrons(3, 1), LossIndex(MeanSquaredError(), Regularization("l2", 0.1))
    start, (_, gradient) = network.theta.values.copy(), index.differentiate(network, CURVE)
    outcome = train(network, [CURVE], GradientDescent(), Constant(1.0), Stopping(1), index, clip=0.01)
    assert outcome.norms == [pytest.approx(np.linalg.norm(gradient))]
    assert outcome.norms[0] > 1
    np.testing.assert_allclose(start - network.theta.values, 0.01 * gradient / np.linalg.norm(gradient), atol=1e-14)


@pytest.mark.ledger("L-62-unstable")
def test_a_spike_is_seen_in_losses_and_norms() -> None:
    outlier = rows(X, 100 * CURVE.targets)
    stream = [CURVE] * 40 + [outlier] + [CURVE] * 9
    network = Perceptrons(3, 1)
    outcome = train(
        network, stream, GradientDescent(), Constant(0.05), Stopping(50), LossIndex(MeanSquaredError()), clip=1.0
    )
    norms, errors = np.array(outcome.norms), np.array([loss.error for loss in outcome.losses])
    assert len(norms) == len(errors) == 50
    assert norms.argmax() == errors.argmax() == 40
    assert norms[40] > 50 * np.delete(norms, 40)[30:].max()
    assert errors[41:].max() < errors[0]  # clipping kept the damage small


def test_frozen_parameters_stay() -> None:
    network = Perceptrons(3, 4, 2)
    network.freeze("layers.0")
    before = network.theta.values.copy()
    train(network, [CLASSES] * 5, Adam(), Constant(0.1), Stopping(5))
    moved = network.theta.values != before
    hidden = 3 * 4 + 4
    assert not moved[:hidden].any()
    assert moved[hidden:].all()


def test_a_training_goes_on_with_the_optimizer_it_is_given() -> None:
    def run(*parts: int) -> Array:
        network, optimizer = Perceptrons(3, 2), Momentum()
        for steps in parts:
            train(network, [CLASSES] * steps, optimizer, lambda t: 0.1 / t, Stopping(1000))
        return network.theta.values

    np.testing.assert_array_equal(run(3, 5), run(8))


def test_dropout_follows_seed_and_step() -> None:
    batch = Batch.pairs([[4, 5]], [[2, 5, 4, 3]])

    def run(seed: int, dropout: float = 0.4) -> list[float]:
        network = small_transformer(dropout=dropout)
        outcome = train(network, [batch] * 3, GradientDescent(), Constant(0.0), Stopping(3), seed=seed)
        return [loss.error for loss in outcome.losses]

    assert run(1) == run(1) != run(2)
    assert len(set(run(1))) == 3
    assert len(set(run(1, dropout=0.0))) == 1


def test_a_plateau_is_told_the_loss_of_every_round() -> None:
    schedule = Plateau(4.0, patience=1)  # so fast that the loss explodes at once
    batch = rows(np.ones((4, 1)), np.ones((4, 1)))
    outcome = train(
        Perceptrons(1, 1), [batch] * 3, GradientDescent(), schedule, Stopping(3), LossIndex(MeanSquaredError())
    )
    assert schedule.best == outcome.losses[0].index
    assert schedule.rate == 1.0


def test_a_plateau_is_told_the_validation_error_where_there_is_one() -> None:
    schedule = Plateau(0.1, patience=1)
    training = CASES["Momentum, plateau"].build()
    training.schedule = schedule
    selected = [record.validation.error for record in training.run().records]
    assert schedule.best == min(selected)
    falls = sum(error >= min(selected[:i]) for i, error in enumerate(selected) if i)
    assert schedule.rate == 0.1 * 0.5**falls


# Rounds

ROUNDS = {
    "an epoch": (Case(lambda: Perceptrons(3, 2), POINTS), [4, 8, 10]),
    "an epoch, two batches a step": (
        Case(lambda: Perceptrons(3, 2), POINTS, settings={"accumulate": 2}),
        [2, 4, 6, 8, 10],
    ),
    "an epoch, judged": (
        Case(lambda: Perceptrons(3, 2), POINTS, settings={"validation": Validation(judged_points)}),
        [4, 8, 10],
    ),
    "every 3 steps": (
        Case(lambda: Perceptrons(3, 2), POINTS, settings={"validation": Validation(judged_points, every=3)}),
        [3, 6, 9, 10],
    ),
    "every 5 steps": (
        Case(lambda: Perceptrons(3, 2), POINTS, settings={"validation": Validation(judged_points, every=5)}),
        [5, 10],
    ),
}


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round_is_an_epoch_or_so_many_steps_and_the_last_may_be_shorter(name: str) -> None:
    case, ends = ROUNDS[name]
    heard = Heard()
    outcome = case.build(watch=heard).run()
    assert [record.step for record in outcome.records] == ends
    starts = [0, *ends[:-1]]
    for record, start, end in zip(outcome.records, starts, ends, strict=True):
        assert record.training.positions == sum(loss.positions for loss in heard.losses[start:end])


def test_a_training_told_to_stop_finishes_its_step_and_says_so() -> None:
    training = CASES["Adam"].build(interrupted=lambda: "enough" if training.optimizer.t == 3 else None)
    outcome = training.run()
    assert (outcome.reason, outcome.finished, training.optimizer.t) == ("enough", False, 3)


def test_a_round_that_ends_with_the_batches_is_recorded_and_saved(tmp_path: Path) -> None:
    training = Case(lambda: Perceptrons(3, 2), POINTS).build(tmp_path, validation=Validation(judged_points, every=3))
    training.batches = [POINTS.batch(np.arange(5))] * 5
    outcome = training.run()
    assert outcome.reason == "there were no more batches"
    assert [(record.step, record.training.positions) for record in outcome.records] == [(3, 15), (5, 10)]
    assert left_in(tmp_path).state["step"] == 5
