"""Activations, element by element, each beside its derivative."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Backward, operation

GELU_SLOPE = math.sqrt(2 / math.pi)  # a Python number leaves float32 as it is
GELU_CUBE = 0.044715


def identity(x: Array) -> Array:
    """Id(x) = x"""
    return x


def relu(x: Array) -> Array:
    """ReLU(x) = max(0, x), written so that the complex step passes through it."""
    return x * (x.real > 0)


def logistic(x: Array) -> Array:
    """1 / (1 + e^-x) (Observation 3.14), as e^x / (1 + e^x) for x < 0: no overflow, and its lower tail is kept."""
    negative = x.real < 0
    e = np.exp(np.where(negative, x, -x))
    y: Array = np.where(negative, e, 1) / (1 + e)
    return y


def tanh(x: Array) -> Array:
    return np.tanh(x)


def gelu(x: Array) -> Array:
    """x Phi(x) with the usual tanh form of the normal distribution."""
    y: Array = 0.5 * x * (1 + np.tanh(GELU_SLOPE * (x + GELU_CUBE * x * x * x)))
    return y


def _gelu_derivative(x: Array, y: Array) -> Array:
    t = np.tanh(GELU_SLOPE * (x + GELU_CUBE * x * x * x))
    slope: Array = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * GELU_SLOPE * (1 + 3 * GELU_CUBE * x * x)
    return slope


# name: (a(x), a'(x) given x and y = a(x)); ReLU'(0) = 0 by convention
ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array, Array], Array]]] = {
    "identity": (identity, lambda x, y: np.ones_like(x)),
    "relu": (relu, lambda x, y: (y > 0).astype(y.dtype)),
    "logistic": (logistic, lambda x, y: y * (1 - y)),
    "tanh": (tanh, lambda x, y: 1 - y * y),
    "gelu": (gelu, _gelu_derivative),
}


def find_activation(name: str) -> tuple[Callable[[Array], Array], Callable[[Array, Array], Array]]:
    if name not in ACTIVATIONS:
        raise ConfigurationError(f"unknown activation '{name}'; available: {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[name]


@operation
def clip_values(x: Array, *, limit: float) -> tuple[Array, Backward]:
    """y = x between -limit and limit, the nearer of the two beyond them, any shape          (notes 3.4)"""
    if not limit > 0:
        raise ConfigurationError(f"values are clipped to a limit above 0, got {limit}")
    inside = (x.real >= -limit) & (x.real <= limit)
    y: Array = np.where(inside, x, np.sign(x.real) * limit).astype(x.dtype)

    def backward(dy: Array) -> Array:
        """A clipped value does not move: its derivative is 0."""
        dx: Array = dy * inside
        return dx

    return y, backward


@operation
def activate(x: Array, *, activation: str) -> tuple[Array, Backward]:
    """y = a(x), any shape               (thesis, 3.2 V)"""
    function, derivative = find_activation(activation)
    y = function(x)

    def backward(dy: Array) -> Array:
        """(4.3.3): de/dx = a'(x) dy"""
        return derivative(x, y) * dy

    return y, backward
