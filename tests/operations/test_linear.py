"""The perceptron, in the thesis's rows (x W + b) and in the notes' columns (W x + b)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError
from dragoman.graph import Tensor, backpropagate, gradient_check
from dragoman.layers import Initializer, Perceptron
from dragoman.operations import ACTIVATIONS, activate, linear
from tests.operations.calculus import assert_same_function, jacobian
from tests.strategies import generators, sizes


@st.composite
def cases(draw):
    """x, weights, perhaps biases; and whether the weights stand transposed."""
    n, d, k, rng = draw(sizes()), draw(sizes()), draw(sizes()), draw(generators())
    transposed = draw(st.booleans())
    shapes = [(n, d), (k, d) if transposed else (d, k), *draw(st.sampled_from(([], [(k,)])))]
    return [rng.standard_normal(shape) for shape in shapes], transposed


@pytest.mark.ledger("T-4.3.1-W", "T-4.3.2-b", "T-4.3.4-x", "T-4.3-perc", "N-3.2-dldW", "N-3.2-dldb", "N-3.2-dldx")
@pytest.mark.parametrize("activation", ACTIVATIONS)
@given(case=cases())
def test_gradient(activation, case):
    inputs, transposed = case
    gradient_check(linear, *inputs, activation=activation, transposed=transposed).require()


@pytest.mark.ledger("T-3.2-V-comb", "T-4.3.3-C")
@pytest.mark.parametrize("activation", ACTIVATIONS)
@given(case=cases())
def test_combination_then_activation(activation, case):
    inputs, transposed = case
    assert_same_function(
        lambda *inputs: linear(*inputs, activation=activation, transposed=transposed),
        lambda *inputs: activate(linear(*inputs, transposed=transposed), activation=activation),
        *inputs,
    )


@pytest.mark.ledger("T-3.2-V-comb", "T-1.2-dot")
def test_one_dot_product_for_each_neuron():
    rng = np.random.default_rng(0)
    x, w, b = rng.standard_normal((3, 2)), rng.standard_normal((2, 4)), rng.standard_normal(4)
    y = linear(x, w, b)
    for j in range(3):
        for neuron in range(4):
            assert y[j, neuron] == pytest.approx(sum(x[j, k] * w[k, neuron] for k in range(2)) + b[neuron], rel=1e-13)
    np.testing.assert_allclose(linear(x, w.T.copy(), b, transposed=True), y, rtol=1e-14)
    vector = np.array([[3.0, 4.0]])
    assert np.sqrt(linear(vector, vector, transposed=True)) == 5
    layer = Perceptron(2, 4, Initializer(0))
    assert layer.count() == 2 * 4 + 4


@pytest.mark.ledger("T-3.2-V-layer")
@given(generators(), st.permutations(range(4)))
def test_the_same_map_at_every_position(rng, order):
    layer = Perceptron(3, 2, Initializer(1), activation="relu").without_gradient()
    x = rng.standard_normal((4, 3))
    np.testing.assert_allclose(layer(x[order]), layer(x)[order], rtol=1e-5, atol=1e-6)
    alone = np.concatenate([layer(row[None]) for row in x])
    np.testing.assert_allclose(alone, np.maximum(0, x @ layer.weights + layer.biases), rtol=1e-5, atol=1e-6)


def column(x, w, b):
    """y = W x + b for one column vector, the notes' form."""
    return linear(x, w, b, transposed=True)


@pytest.mark.ledger(
    "N-3.2-linear",
    "N-3.2-dW",
    "N-3.3eq-db",
    "N-3.4eq-dx",
    "N-2.1-jac",
    "N-2.1-tensor",
    "T-4.3.23-24",
    "T-1.2-jacnotation",
)
@given(generators(), sizes(1, 3), sizes(1, 3))
def test_jacobians_of_one_vector(rng, m, n):
    x, w, b = rng.standard_normal(n), rng.standard_normal((m, n)), rng.standard_normal(m)
    np.testing.assert_allclose(column(x[None], w, b)[0], [sum(w[i] * x) + b[i] for i in range(m)], rtol=1e-12)

    by_weights = jacobian(lambda w: column(x[None], w, b), w)[0]  # [m, m, n]: output i, then the matrix
    expected = np.zeros((m, m, n))
    for i in range(m):
        expected[i, i] = x  # output i knows row i of W and no other
    np.testing.assert_array_equal(by_weights, expected)
    np.testing.assert_array_equal(jacobian(lambda b: column(x[None], w, b), b)[0], np.eye(m))
    np.testing.assert_array_equal(jacobian(lambda x: column(x, w, b), x[None])[0, :, 0], w)


@pytest.mark.ledger("N-3.2-dldW", "N-3.2-dldb", "N-3.2-dldx")
@given(generators())
def test_gradients_of_one_vector(rng):
    x, w, b = Tensor(rng.standard_normal((1, 3))), Tensor(rng.standard_normal((2, 3))), Tensor(rng.standard_normal(2))
    upstream = rng.standard_normal(2)
    dw, db, dx = backpropagate(column(x, w, b), [w, b, x], [upstream[None]])
    np.testing.assert_allclose(dw, np.outer(upstream, x.value), rtol=1e-14)
    np.testing.assert_array_equal(db, upstream)
    np.testing.assert_allclose(dx[0], w.value.T @ upstream, rtol=1e-12, atol=1e-14)


@pytest.mark.ledger("N-2.1-diff")
def test_a_small_change_moves_the_output_by_the_jacobian():
    rng = np.random.default_rng(2)
    x, w, b, direction = (rng.standard_normal(shape) for shape in ((1, 3), (2, 3), (2,), (1, 3)))

    def function(x):
        return linear(x, w, b, activation="tanh", transposed=True)

    matrix = jacobian(function, x)[0, :, 0]
    remainder = [
        abs(function(x + h * direction)[0] - function(x)[0] - matrix @ (h * direction[0])).max() for h in (1e-2, 1e-3)
    ]
    assert remainder[0] < 1e-3
    assert remainder[0] / remainder[1] == pytest.approx(100, rel=0.1)  # what is left is of second order


@pytest.mark.ledger("T-4.3-dReLU")
def test_a_neuron_at_exactly_zero_passes_nothing_on():
    x, w = Tensor(np.ones((1, 2))), Tensor(np.array([[1.0, 1.0], [-1.0, 1.0]]))
    dx, dw = backpropagate(linear(x, w, activation="relu"), [x, w], [np.ones((1, 2))])
    np.testing.assert_array_equal(dx, [[1, 1]])
    np.testing.assert_array_equal(dw, [[0, 1], [0, 1]])


def test_an_unknown_activation_is_refused():
    with pytest.raises(ConfigurationError, match="'swish'"):
        linear(np.ones((1, 1)), np.ones((1, 1)), activation="swish")
