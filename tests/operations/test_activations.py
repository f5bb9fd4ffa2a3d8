"""Activations: values, slopes, and the refusal of unknown names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from dragoman.errors import ConfigurationError
from dragoman.graph import Tensor, backpropagate, gradient_check
from dragoman.operations import ACTIVATIONS, activate
from tests.operations.calculus import jacobian
from tests.strategies import arrays

every_activation = pytest.mark.parametrize("activation", ACTIVATIONS)


@pytest.mark.ledger("T-4.3.3-C")
@every_activation
@given(x=arrays(2, 3, scale=2.0))
def test_gradient(activation, x):
    gradient_check(activate, x, activation=activation).require()


@pytest.mark.ledger("T-3.2-V-act", "T-4.3.3-C")
@every_activation
def test_entry_by_entry(activation):
    x = np.random.default_rng(0).standard_normal((2, 3, 2))
    alone = [activate(np.array([entry]), activation=activation)[0] for entry in x.ravel()]
    np.testing.assert_array_equal(activate(x, activation=activation).ravel(), alone)
    matrix = jacobian(lambda x: activate(x, activation=activation), x).reshape(12, 12)
    assert not (matrix - np.diag(np.diag(matrix))).any()


@pytest.mark.ledger("T-3.2-V-linear", "T-3.2-V-relu", "T-3.14-logistic", "N-3.3-relu")
@pytest.mark.parametrize(
    ("activation", "x", "y"),
    [
        ("identity", [-1.5, 0, 2], [-1.5, 0, 2]),
        ("relu", [-1, 0, 2], [0, 0, 2]),
        ("logistic", [0, np.log(3), -np.log(3)], [0.5, 0.75, 0.25]),
        ("tanh", [0, np.log(3) / 2], [0, 0.5]),
        ("gelu", [0, 1, -1, 3], [0, 0.8411919906082768, -0.15880800939172324, 2.996362607918227]),
    ],
)
def test_values(activation, x, y):
    np.testing.assert_allclose(activate(np.array(x, float), activation=activation), y, rtol=1e-14, atol=1e-15)


@pytest.mark.ledger("T-4.3-dId", "T-4.3-dReLU", "N-3.3-drelu")
@pytest.mark.parametrize(("activation", "slopes"), [("identity", [1, 1, 1, 1]), ("relu", [0, 0, 1, 1])])
def test_slopes_with_a_kink_at_zero(activation, slopes):
    x = np.array([-2.0, 0.0, 1e-300, 3.0])
    np.testing.assert_array_equal(jacobian(lambda x: activate(x, activation=activation), x), np.diag(slopes))


@pytest.mark.ledger("T-3.14-logistic")
def test_logistic_is_its_definition_and_never_overflows():
    x = np.linspace(-30, 30, 61)
    np.testing.assert_allclose(activate(x, activation="logistic"), 1 / (1 + np.exp(-x)), rtol=0, atol=1e-15)
    far = Tensor(np.array([-1e4, 1e4]))
    y = activate(far, activation="logistic")
    np.testing.assert_array_equal(y.value, [0, 1])
    np.testing.assert_array_equal(backpropagate(y, [far], [np.ones(2)])[0], [0, 0])


@pytest.mark.ledger("T-3.2-V-act")
def test_an_unknown_name_is_refused():
    with pytest.raises(ConfigurationError, match=r"unknown activation 'swish'; available: identity, relu, logistic"):
        activate(np.ones(1), activation="swish")


@pytest.mark.ledger("T-3.14-logistic")
@pytest.mark.parametrize(
    ("dtype", "x"), [(np.float32, -20.0), (np.float32, -80.0), (np.float64, -40.0), (np.float64, -700.0)]
)
def test_the_logistic_keeps_its_lower_tail(dtype, x):
    y = activate(np.array([x, -x], dtype), activation="logistic")
    np.testing.assert_allclose(y, [np.exp(x), 1.0], rtol=1e-6)
    assert y.dtype == dtype
