"""Clipping: the direction stays, the length is bounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dragoman.errors import ConfigurationError, NonFiniteError
from dragoman.graph import Parameter, Theta
from dragoman.optimization import Adam, GradientDescent, clip_gradient, clipping_factor, gradient_norm
from dragoman.optimization.optimizer import WORTH


def theta_of(*sizes: int, frozen: tuple[int, ...] = ()) -> Theta:
    parameters = [Parameter(np.zeros(size)) for size in sizes]
    for i in frozen:
        parameters[i].frozen = True
    return Theta(parameters)


@pytest.mark.ledger("L-63-clip", "B-7.2-clip")
def test_clipping_keeps_the_direction() -> None:
    gradient = np.array([3.0, 4.0])
    assert clip_gradient(theta_of(2), gradient, 1.0) == 5.0
    np.testing.assert_allclose(gradient, [0.6, 0.8], rtol=1e-15)


@pytest.mark.ledger("L-63-clip", "B-7.2-clip")
@pytest.mark.parametrize("maximum", [5.0, 7.0, math.inf])
def test_a_short_gradient_is_left_alone(maximum: float) -> None:
    gradient = np.array([3.0, 4.0])
    assert clip_gradient(theta_of(2), gradient, maximum) == 5.0
    assert gradient.tolist() == [3.0, 4.0]


@pytest.mark.ledger("L-63-clip")
def test_a_gradient_of_0_stays_0() -> None:
    gradient = np.zeros(2)
    assert clip_gradient(theta_of(2), gradient, 1.0) == 0.0
    assert not gradient.any()


@pytest.mark.ledger("L-63-clip")
def test_the_norm_is_over_all_trainable_parameters_together() -> None:
    gradient = np.array([3.0, 100.0, 100.0, 4.0])
    theta = theta_of(1, 2, 1, frozen=(1,))
    assert gradient_norm(theta, gradient) == 5.0
    assert clip_gradient(theta, gradient, 1.0) == 5.0
    np.testing.assert_allclose(gradient[[0, 3]], [0.6, 0.8], rtol=1e-15)


@pytest.mark.parametrize(("size", "shared"), [(WORTH, 0), (WORTH + 1, 1)])
def test_threads_are_called_for_the_norm_of_large_gradients_alone(size: int, shared: int) -> None:
    gradient, calls = np.random.default_rng(0).standard_normal(size, np.float32), []

    def each(function: Callable[[slice], Any], parts: list[slice]) -> list[Any]:
        calls.append(len(parts))
        return [function(part) for part in parts]

    theta = theta_of(size)
    assert gradient_norm(theta, gradient, each) == gradient_norm(theta, gradient)
    assert len(calls) == shared
    np.testing.assert_allclose(gradient_norm(theta, gradient), np.linalg.norm(gradient.astype(float)), rtol=1e-5)


def test_with_everything_frozen_there_is_no_norm() -> None:
    assert gradient_norm(theta_of(2, 3, frozen=(0, 1)), np.ones(5)) == 0.0


@pytest.mark.parametrize("maximum", [0.0, -1.0, math.nan])
def test_a_norm_to_clip_to_is_above_0(maximum: float) -> None:
    with pytest.raises(ConfigurationError, match="above 0"):
        clip_gradient(theta_of(2), np.array([3.0, 4.0]), maximum)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_gradient_that_is_no_number_is_not_hidden_by_clipping(value: float) -> None:
    with pytest.raises(NonFiniteError, match="norm of the gradient"):
        clip_gradient(theta_of(2), np.array([1.0, value]), 1.0)


def test_large_gradients_in_single_precision_keep_their_direction() -> None:
    theta = Theta([Parameter(np.zeros(2, np.float32))])
    gradient = np.array([3e20, 4e20], np.float32)
    assert clip_gradient(theta, gradient, 1.0) == pytest.approx(5e20, rel=1e-6)
    np.testing.assert_allclose(gradient, [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize("algorithm", [GradientDescent, Adam])
def test_a_factor_is_what_the_gradient_is_multiplied_by(algorithm):
    gradient, thetas = np.array([3.0, 4.0]), (theta_of(2), theta_of(2))
    algorithm().update(thetas[0], gradient * clipping_factor(5.0, 1.0), 0.1)
    algorithm().update(thetas[1], gradient, 0.1, factor=clipping_factor(5.0, 1.0))
    np.testing.assert_array_equal(thetas[0].values, thetas[1].values)
    np.testing.assert_array_equal(gradient, [3.0, 4.0])
    assert clipping_factor(0.5, 1.0) == clipping_factor(0.0, 1.0) == 1.0
