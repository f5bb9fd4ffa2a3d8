"""Jacobians written out. Training never forms one; they are here to be looked at and to check the closed forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dragoman.graph import Array
from dragoman.operations.softmax import masked_softmax

STEP = 1e-200


def numerical_jacobian(function: Callable[[Array], Array], x: Array) -> Array:
    """dy/dx by the complex step: shape [*y.shape, *x.shape], entry (i, j) = dy_i/dx_j (notes 2.1)."""
    columns = []
    for index in np.ndindex(x.shape):
        shifted = x.astype(np.complex128)
        shifted[index] += 1j * STEP
        columns.append(np.imag(function(shifted)) / STEP)
    y_shape = np.shape(columns[0])
    return np.stack(columns, axis=-1).reshape(*y_shape, *x.shape)


def softmax_jacobian(x: Array) -> Array:
    """dS_k/dx_i = S_i (1{i = k} - S_k)      x [d] -> [d, d], symmetric      (1.2.2), notes (3.4.1)-(3.4.3)"""
    s = masked_softmax(x, None)
    jacobian: Array = np.diag(s) - np.outer(s, s)
    return jacobian


def linear_jacobian_weights(x: Array, outputs: int) -> Array:
    """y = W x + b: dy_i/dW_jk = 1{i = j} x_k          x [n]   ->   [m, m, n]          notes (3.2)"""
    jacobian: Array = np.eye(outputs)[:, :, None] * x
    return jacobian


def linear_jacobian_biases(outputs: int) -> Array:
    """y = W x + b: dy/db = I          notes (3.3)"""
    return np.eye(outputs)


def linear_jacobian_input(weights: Array) -> Array:
    """y = W x + b: dy/dx = W          notes (3.4)"""
    return weights


def relu_jacobian(x: Array) -> Array:
    """diag(1{x_i > 0}), with 0 chosen at x_i = 0          notes 3.3"""
    return np.diag((x > 0).astype(x.dtype))


def centring_jacobian(depth: int) -> Array:
    """d(x - mu)_k/dx_i = 1{i = k} - 1/d          (4.3.9)"""
    return np.eye(depth) - 1 / depth


def deviation_gradient(x: Array) -> Array:
    """dsigma/dx_i = (x_i - mu) / (d sigma)          (4.3.11)"""
    centred = x - x.mean()
    gradient: Array = centred / (x.size * np.sqrt((centred * centred).mean()))
    return gradient


def standardize_jacobian(x: Array, epsilon: float) -> Array:
    """N(x) = (x - mu) / (sigma + eps): the quotient rule on (4.3.9) and (4.3.11)          (4.3.8)"""
    centred = x - x.mean()
    sigma = np.sqrt((centred * centred).mean())
    jacobian: Array = (
        centring_jacobian(x.size) / (sigma + epsilon)
        - np.outer(centred, deviation_gradient(x)) / (sigma + epsilon) ** 2
    )
    return jacobian
