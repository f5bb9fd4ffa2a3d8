"""Section 2: what networks can represent, and why one goes down against the gradient."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dragoman.graph import Array, Parameter, Theta
from dragoman.loss import LossIndex, MeanSquaredError
from dragoman.optimization import Adam, Constant, Cosine, GradientDescent
from dragoman.training import Stopping, train
from tests.training.perceptrons import Perceptrons, rows

SINE = np.linspace(-np.pi, np.pi, 201)[:, None]


def spread(width: int) -> Perceptrons:
    """One hidden layer of ReLUs that begin to rise at evenly spread points"""
    network = Perceptrons(1, width, 1)
    hidden = network.layers[0]
    hidden.weights.value[...] = 1
    hidden.biases.value[...] = -np.linspace(-np.pi, np.pi, width, endpoint=False)
    return network


def worst(network: Perceptrons) -> float:
    return float(np.abs(network.plain(rows(SINE, SINE)) - np.sin(SINE)).max())


@pytest.mark.ledger("T-3.1-UAT", "N-2-UAT")
def test_width_lowers_the_error_of_a_trained_layer() -> None:
    errors = []
    for width in (2, 8, 32):
        network, batches = spread(width), itertools.repeat(rows(SINE, np.sin(SINE)))
        train(network, batches, Adam(), Cosine(0.03, 1500), Stopping(1500), LossIndex(MeanSquaredError()))
        errors.append(worst(network))
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1] / 2
    assert errors[2] < 0.1


@pytest.mark.ledger("T-3.1-UAT", "N-2-UAT")
def test_enough_width_comes_as_close_as_wanted() -> None:
    """The best output weights for fixed hidden units: the error falls with the square of the width."""
    errors = []
    for width in (8, 16, 32, 64):
        network = spread(width)
        hidden, output = network.layers
        features = np.maximum(SINE @ hidden.weights.value + hidden.biases.value, 0)
        solution, *_ = np.linalg.lstsq(np.column_stack((features, np.ones(201))), np.sin(SINE), rcond=None)
        output.weights.value[...], output.biases.value[...] = solution[:-1], solution[-1]
        errors.append(worst(network))
    assert all(wide < narrow / 3 for narrow, wide in itertools.pairwise(errors))
    assert errors[-1] < 2e-3


XOR = rows(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0]))


@pytest.mark.ledger("N-2-kernel")
def test_no_linear_model_separates_xor() -> None:
    linear, rng = Perceptrons(2, 2), np.random.default_rng(0)
    outcome = train(linear, itertools.repeat(XOR), Adam(), Constant(0.05), Stopping(300, accuracy_goal=1.0))
    assert outcome.reason == "finished 300 steps"
    best = 0.0
    for _ in range(500):
        linear.theta.assign(rng.standard_normal(6))
        best = max(best, LossIndex().evaluate(linear, XOR).accuracy)
    assert best == 0.75


@pytest.mark.ledger("N-2-kernel")
@pytest.mark.parametrize("seed", range(3))
def test_a_hidden_layer_makes_xor_separable(seed: int) -> None:
    network = Perceptrons(2, 8, 2, seed=seed)
    train(network, itertools.repeat(XOR), Adam(), Constant(0.05), Stopping(300))
    assert LossIndex().evaluate(network, XOR).accuracy == 1.0


@pytest.mark.ledger("N-2-steepest")
def test_straight_against_the_gradient_is_steepest() -> None:
    """Measured slopes of a loss in random directions: never below minus the norm, equal to it at minus the gradient"""
    network, index, h = Perceptrons(2, 4, 2, activation="tanh"), LossIndex(), 1e-6
    start, (_, gradient) = network.theta.values.copy(), index.differentiate(network, XOR)
    length = np.linalg.norm(gradient)

    def slope(direction: Array) -> float:
        ends = []
        for sign in (1, -1):
            network.theta.assign(start + sign * h * direction / np.linalg.norm(direction))
            ends.append(index.evaluate(network, XOR).index)
        return (ends[0] - ends[1]) / (2 * h)

    assert slope(-gradient) == pytest.approx(-length, rel=1e-6)
    directions = np.random.default_rng(0).standard_normal((100, len(start)))
    slopes = [slope(direction) for direction in directions]
    assert min(slopes) > -length
    cosines = directions @ gradient / (np.linalg.norm(directions, axis=1) * length)
    np.testing.assert_allclose(slopes, length * cosines, atol=1e-8)


@pytest.mark.ledger("N-2-step", "N-4-gd")
@pytest.mark.parametrize(("rate", "falls"), [(0.01, True), (0.19, True), (0.21, False)])
def test_small_steps_lower_a_quadratic_each_time(rate: float, falls: bool) -> None:
    """Curvatures 1 and 10: the loss falls as long as the rate is below 2 / 10."""
    curvatures, theta, heights = np.array([1.0, 10.0]), Theta([Parameter(np.array([1.0, 1.0]))]), []
    for _ in range(40):
        heights.append(float(curvatures @ theta.values**2 / 2))
        GradientDescent().update(theta, curvatures * theta.values, rate)
    assert (heights == sorted(heights, reverse=True)) is falls
    assert (heights[-1] < heights[0]) is falls


@pytest.mark.ledger("N-4-g")
def test_the_gradient_has_a_part_for_each_weight_and_each_bias() -> None:
    """y = w x + b and error (y - t)^2: dL/dw = 2 (y - t) x, dL/db = 2 (y - t)"""
    network = Perceptrons(1, 1)
    network.theta.assign(np.array([3.0, 1.0]))
    _, gradient = LossIndex(MeanSquaredError()).differentiate(network, rows(np.array([[2.0]]), np.array([[5.0]])))
    (weights, biases) = (network.theta.view(gradient, parameter) for parameter in network.parameters())
    assert (weights.tolist(), biases.tolist()) == ([[8.0]], [4.0])
