"""Section 2.1 and the Jacobians of section 3, with torch's automatic differentiation as the oracle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from dragoman.graph import Array, Tensor, backpropagate, gradient_check
from dragoman.operations import activate, linear, softmax
from dragoman.operations.teaching import jacobians

RNG = np.random.default_rng(4)
x, W, b = RNG.standard_normal(4), RNG.standard_normal((3, 4)), RNG.standard_normal(3)


def oracle(function: Callable[[torch.Tensor], torch.Tensor], at: Array) -> Array:
    """dy/dx by torch, [*y.shape, *x.shape]"""
    found: Array = torch.autograd.functional.jacobian(function, torch.from_numpy(at)).numpy()
    return found


def constant(array: Array) -> torch.Tensor:
    return torch.from_numpy(array)


@pytest.mark.parametrize(
    ("closed", "function", "at", "shape"),
    [
        pytest.param(
            jacobians.linear_jacobian_weights(x, 3),
            lambda w: w @ constant(x) + constant(b),
            W,
            (3, 3, 4),
            marks=pytest.mark.ledger("N-3.2-dW", "N-2.1-tensor"),
        ),
        pytest.param(
            jacobians.linear_jacobian_biases(3),
            lambda bias: constant(W) @ constant(x) + bias,
            b,
            (3, 3),
            marks=pytest.mark.ledger("N-3.3eq-db"),
        ),
        pytest.param(
            jacobians.linear_jacobian_input(W),
            lambda v: constant(W) @ v + constant(b),
            x,
            (3, 4),
            marks=pytest.mark.ledger("N-3.4eq-dx", "N-2.1-jac"),
        ),
        pytest.param(jacobians.relu_jacobian(x), torch.relu, x, (4, 4), marks=pytest.mark.ledger("N-3.3-drelu")),
        pytest.param(
            jacobians.softmax_jacobian(x),
            lambda v: torch.softmax(v, dim=0),
            x,
            (4, 4),
            marks=pytest.mark.ledger("N-3.4.1", "N-3.4.2", "N-3.4.3"),
        ),
    ],
    ids=["weights", "biases", "input", "relu", "softmax"],
)
def test_jacobians_like_torch(closed: Array, function, at: Array, shape: tuple[int, ...]) -> None:
    assert closed.shape == shape
    np.testing.assert_allclose(closed, oracle(function, at), rtol=0, atol=1e-15)


@pytest.mark.ledger("N-2.1-jac", "N-2.1-scalar")
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda v: np.array([v[0] * v[1], v[1] * v[1] * v[2]]), [[3.0, 2.0, 0.0], [0.0, 24.0, 9.0]]),
        (lambda v: v[0] * v[1] + v[2] * v[2], [3.0, 2.0, 8.0]),
    ],
    ids=["two outputs", "a scalar: one row"],
)
def test_a_row_for_each_output_and_a_column_for_each_input(function, expected: list[object]) -> None:
    found = jacobians.numerical_jacobian(function, np.array([2.0, 3.0, 4.0]))
    np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.ledger("N-2.1-diff")
def test_a_small_change_passes_through_the_jacobian() -> None:
    """What the first order leaves falls with the square of the change."""
    change = RNG.standard_normal(4)

    def rest(h: float) -> float:
        moved = softmax(x + h * change) - softmax(x)
        return float(np.abs(moved - h * jacobians.softmax_jacobian(x) @ change).max())

    assert rest(1e-3) / rest(1e-4) == pytest.approx(100, rel=0.01)


@pytest.mark.ledger("N-2.1-vec", "N-2.1-matderiv", "N-2.1-tensor")
def test_differentiating_by_the_flattened_matrix_and_folding_back() -> None:
    C = RNG.standard_normal((3, 4))
    by_matrix = jacobians.numerical_jacobian(lambda w: (w * C).sum(), W)
    flat = jacobians.numerical_jacobian(lambda v: (v.reshape(3, 4) * C).sum(), W.ravel())
    np.testing.assert_allclose(by_matrix, C, rtol=1e-14)
    np.testing.assert_allclose(flat.reshape(3, 4), C, rtol=1e-14)


@pytest.mark.ledger("N-3.2-dW", "N-2.1-vec")
def test_the_printed_blocks_need_a_matrix_read_row_by_row() -> None:
    """E-N1: rows of W one after the other give x in block i of row i; columns, as the text has it, do not."""
    tensor = jacobians.linear_jacobian_weights(np.array([5.0, 7.0]), 2)
    assert tensor.reshape(2, 4).tolist() == [[5, 7, 0, 0], [0, 0, 5, 7]]
    assert tensor.transpose(0, 2, 1).reshape(2, 4).tolist() == [[5, 0, 7, 0], [0, 5, 0, 7]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("x", [[-2.0, -1.0]], marks=pytest.mark.ledger("N-3.2-dldx")),  # W^T dl/dy
        pytest.param("W", [[5.0, 7.0], [-5.0, -7.0]], marks=pytest.mark.ledger("N-3.2-dldW")),  # dl/dy x^T
        pytest.param("b", [1.0, -1.0], marks=pytest.mark.ledger("N-3.2-dldb")),  # dl/dy
    ],
)
def test_gradients_of_a_linear_layer_by_hand(name: str, expected: list[object]) -> None:
    leaves = {
        "x": Tensor(np.array([[5.0, 7.0]])),
        "W": Tensor(np.array([[1.0, 2.0], [3.0, 3.0]])),
        "b": Tensor(np.array([0.5, 0.0])),
    }
    y = linear(*leaves.values(), transposed=True)
    assert y.value.tolist() == [[19.5, 36.0]]
    (found,) = backpropagate([y], [leaves[name]], [np.array([[1.0, -1.0]])])
    assert found.tolist() == expected


@pytest.mark.ledger("N-3.2-linear")
def test_the_linear_layer_of_a_column_is_that_of_a_row() -> None:
    np.testing.assert_allclose(linear(x[None, :], W, b, transposed=True), (W @ x + b)[None, :], rtol=1e-15)


@pytest.mark.ledger("N-3.1-chain", "N-2-backprop")
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_two_layers_back_propagated_like_torch(activation: str) -> None:
    arrays = [x[None, :], W, b, RNG.standard_normal((2, 3)), RNG.standard_normal(2)]
    upstream = RNG.standard_normal((1, 2))

    def network(x, W1, b1, W2, b2):
        return linear(activate(linear(x, W1, b1, transposed=True), activation=activation), W2, b2, transposed=True)

    leaves = [Tensor(array) for array in arrays]
    found = backpropagate([network(*leaves)], leaves, [upstream])

    twins = [torch.tensor(array, requires_grad=True) for array in arrays]
    hidden = getattr(torch, activation)(torch.nn.functional.linear(*twins[:3]))
    torch.nn.functional.linear(hidden, *twins[3:]).backward(torch.from_numpy(upstream))
    for mine, twin in zip(found, twins, strict=True):
        np.testing.assert_allclose(mine, twin.grad.numpy(), rtol=0, atol=1e-14)
    gradient_check(network, *arrays).require()
