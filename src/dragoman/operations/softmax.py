"""Softmax over the last axis, in the form that cannot overflow."""

from __future__ import annotations

import numpy as np

from dragoman.graph import Array, Backward, dispatched, operation


def shifted(x: Array) -> Array:
    """x - max x along the last axis: softmax and log-softmax do not notice (1.2.1)."""
    highest: Array = x.real.max(axis=-1, keepdims=True)
    return x - highest


def masked_softmax(x: Array, allowed: Array | None) -> Array:
    """Softmax over the last axis counting only the allowed entries; a row with none allowed is 0, never NaN."""
    if x.shape[-1] == 0:
        return x.copy()
    if allowed is None:
        e = np.exp(shifted(x))
        y: Array = e / e.sum(axis=-1, keepdims=True)
        return y
    highest = np.where(allowed, x.real, -np.inf).max(axis=-1, keepdims=True)
    highest = np.where(np.isfinite(highest), highest, 0).astype(x.real.dtype)
    e = np.where(allowed, np.exp(np.where(allowed, x - highest, 0)), 0).astype(x.dtype)
    total = e.sum(axis=-1, keepdims=True)
    y = e / np.where(total == 0, 1, total).astype(x.dtype)
    return y


def softmax_backward(y: Array, dy: Array) -> Array:
    """(1.2.2) applied without its Jacobian: dx = y (dy - sum_k y_k dy_k)"""
    dx: Array = y * (dy - (y * dy).sum(axis=-1, keepdims=True))
    return dx


@dispatched
def log_sum_exp(x: Array) -> tuple[Array, Array]:
    """(max, log sum_k e^x_k) of each row, in double precision; not recorded          x [N, V] -> [N], [N]"""
    top = x.max(axis=1).astype(np.float64)
    with np.errstate(all="ignore"):  # a row without a finite maximum has no sum, and its reader looks at the maximum
        exponentials = np.exp(x - x.max(axis=1, keepdims=True))
        return top, top + np.log(exponentials.sum(axis=1))


@operation
def softmax(x: Array) -> tuple[Array, Backward]:
    """y_k = e^(x_k - max x) / sum_i e^(x_i - max x)          (thesis, Definition 1.4 and (1.2.1))"""
    y = masked_softmax(x, None)

    def backward(dy: Array) -> Array:
        return softmax_backward(y, dy)

    return y, backward
