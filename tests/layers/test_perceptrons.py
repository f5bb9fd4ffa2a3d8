"""The perceptron layer and the feed-forward pair beside their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Tensor, backpropagate, value_of
from dragoman.layers import FeedForward, Initializer, Perceptron

X = np.random.default_rng(0).standard_normal((5, 4))
DY = np.random.default_rng(1).standard_normal((5, 3))


@pytest.mark.ledger("T-4.3-perc", "T-3.2-V-layer")
@pytest.mark.parametrize(
    ("activation", "slope"), [("identity", lambda c: np.ones_like(c)), ("relu", lambda c: np.heaviside(c, 0))]
)
def test_a_perceptron_and_its_backward_pass(activation: str, slope: Any) -> None:
    layer = Perceptron(4, 3, Initializer(0, np.float64), activation)
    weights, biases = value_of(layer.weights), value_of(layer.biases)
    biases[:] = [0.5, -0.5, 0.1]
    x = Tensor(X)
    y = layer(x)
    c = X @ weights + biases
    np.testing.assert_allclose(value_of(y), c * slope(c), rtol=1e-14)
    found = backpropagate([y], [x, layer.weights, layer.biases], [DY])
    dc = slope(c) * DY
    for derivative, expected in zip(found, (dc @ weights.T, X.T @ dc, dc.sum(axis=0)), strict=True):
        np.testing.assert_allclose(derivative, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.ledger("B-7.5-ffn", "T-3.2-V-layer")
@pytest.mark.parametrize(("activation", "function"), [("relu", lambda c: np.maximum(c, 0)), ("tanh", np.tanh)])
def test_feed_forward_treats_each_position_alone(activation: str, function: Any) -> None:
    layer = FeedForward(4, 9, activation, Initializer(0, np.float64))
    a = dict(layer.named_arrays())
    a["hidden.biases"][:] = np.linspace(-0.5, 0.5, 9)
    a["output.biases"][:] = [1, 2, 3, 4]
    for row, y in zip(X, value_of(layer(X)), strict=True):
        hidden = function(row @ a["hidden.weights"] + a["hidden.biases"])
        np.testing.assert_allclose(y, hidden @ a["output.weights"] + a["output.biases"], rtol=1e-13)


def test_mistakes_are_named() -> None:
    with pytest.raises(ConfigurationError, match="unknown activation 'swish'; available: identity, relu"):
        FeedForward(4, 8, "swish", Initializer())
    with pytest.raises(ShapeError, match=r"x \[N, d\] has shape \(5, 4\), but weights \[d, k\] has shape \(3, 2\)"):
        Perceptron(3, 2, Initializer(0, np.float64))(X)
