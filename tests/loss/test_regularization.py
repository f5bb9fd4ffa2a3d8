"""Regularization: norms of the trainable parameters, with their gradients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Parameter, Theta
from dragoman.loss import Regularization
from tests.strategies import arrays

both_norms = pytest.mark.parametrize("norm", ["l1", "l2"])


def evaluate(regularization: Regularization, *parts: list[float] | Array) -> tuple[float, list[float]]:
    """omega and its gradient; a part that is a tuple is frozen"""
    parameters = [Parameter(np.array(part, np.float64)) for part in parts]
    for parameter, part in zip(parameters, parts, strict=True):
        parameter.frozen = isinstance(part, tuple)
    theta = Theta(parameters)
    gradient = np.zeros(len(theta))
    regularization.add_gradient(theta, gradient)
    return regularization.value(theta), gradient.tolist()


@pytest.mark.parametrize(
    ("norm", "theta", "value", "gradient"),
    [
        pytest.param("l1", [3.0, -4.0], 7.0, [1.0, -1.0], marks=pytest.mark.ledger("T-4.1-L1")),
        pytest.param("l1", [0.0, -2.0], 2.0, [0.0, -1.0], marks=pytest.mark.ledger("T-4.1-L1")),
        pytest.param("l1", [0.0, 0.0], 0.0, [0.0, 0.0], marks=pytest.mark.ledger("T-4.1-L1", "T-4.3-reg")),
        pytest.param("l2", [3.0, 4.0], 5.0, [0.6, 0.8], marks=pytest.mark.ledger("T-4.1-L2")),
        pytest.param("l2", [0.0, -2.0], 2.0, [0.0, -1.0], marks=pytest.mark.ledger("T-4.1-L2")),
        pytest.param("l2", [0.0, 0.0], 0.0, [0.0, 0.0], marks=pytest.mark.ledger("T-4.1-L2", "T-4.3-reg")),
    ],
)
@pytest.mark.parametrize("coefficient", [1.0, 0.25, 0.0])
def test_values(norm, theta: list[float], value: float, gradient: list[float], coefficient: float) -> None:
    found = evaluate(Regularization(norm, coefficient), theta)
    assert found == (
        pytest.approx(coefficient * value),
        pytest.approx([coefficient * slope for slope in gradient]),
    )


@pytest.mark.ledger("T-4.3-reg")
@both_norms
@given(theta=arrays(5))
def test_regularization_is_positive_away_from_0(norm, theta: Array) -> None:
    value, _ = evaluate(Regularization(norm), theta)
    doubled, _ = evaluate(Regularization(norm), 2 * theta)
    assert value > 0
    assert doubled == pytest.approx(2 * value)


@pytest.mark.ledger("T-4.1-L2")
@given(theta=arrays(5))
def test_the_gradient_of_l2_has_length_1(theta: Array) -> None:
    _, gradient = evaluate(Regularization("l2"), theta)
    assert np.linalg.norm(gradient) == pytest.approx(1.0)


@both_norms
def test_frozen_parameters_take_no_part(norm) -> None:
    alone = evaluate(Regularization(norm), [3.0], [-4.0])
    value, (first, *frozen, last) = evaluate(Regularization(norm), [3.0], (100.0, 100.0), [-4.0])
    assert (value, [first, last]) == alone
    assert frozen == [0.0, 0.0]


@both_norms
def test_the_gradient_is_added_to_what_is_there(norm) -> None:
    theta, gradient = Theta([Parameter(np.array([2.0]))]), np.array([10.0])
    Regularization(norm).add_gradient(theta, gradient)
    assert gradient.tolist() == [11.0]


@pytest.mark.parametrize(
    ("norm", "coefficient", "message"),
    [("l3", 1.0, "'l1' or 'l2', got 'l3'"), ("l1", -0.5, "not negative, got -0.5")],
)
def test_settings_are_checked(norm, coefficient: float, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Regularization(norm, coefficient)
