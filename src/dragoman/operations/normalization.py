"""Normalization of each row, alone and fused with the residual addition before it.

Two published forms differ in where epsilon stands:
    inside   (x - mu) / sqrt(sigma^2 + eps)     the book's, and every other library's
    outside  (x - mu) / (sigma + eps)           the thesis's
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Backward, operation
from dragoman.operations.dropout import Dropout
from dragoman.operations.shapes import check_shapes

Form = Literal["inside", "outside"]


def standardize_rows(x: Array, form: Form, epsilon: float) -> tuple[Array, Callable[[Array], Array]]:
    """xhat = (x - mu) / r with r = sqrt(sigma^2 + eps) or sigma + eps; and its derivative.

    A constant row gives 0 when eps = 0, as does its derivative.
    """
    if form not in ("inside", "outside"):
        raise ConfigurationError(f"a normalization form is 'inside' or 'outside', got '{form}'")
    mean = x.mean(axis=1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(axis=1, keepdims=True)
    if epsilon == 0:  # what is left of a constant row is the rounding of its mean
        constant = variance.real <= (8 * np.finfo(x.dtype).eps * mean.real) ** 2
        centred, variance = np.where(constant, 0, centred), np.where(constant, 0, variance)
    sigma = np.sqrt(variance)
    r = np.sqrt(variance + epsilon) if form == "inside" else sigma + epsilon
    inverse = _reciprocal(r)
    xhat = centred * inverse
    slope = inverse if form == "inside" else _reciprocal(sigma)

    def backward(dxhat: Array) -> Array:
        """(4.3.7): the third term has sigma, not sigma + eps, below it; at sigma = 0 it is 0 (its limit)."""
        average = dxhat.mean(axis=1, keepdims=True)
        projection = (xhat * dxhat).mean(axis=1, keepdims=True)
        dx: Array = (dxhat - average) * inverse - xhat * projection * slope
        return dx

    return xhat, backward


def _reciprocal(r: Array) -> Array:
    zero = r == 0
    return np.where(zero, 0, 1 / np.where(zero, 1, r)).astype(r.dtype)


@operation
def normalize(
    x: Array, gamma: Array, beta: Array, *, form: Form = "inside", epsilon: float = 1e-5
) -> tuple[Array, Backward]:
    """y = gamma * xhat + beta           (thesis, Definition 3.11)

    x [N, d]   gamma [d]   beta [d]   ->   y [N, d]
    """
    check_shapes("normalize", x=(x, "N d"), gamma=(gamma, "d"), beta=(beta, "d"))
    xhat, standardize_backward = standardize_rows(x, form, epsilon)
    y = xhat * gamma + beta

    def backward(dy: Array) -> tuple[Array, Array, Array]:
        """(4.3.5)-(4.3.7)"""
        dgamma = (xhat * dy).sum(axis=0)
        dbeta = dy.sum(axis=0)
        dx = standardize_backward(dy * gamma)
        return dx, dgamma, dbeta

    return y, backward


@operation
def add_normalize(
    update: Array,
    residual: Array,
    gamma: Array,
    beta: Array,
    *,
    form: Form = "inside",
    epsilon: float = 1e-5,
    dropout: Dropout | None = None,
) -> tuple[tuple[Array, Array], Backward]:
    """total = residual + dropout(update);  y = gamma * N(total) + beta

    update, residual [N, d]   gamma, beta [d]   ->   total [N, d], y [N, d]
    A post-norm block goes on with y alone (book 7.31); a pre-norm block keeps total as its residual stream.
    """
    check_shapes(
        "add_normalize", update=(update, "N d"), residual=(residual, "N d"), gamma=(gamma, "d"), beta=(beta, "d")
    )
    total = residual + (update if dropout is None else update * dropout.mask(update.shape, update.dtype))
    xhat, standardize_backward = standardize_rows(total, form, epsilon)
    y = xhat * gamma + beta

    def backward(dtotal: Array | None, dy: Array | None) -> tuple[Array, Array, Array, Array]:
        """(4.3.5)-(4.3.7), then (4.3.12)-(4.3.13): both addends get the delta of the sum."""
        if dy is None:
            dy = np.zeros_like(y)
        dgamma = (xhat * dy).sum(axis=0)
        dbeta = dy.sum(axis=0)
        dsum = standardize_backward(dy * gamma)
        if dtotal is not None:
            dsum = dsum + dtotal
        dupdate = dsum if dropout is None else dsum * dropout.mask(dsum.shape, dsum.dtype)
        return dupdate, dsum, dgamma, dbeta

    return (total, y), backward
