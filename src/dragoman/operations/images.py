"""Images [B, H, W, C]: patches, convolution and pooling, all of them functions of the windows of an image."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, Backward, operation
from dragoman.operations.activations import find_activation
from dragoman.operations.shapes import check_shapes

Pair = tuple[int, int]  # down, across
PaddingKind = Literal["valid", "same"]


class Windows(NamedTuple):
    """Where windows lie over an image.

    height, width  of a window
    down, across   the stride: pixels from one window to the next
    top, left      pixels of padding before the image
    rows, columns  how many windows there are, down and across
    """

    height: int
    width: int
    down: int
    across: int
    top: int
    left: int
    rows: int
    columns: int


def windows_over(
    operation: str, x: Array, size: Pair, stride: Pair | None = None, padding: PaddingKind = "valid"
) -> Windows:
    """The windows of images x [B, H, W, C].

    valid  all that lie inside the image: 1 + floor((H - h) / s) of them; what is left at the end is not read
    same   ceil(H / s) of them: the image stands in the middle of a border of zeros (the larger half comes after it)
    """
    if padding not in ("valid", "same"):
        raise ConfigurationError(f"{operation}: padding is 'valid' or 'same', got {padding!r}")
    stride = size if stride is None else stride
    if min(*size, *stride) < 1:
        raise ConfigurationError(f"{operation}: windows and strides have at least one pixel, got {size} and {stride}")
    before, counts = [], []
    for length, window, step in zip(x.shape[1:3], size, stride, strict=True):
        if padding == "same":
            count = -(-length // step)
            before.append(max(0, (count - 1) * step + window - length) // 2)
        else:
            count = (length - window) // step + 1
            before.append(0)
        counts.append(count)
    if min(counts) < 1:
        raise ShapeError(f"{operation}: x has shape {x.shape}, a window of {size[0]} x {size[1]} does not fit into it")
    return Windows(*size, *stride, *before, *counts)


def cut_windows(x: Array, at: Windows) -> Array:
    """[B, rows, columns, height, width, C], a copy"""
    bottom = max(0, (at.rows - 1) * at.down + at.height - at.top - x.shape[1])
    right = max(0, (at.columns - 1) * at.across + at.width - at.left - x.shape[2])
    padded = np.pad(x, ((0, 0), (at.top, bottom), (at.left, right), (0, 0)))
    every = np.lib.stride_tricks.sliding_window_view(padded, (at.height, at.width), axis=(1, 2))
    chosen = every[:, : at.rows * at.down : at.down, : at.columns * at.across : at.across]
    return np.ascontiguousarray(chosen.transpose(0, 1, 2, 4, 5, 3))


def add_windows(windows: Array, at: Windows, shape: tuple[int, ...]) -> Array:
    """The transpose of `cut_windows`: every pixel gets the sum of its places in all windows; [B, H, W, C] = shape"""
    height = max(shape[1] + at.top, (at.rows - 1) * at.down + at.height)
    width = max(shape[2] + at.left, (at.columns - 1) * at.across + at.width)
    padded = np.zeros((shape[0], height, width, shape[3]), windows.dtype)
    for i in range(at.height):
        for j in range(at.width):
            rows = slice(i, i + at.rows * at.down, at.down)
            columns = slice(j, j + at.columns * at.across, at.across)
            padded[:, rows, columns] += windows[:, :, :, i, j]
    return padded[:, at.top : at.top + shape[1], at.left : at.left + shape[2]]


def check_patches(x: Array, size: Pair) -> None:
    """Check that patches cover the images exactly."""
    check_shapes("patches", x=(x, "B H W C"))
    if min(size) < 1 or x.shape[1] % size[0] or x.shape[2] % size[1]:
        raise ShapeError(
            f"patches: images of {x.shape[1]} x {x.shape[2]} pixels cannot be cut into patches of "
            f"{size[0]} x {size[1]}; choose a patch that divides both sides"
        )


@operation
def patches(x: Array, *, size: Pair) -> tuple[Array, Backward]:
    """Row p of an image is vec(patch p): its pixels row by row, all channels of a pixel together       (lecture)

    x [B, H, W, C]   size (h, w)   ->   y [B P, h w C], P = (H / h) (W / w), from left to right, then down
    """
    check_patches(x, size)
    at = windows_over("patches", x, size)

    def backward(dy: Array) -> Array:
        windows = dy.reshape(len(x), at.rows, at.columns, at.height, at.width, x.shape[3])
        return add_windows(windows, at, x.shape)

    return cut_windows(x, at).reshape(len(x) * at.rows * at.columns, size[0] * size[1] * x.shape[3]), backward


def check_convolution(x: Array, weights: Array, biases: Array | None, size: Pair) -> None:
    """Check that the weights are those of such windows."""
    check_shapes("convolve", x=(x, "B H W C"), weights=(weights, "d k"), biases=(biases, "k"))
    if len(weights) != size[0] * size[1] * x.shape[3]:
        raise ShapeError(
            f"convolve: windows of {size[0]} x {size[1]} over x, which has shape {x.shape}, hold "
            f"{size[0] * size[1] * x.shape[3]} numbers, but weights has shape {weights.shape}"
        )


@operation
def convolve(
    x: Array,
    weights: Array,
    biases: Array | None = None,
    *,
    size: Pair,
    stride: Pair = (1, 1),
    padding: PaddingKind = "valid",
    activation: str = "identity",
) -> tuple[Array, Backward]:
    """y_ij = a(vec(window ij of x) W + b), the same W for every window (and, as everywhere, no kernel is mirrored)

    x [B, H, W, C]   weights [h w C, k]   biases [k] or None   size (h, w)   ->   y [B, rows, columns, k]
    """
    check_convolution(x, weights, biases, size)
    function, derivative = find_activation(activation)
    at = windows_over("convolve", x, size, stride, padding)
    shape = (len(x), at.rows, at.columns, weights.shape[1])
    rows = cut_windows(x, at).reshape(len(x) * at.rows * at.columns, len(weights))
    c = rows @ weights
    if biases is not None:
        c = c + biases
    y = function(c)

    def backward(dy: Array) -> tuple[Array, Array, Array | None]:
        """That of `linear` for every window; a pixel gets the sum over the windows it lies in"""
        dc = dy.reshape(c.shape)
        dc = dc if activation == "identity" else derivative(c, y) * dc
        drows = dc @ weights.T
        windows = drows.reshape(*shape[:3], at.height, at.width, x.shape[3])
        return add_windows(windows, at, x.shape), rows.T @ dc, None if biases is None else dc.sum(axis=0)

    return y.reshape(shape), backward


@operation
def max_pool(x: Array, *, size: Pair, stride: Pair | None = None) -> tuple[Array, Backward]:
    """y_ijc = the largest x of channel c in window ij, the first one of equals; the stride is the size unless given

    x [B, H, W, C]   ->   y [B, rows, columns, C]
    """
    check_shapes("max_pool", x=(x, "B H W C"))
    at = windows_over("max_pool", x, size, stride)
    windows = cut_windows(x, at)
    flat = windows.reshape(*windows.shape[:3], at.height * at.width, x.shape[3])
    first = flat.real.argmax(axis=3, keepdims=True)  # NaN propagates
    y = np.take_along_axis(flat, first, axis=3)[:, :, :, 0]

    def backward(dy: Array) -> Array:
        """dx = dy where x was chosen, else 0, summed over windows"""
        dflat = np.zeros(flat.shape, dy.dtype)
        np.put_along_axis(dflat, first, dy[:, :, :, None], axis=3)
        return add_windows(dflat.reshape(windows.shape), at, x.shape)

    return y, backward


@operation
def average_pool(x: Array, *, size: Pair, stride: Pair | None = None) -> tuple[Array, Backward]:
    """y_ijc = the mean of channel c over window ij; the stride is the size unless given

    x [B, H, W, C]   ->   y [B, rows, columns, C]
    """
    check_shapes("average_pool", x=(x, "B H W C"))
    at = windows_over("average_pool", x, size, stride)
    share = x.real.dtype.type(1 / (at.height * at.width))

    def backward(dy: Array) -> Array:
        every = (len(x), at.rows, at.columns, at.height, at.width, x.shape[3])
        return add_windows(np.broadcast_to((dy * share)[:, :, :, None, None], every), at, x.shape)

    return cut_windows(x, at).sum(axis=(3, 4)) * share, backward
