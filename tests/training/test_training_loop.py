"""The loop: it steps, it records, and it says why it stopped."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dragoman import Batch, Transformer, TransformerConfiguration
from dragoman.graph import Array
from dragoman.loss import Loss, LossIndex, MeanSquaredError, Regularization
from dragoman.optimization import Adam, Constant, GradientDescent, Momentum, Plateau
from dragoman.training import Outcome, Stopping, train
from tests.training.perceptrons import Perceptrons, rows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 3))
CLASSES = rows(X, (X @ [1.0, -2.0, 0.5] > 0).astype(int))
CURVE = rows(X, X @ np.array([[1.0], [-2.0], [0.5]]))


def classify(stopping: Stopping, batches=None, rate: float = 0.5) -> tuple[Outcome, Perceptrons]:
    network = Perceptrons(3, 2)
    stream = itertools.repeat(CLASSES) if batches is None else batches
    return train(network, stream, GradientDescent(), Constant(rate), stopping), network


# Why it stops


@pytest.mark.ledger("T-5.1-stop", "T-5.1-opt")
def test_stops_after_the_last_step() -> None:
    outcome, _ = classify(Stopping(7))
    assert len(outcome.losses) == len(outcome.norms) == 7
    assert outcome.reason == "all 7 steps were taken"


@pytest.mark.ledger("T-5.1-stop", "T-5.1-opt")
def test_stops_at_the_loss_goal() -> None:
    outcome, _ = classify(Stopping(1000, loss_goal=0.3))
    *before, last = [loss.index for loss in outcome.losses]
    assert last <= 0.3 < min(before)
    assert outcome.reason == f"the loss {last:.4g} reached the goal 0.3"


@pytest.mark.ledger("T-5.1-stop")
def test_stops_at_the_accuracy_goal() -> None:
    outcome, _ = classify(Stopping(1000, accuracy_goal=0.95))
    *before, last = [loss.accuracy for loss in outcome.losses]
    assert last >= 0.95 > max(before)
    assert outcome.reason == f"the accuracy {last:.4g} reached the goal 0.95"


@pytest.mark.ledger("T-5.1-stop")
def test_stops_when_there_are_no_more_batches() -> None:
    outcome, _ = classify(Stopping(1000), [CLASSES] * 3)
    assert len(outcome.losses) == 3
    assert outcome.reason == "there were no more batches"


@pytest.mark.ledger("T-5.1-stop")
@pytest.mark.parametrize(
    ("t", "index", "accuracy", "reason"),
    [
        (5, 0.2, 0.95, "the loss 0.2 reached the goal 0.2"),
        (5, 0.3, 0.90, "the accuracy 0.9 reached the goal 0.9"),
        (5, 0.3, 0.89, "all 5 steps were taken"),
        (4, 0.3, 0.89, None),
        (4, math.nan, math.nan, None),
    ],
)
def test_whichever_comes_first(t: int, index: float, accuracy: float, reason: str | None) -> None:
    rule = Stopping(5, loss_goal=0.2, accuracy_goal=0.9)
    assert rule.reason(t, Loss(index, 0.0, accuracy, 1.0)) == reason


@pytest.mark.ledger("T-5.1-stop", "T-4.5-loss")
def test_the_loss_goal_counts_the_regularization() -> None:
    rule = Stopping(5, loss_goal=1.0)
    assert rule.reason(1, Loss(0.9, 0.2, 0.0, 1.0)) is None
    assert rule.reason(1, Loss(0.9, 0.1, 0.0, 1.0)) is not None


# What it does


@pytest.mark.ledger("T-5.1-opt")
def test_the_loss_falls_and_the_step_is_told() -> None:
    told: list[tuple[int, Loss]] = []
    network = Perceptrons(3, 2)
    outcome = train(
        network,
        itertools.repeat(CLASSES),
        GradientDescent(),
        Constant(0.5),
        Stopping(30),
        on_step=lambda t, loss: told.append((t, loss)),
    )
    assert told == list(enumerate(outcome.losses, start=1))
    indices = [loss.index for loss in outcome.losses]
    assert indices == sorted(indices, reverse=True)
    assert LossIndex().evaluate(network, CLASSES).index < indices[-1] < 0.5 * indices[0]


def test_the_schedule_is_asked_for_every_step_and_obeyed() -> None:
    """L = mean of (theta - target)^2 moves theta by 2 / n of the rate times the distance."""
    asked: list[int] = []

    def schedule(t: int) -> float:
        asked.append(t)
        return (0.0, 0.25, 0.5)[t - 1]

    network = Perceptrons(1, 1)
    network.theta.assign(np.zeros(2))
    bias: list[float] = []
    batch = rows(np.zeros((1, 1)), np.array([[8.0]]))
    index = LossIndex(MeanSquaredError())
    train(
        network,
        [batch] * 3,
        GradientDescent(),
        schedule,
        Stopping(3),
        index,
        on_step=lambda *_: bias.append(float(network.theta.values[1])),
    )
    assert asked == [1, 2, 3]
    assert bias == [0.0, 4.0, 8.0]


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


def test_a_training_goes_on_where_it_was_interrupted() -> None:
    def run(*parts: int) -> Array:
        network, optimizer = Perceptrons(3, 2), Momentum()
        for steps in parts:
            train(network, [CLASSES] * steps, optimizer, lambda t: 0.1 / t, Stopping(1000))
        return network.theta.values

    np.testing.assert_array_equal(run(3, 5), run(8))


def test_dropout_follows_seed_and_step() -> None:
    sizes = {"source_vocabulary": 6, "reference_vocabulary": 6, "depth": 4, "perceptron_depth": 4, "heads": 2}
    batch = Batch.pairs([[4, 5]], [[2, 5, 4, 3]])

    def run(seed: int, dropout: float = 0.4) -> list[float]:
        network = Transformer(TransformerConfiguration(**sizes, dropout=dropout))
        outcome = train(network, [batch] * 3, GradientDescent(), Constant(0.0), Stopping(3), seed=seed)
        return [loss.error for loss in outcome.losses]

    assert run(1) == run(1) != run(2)
    assert len(set(run(1))) == 3
    assert len(set(run(1, dropout=0.0))) == 1


def test_no_step_beyond_the_last_one() -> None:
    network, optimizer = Perceptrons(2, 3), GradientDescent()
    before = network.theta.values.copy()
    outcome = train(network, [], optimizer, Constant(0.1), Stopping(0))
    assert outcome.reason == "all 0 steps were taken"
    np.testing.assert_array_equal(network.theta.values, before)


def test_a_plateau_is_told_how_training_goes() -> None:
    schedule = Plateau(4.0, patience=1)  # so fast that the loss explodes at once
    batch = rows(np.ones((4, 1)), np.ones((4, 1)))
    outcome = train(
        Perceptrons(1, 1), [batch] * 3, GradientDescent(), schedule, Stopping(3), LossIndex(MeanSquaredError())
    )
    assert schedule.best == outcome.losses[0].index
    assert schedule.rate == 1.0
