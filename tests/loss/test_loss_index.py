"""The loss index: error + regularization, as a function of theta, with its gradient."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given

from dragoman import Batch, Transformer, TransformerConfiguration
from dragoman.errors import ShapeError
from dragoman.graph import Array, value_of
from dragoman.loss import CrossEntropy, LogError, Loss, LossIndex, MeanSquaredError, Regularization
from dragoman.operations import cross_entropy, log_error, mean_squared_error
from dragoman.optimization import Constant, GradientDescent
from dragoman.training import Stopping, train
from tests.strategies import generators
from tests.training.perceptrons import Perceptrons, rows

RNG = np.random.default_rng(3)
INPUTS = RNG.standard_normal((6, 3))
PROBLEMS = {
    "cross-entropy": (CrossEntropy(), RNG.integers(0, 2, 6)),
    "smoothed cross-entropy": (CrossEntropy(0.1), RNG.integers(0, 2, 6)),
    "mean squared error": (MeanSquaredError(), RNG.standard_normal((6, 2))),
}
NORMS = [None, Regularization("l1", 0.3), Regularization("l2", 0.7)]
every_problem = pytest.mark.parametrize("name", PROBLEMS)
every_norm = pytest.mark.parametrize("regularization", NORMS, ids=lambda r: r.norm if r else "none")


def build(name: str, regularization: Regularization | None) -> tuple[LossIndex, Perceptrons, Batch]:
    error, targets = PROBLEMS[name]
    return LossIndex(error, regularization), Perceptrons(3, 4, 2, activation="tanh"), rows(INPUTS, targets)


# Errors


@pytest.mark.ledger("T-4.1-error")
@given(rng=generators())
def test_errors_are_positive_where_output_and_target_differ(rng: np.random.Generator) -> None:
    y, p = rng.standard_normal((3, 2)), rng.uniform(0.1, 0.5, 4)
    assert value_of(mean_squared_error(y, targets=y + rng.uniform(0.1, 1, (3, 2)))) > 0
    assert value_of(mean_squared_error(y, targets=y)) == 0
    assert value_of(log_error(p, targets=p + 0.2)[0]) > 0
    assert value_of(cross_entropy(y, targets=rng.integers(0, 2, 3))[0]) > 0


@pytest.mark.ledger("T-4.1-error")
def test_cross_entropy_vanishes_at_equality_only_for_one_hot_targets() -> None:
    """E-T7: otherwise the least error, still reached at equality, is the entropy of the target."""
    assert value_of(cross_entropy(np.array([[1000.0, 0.0]]), targets=np.array([0]))[0]) == 0
    target = np.array([0.9, 0.1])  # 0.8 one-hot + 0.2 / 2
    errors = [
        value_of(cross_entropy(np.log([[p, 1 - p]]), targets=np.array([0]), smoothing=0.2)[0]) for p in (0.8, 0.9, 0.95)
    ]
    assert min(errors) == errors[1] == pytest.approx(-target @ np.log(target))
    assert value_of(log_error(np.array([0.5]), targets=np.array([0.5]))[0]) == pytest.approx(math.log(2))
    assert value_of(log_error(np.array([1.0, 0.0]), targets=np.array([1.0, 0.0]))[0]) == 0


# The index


@pytest.mark.ledger("T-4.5-loss")
@every_problem
@every_norm
def test_the_index_is_error_plus_regularization(name: str, regularization: Regularization | None) -> None:
    index, network, batch = build(name, regularization)
    loss = index.evaluate(network, batch)
    assert loss.error == build(name, None)[0].evaluate(network, batch).error
    theta = network.theta.values
    omegas = {None: 0.0, "l1": 0.3 * np.abs(theta).sum(), "l2": 0.7 * math.sqrt(theta @ theta)}
    assert loss.index - loss.error == pytest.approx(omegas[regularization and regularization.norm], rel=1e-12)


@pytest.mark.ledger("T-4.1-grad", "N-2-backprop")
@every_problem
@every_norm
def test_gradient_over_theta_by_central_differences(name: str, regularization: Regularization | None) -> None:
    index, network, batch = build(name, regularization)
    network.theta.values += 0.1  # biases away from 0, where L1 has its kink
    theta, h = network.theta.values.copy(), 1e-6
    loss, gradient = index.differentiate(network, batch)

    def L(values: Array) -> float:
        network.theta.assign(values)
        return index.evaluate(network, batch).index

    reference = [(L(theta + h * u) - L(theta - h * u)) / (2 * h) for u in np.eye(len(theta))]
    np.testing.assert_allclose(gradient, reference, rtol=0, atol=1e-8)
    assert loss.index == pytest.approx(L(theta), rel=1e-14)


@pytest.mark.ledger("T-4.1.2-lossfn")
def test_training_finds_the_minimum_of_the_loss_as_a_function_of_theta() -> None:
    """Problem 4.8 where its solution is known: linear regression, against least squares"""
    targets = np.random.default_rng(0).standard_normal((6, 1))
    network, batch, index = Perceptrons(3, 1), rows(INPUTS, targets), LossIndex(MeanSquaredError())
    train(network, itertools.repeat(batch), GradientDescent(), Constant(0.2), Stopping(2000), index)
    solution, *_ = np.linalg.lstsq(np.column_stack((INPUTS, np.ones(6))), targets, rcond=None)
    np.testing.assert_allclose(network.theta.values, solution[:, 0], atol=1e-9)
    least = index.evaluate(network, batch).index
    for shift in 0.01 * np.eye(4):
        network.theta.assign(solution[:, 0] + shift)
        assert index.evaluate(network, batch).index > least


@pytest.mark.ledger("T-4.2-noreg")
def test_a_transformer_has_no_regularization_by_default() -> None:
    small = TransformerConfiguration(source_vocabulary=6, target_vocabulary=6, depth=4, perceptron_depth=4, heads=2)
    loss, _ = LossIndex().differentiate(Transformer(small), Batch.pairs([[4, 5]], [[2, 5, 4, 3]]))
    assert loss.regularization == 0.0
    assert loss.index == loss.error > 0


def test_gradient_into_a_given_vector() -> None:
    index, network, batch = build("cross-entropy", NORMS[2])
    into = np.full(len(network.theta), np.nan)
    _, gradient = index.differentiate(network, batch, into=into)
    assert gradient is into
    np.testing.assert_array_equal(gradient, index.differentiate(network, batch)[1])


@every_norm
def test_frozen_parameters_have_gradient_0(regularization: Regularization | None) -> None:
    index, network, batch = build("cross-entropy", regularization)
    network.freeze("layers.0.weights")
    frozen = network.layers[0].weights
    _, gradient = index.differentiate(network, batch)
    assert not network.theta.view(gradient, frozen).any()
    assert gradient.any()


def test_weights_of_positions_count_in_error_and_accuracy() -> None:
    network, (_, targets) = Perceptrons(3, 2), PROBLEMS["cross-entropy"]
    whole = rows(INPUTS, targets)
    masked = Batch(INPUTS, whole.offsets, targets, np.array([1.0, 1, 0, 0, 1, 0]))
    kept = rows(INPUTS[[0, 1, 4]], targets[[0, 1, 4]])
    found, expected = (LossIndex().evaluate(network, batch) for batch in (masked, kept))
    assert found.error == pytest.approx(expected.error, rel=1e-12)
    assert (found.hits, found.positions, found.accuracy) == (expected.hits, 3.0, expected.accuracy)


def test_smoothing_is_part_of_the_error() -> None:
    """P = (0.9, 0.1) against the truth (0.9, 0.1), or against (1, 0)"""
    network, batch = Perceptrons(3, 2), rows(INPUTS[:1], np.array([0]))
    network.theta.assign(np.r_[np.zeros(6), np.log([0.9, 0.1])])
    smooth, sharp = (LossIndex(CrossEntropy(smoothing)).evaluate(network, batch).error for smoothing in (0.2, 0.0))
    assert smooth == pytest.approx(-0.9 * math.log(0.9) - 0.1 * math.log(0.1))
    assert sharp == pytest.approx(-math.log(0.9))


def test_log_error_of_probabilities() -> None:
    network, targets = Perceptrons(3, 2), np.array([[0.0, 1.0]])
    network.theta.assign(np.r_[np.zeros(6), 0.2, 0.8])
    assert LossIndex(LogError()).evaluate(network, rows(INPUTS[:1], targets)).error == pytest.approx(-math.log(0.8))


@pytest.mark.parametrize("error", [CrossEntropy(), MeanSquaredError(), LogError()], ids=lambda e: type(e).__name__)
def test_a_batch_without_targets_is_refused(error) -> None:
    with pytest.raises(ShapeError, match="no targets"):
        LossIndex(error).evaluate(Perceptrons(3, 2), Batch.pack([INPUTS]))


def test_loss_in_words() -> None:
    assert str(Loss(0.51234, 0.25, 3.0, 4.0)) == "error 0.5123, accuracy 75.0%"
    assert Loss(0.5, 0.25, 3.0, 4.0).index == 0.75
    assert math.isnan(Loss(0.0, 0.0, 0.0, 0.0).accuracy)


@pytest.mark.parametrize(
    ("error", "expected"),
    [(MeanSquaredError(), (3 * 0.25**2 + 1 * 0.5**2) / 4), (LogError(), -(3 * math.log(0.75) + math.log(0.5)) / 4)],
)
def test_every_error_weighs_its_targets(error, expected) -> None:
    batch = Batch(np.ones((3, 1)), np.array([0, 3]), np.ones((3, 1)), loss_weights=np.array([3.0, 0.0, 1.0]))
    found, _ = error(np.array([[0.75], [0.1], [0.5]]), batch)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_a_regression_has_no_accuracy_to_tell() -> None:
    error, hits = MeanSquaredError()(
        np.ones((2, 1)), Batch(np.ones((2, 1)), np.array([0, 2]), targets=np.zeros((2, 1)))
    )
    assert str(Loss(float(error), 0.0, hits, 2)) == "error 1.0000"
