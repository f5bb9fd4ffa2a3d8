"""Registers the operations on images: windows become rows, and the products are those of `linear`."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman import operations
from dragoman.engines.numba.kernels import windows as kernels
from dragoman.engines.numba.ops import dense
from dragoman.engines.numba.ops.arguments import matrices, standard
from dragoman.graph import Array, DeferredGradient
from dragoman.operations.images import (
    PaddingKind,
    Pair,
    Windows,
    check_convolution,
    check_patches,
    windows_over,
)

ENGINE = dense.ENGINE


def _images(*arrays: Array | None) -> bool:
    """Whether the kernels cover these arrays, the first of which are images; others go to the definition."""
    return matrices(*arrays) and arrays[0] is not None and arrays[0].ndim == 4


def _rows(x: Array, at: Windows) -> Array:
    rows = np.empty((len(x) * at.rows * at.columns, at.height * at.width * x.shape[3]), x.dtype)
    kernels.cut_windows(x, tuple(at), rows)
    return rows


def _added(rows: Array, at: Windows, x: Array) -> Array:
    dx = np.zeros_like(x)
    kernels.add_windows(standard(rows), tuple(at), dx)
    return dx


@operations.patches.register(ENGINE)
def patches(x: Array, *, size: Pair) -> Any:
    if not _images(x):
        return NotImplemented
    check_patches(x, size)
    at = windows_over("patches", x, size)
    return _rows(x, at), lambda dy: _added(dy, at, x)


@operations.convolve.register(ENGINE)
def convolve(
    x: Array,
    weights: Array,
    biases: Array | None = None,
    *,
    size: Pair,
    stride: Pair = (1, 1),
    padding: PaddingKind = "valid",
    activation: str = "identity",
) -> Any:
    if not _images(x, weights, biases) or weights.ndim != 2:
        return NotImplemented
    check_convolution(x, weights, biases, size)
    at = windows_over("convolve", x, size, stride, padding)
    product = dense.linear(_rows(x, at), weights, biases, activation=activation)
    if product is NotImplemented:
        return NotImplemented
    y, product_backward = product

    def backward(dy: Array) -> tuple[Array, DeferredGradient, Array | None]:
        drows, dweights, dbiases = product_backward(dy.reshape(y.shape))
        return _added(drows, at, x), dweights, dbiases

    return y.reshape(len(x), at.rows, at.columns, weights.shape[1]), backward


@operations.max_pool.register(ENGINE)
def max_pool(x: Array, *, size: Pair, stride: Pair | None = None) -> Any:
    if not _images(x):
        return NotImplemented
    at = windows_over("max_pool", x, size, stride)
    shape = (len(x), at.rows, at.columns, x.shape[3])
    y, chosen = np.empty(shape, x.dtype), np.empty(shape, np.int32)
    kernels.max_pool(x, tuple(at), y, chosen)

    def backward(dy: Array) -> Array:
        dx = np.zeros_like(x)
        kernels.max_pool_backward(standard(dy), tuple(at), chosen, dx)
        return dx

    return y, backward


@operations.average_pool.register(ENGINE)
def average_pool(x: Array, *, size: Pair, stride: Pair | None = None) -> Any:
    if not _images(x):
        return NotImplemented
    at = windows_over("average_pool", x, size, stride)
    share = x.dtype.type(1 / (at.height * at.width))
    y = np.empty((len(x), at.rows, at.columns, x.shape[3]), x.dtype)
    kernels.average_pool(x, tuple(at), share, y)

    def backward(dy: Array) -> Array:
        dx = np.zeros_like(x)
        kernels.average_pool_backward(standard(dy), tuple(at), share, dx)
        return dx

    return y, backward
