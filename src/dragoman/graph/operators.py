"""Arithmetic on tensors: x + y, x - y, x * y, x / y, x @ y, -x and x ** n, with NumPy's broadcasting.

Each is an operation with its derivative beside it. Networks use the fused operations of `dragoman.operations`; these
are for expressions written with operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dragoman.graph.operation import operation
from dragoman.graph.tensor import Array, Backward, Tensor, Value, value_of


def _summed(dy: Array, shape: tuple[int, ...]) -> Array:
    """Sum a derivative over the axes along which an input of this shape was repeated."""
    dy = dy.sum(axis=tuple(range(dy.ndim - len(shape))))
    repeated = tuple(i for i, size in enumerate(shape) if size == 1 and dy.shape[i] != 1)
    return dy.sum(axis=repeated, keepdims=True) if repeated else dy


@operation
def sum_of(a: Array, b: Array) -> tuple[Array, Backward]:
    """y = a + b"""

    def backward(dy: Array) -> tuple[Array, Array]:
        return _summed(dy, a.shape), _summed(dy, b.shape)

    return a + b, backward


@operation
def difference(a: Array, b: Array) -> tuple[Array, Backward]:
    """y = a - b"""

    def backward(dy: Array) -> tuple[Array, Array]:
        return _summed(dy, a.shape), _summed(-dy, b.shape)

    return a - b, backward


@operation
def product(a: Array, b: Array) -> tuple[Array, Backward]:
    """y = a b, element by element"""

    def backward(dy: Array) -> tuple[Array, Array]:
        return _summed(dy * b, a.shape), _summed(dy * a, b.shape)

    return a * b, backward


@operation
def quotient(a: Array, b: Array) -> tuple[Array, Backward]:
    """y = a / b, element by element"""
    y = a / b

    def backward(dy: Array) -> tuple[Array, Array]:
        return _summed(dy / b, a.shape), _summed(-dy * y / b, b.shape)

    return y, backward


@operation
def matrix_product(a: Array, b: Array) -> tuple[Array, Backward]:
    """y = a b                           a [m, k]   b [k, n]   ->   y [m, n]"""
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"x @ y takes two matrices, got shapes {a.shape} and {b.shape}")

    def backward(dy: Array) -> tuple[Array, Array]:
        return dy @ b.T, a.T @ dy

    return a @ b, backward


@operation
def power(x: Array, *, exponent: float) -> tuple[Array, Backward]:
    """y = x^n, n a number"""

    def backward(dy: Array) -> Array:
        derivative: Array = dy * exponent * x ** (exponent - 1) if exponent else np.zeros_like(dy)
        return derivative

    return x**exponent, backward


@operation
def negative(x: Array) -> tuple[Array, Backward]:
    """y = -x"""

    def backward(dy: Array) -> Array:
        return -dy

    return -x, backward


def apply(function: Callable[[Value, Value], Any], a: Any, b: Any) -> Any:
    """Apply an operator to `a` and `b`, one of them a tensor; NotImplemented if the other is not a number or array."""
    kind = value_of(a if isinstance(a, Tensor) else b).dtype
    operands = [np.asarray(x, kind) if isinstance(x, int | float | np.number) else x for x in (a, b)]
    if not all(isinstance(x, Tensor | np.ndarray) for x in operands):
        return NotImplemented
    return function(operands[0], operands[1])
