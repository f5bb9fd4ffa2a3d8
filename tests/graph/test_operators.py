"""Expressions of tensors: the derivative of every operator, broadcasting, numbers and arrays on either side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from dragoman import Tensor, backpropagate, gradient_check
from dragoman.graph import Array, operators, value_of

RNG = np.random.default_rng(0)
SHAPES = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((), (2, 3))]


def numbers(*shape: int) -> Array:
    return RNG.uniform(0.5, 2.0, shape)


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("name", ["sum_of", "difference", "product", "quotient"])
def test_derivatives_of_broadcast_operators(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (numbers(*shape) for shape in shapes)
    gradient_check(getattr(operators, name), a, b).require()


def test_derivatives_of_the_others() -> None:
    gradient_check(operators.matrix_product, numbers(3, 4), numbers(4, 2)).require()
    gradient_check(operators.negative, numbers(3)).require()
    for exponent in (3, 2, 1, 0, -1, 0.5):
        gradient_check(operators.power, numbers(3), exponent=exponent).require()


def expression(x: Any, y: Any, w: Any) -> Any:
    return (2 * x - y / 3 + 1) @ w * x**2 / (1 + -y) - 0.5


def test_an_expression_has_the_value_and_the_gradients_that_pytorch_finds() -> None:
    arrays = numbers(3, 3), -numbers(3), numbers(3, 3)
    ours = [Tensor(array) for array in arrays]
    theirs = [torch.tensor(array, requires_grad=True) for array in arrays]
    found, expected = expression(*ours), expression(*theirs)
    np.testing.assert_allclose(value_of(found), expected.detach().numpy(), rtol=1e-13)
    delta = numbers(3, 3)
    expected.backward(torch.tensor(delta))
    gradients = backpropagate(found, ours, [delta])
    for gradient, tensor in zip(gradients, theirs, strict=True):
        np.testing.assert_allclose(gradient, tensor.grad.numpy(), rtol=1e-12)


def test_arrays_and_numbers_may_stand_on_either_side() -> None:
    x, array = Tensor(numbers(2).astype(np.float32)), numbers(2).astype(np.float32)
    for found, expected in ((array * x, array * x.value), (x - array, x.value - array), (3 / x, 3 / x.value)):
        assert isinstance(found, Tensor)
        assert found.value.dtype == np.float32
        np.testing.assert_array_equal(found.value, expected)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        Tensor(numbers(2)) + "1"  # type: ignore[operator]
