"""A normalization layer keeps to its form and epsilon, alone and after a residual addition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, value_of
from dragoman.layers import ForwardContext, Initializer, Normalization

X, UPDATE = np.random.default_rng(0).standard_normal((2, 3, 4))
GAMMA, BETA = np.array([2.0, -1.0, 0.5, 3.0]), np.array([1.0, 0.0, -2.0, 0.3])


@pytest.mark.ledger("T-3.2-IV-layer", "B-7.5-LN")
@pytest.mark.parametrize("epsilon", [1e-5, 0.5])
@pytest.mark.parametrize(
    ("form", "divisor"),
    [("inside", lambda sigma, eps: np.sqrt(sigma**2 + eps)), ("outside", lambda sigma, eps: sigma + eps)],
)
def test_both_calls_use_the_settings(form: Any, divisor: Any, epsilon: float) -> None:
    layer = Normalization(4, Initializer(0, np.float64), form, epsilon)
    assert layer.count() == 2 * 4
    value_of(layer.gamma)[:], value_of(layer.beta)[:] = GAMMA, BETA

    def expected(x: Array) -> Array:
        centred = x - x.mean(axis=1, keepdims=True)
        return GAMMA * centred / divisor(x.std(axis=1, keepdims=True), epsilon) + BETA

    np.testing.assert_allclose(value_of(layer(X)), expected(X), rtol=1e-13)
    total, normalized = (value_of(y) for y in layer.add(UPDATE, X, ForwardContext()))
    np.testing.assert_array_equal(total, X + UPDATE)
    np.testing.assert_allclose(normalized, expected(X + UPDATE), rtol=1e-13)


def test_an_unknown_form_is_refused() -> None:
    layer = Normalization(4, Initializer(0, np.float64), "beside")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="'inside' or 'outside', got 'beside'"):
        layer(X)
