"""Section 2: what a linear model cannot represent, and why one goes down against the gradient."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.graph import Array, Parameter, Theta
from dragoman.loss import LossIndex, MeanSquaredError
from dragoman.optimization import GradientDescent
from tests.training.perceptrons import Perceptrons, rows

XOR = rows(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0]))


@pytest.mark.ledger("N-2-kernel")
def test_no_linear_model_separates_xor() -> None:
    """However its weights are drawn; examples/xor.py trains one, and one with a hidden layer."""
    linear, rng = Perceptrons(2, 2), np.random.default_rng(0)
    best = 0.0
    for _ in range(500):
        linear.theta.assign(rng.standard_normal(6))
        best = max(best, LossIndex().evaluate(linear, XOR).accuracy)
    assert best == 0.75


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
