"""Pooling: all rows of a sequence to one."""

from __future__ import annotations

import numpy as np

from dragoman.graph import Array, Backward, operation
from dragoman.operations.shapes import check_offsets, check_shapes


def _per_sequence(reduce: np.ufunc, rows: Array, offsets: Array) -> Array:
    """[B, ...]: the sum, the maximum, ... over the rows of each sequence; 0 for an empty one."""
    filled = np.diff(offsets) > 0
    y = np.zeros((len(filled), *rows.shape[1:]), rows.dtype)
    if filled.any():
        y[filled] = reduce.reduceat(rows, offsets[:-1][filled], axis=0)
    return y


@operation
def mean_rows(x: Array, *, offsets: Array) -> tuple[Array, Backward]:
    """The mean over each sequence       x [N, d]   ->   y [B, d]; 0 for an empty sequence (lecture, pooling)"""
    check_shapes("mean_rows", x=(x, "N d"))
    check_offsets("mean_rows", x, offsets)
    lengths = np.diff(offsets)
    share = np.repeat(1 / np.maximum(lengths, 1), lengths).astype(x.real.dtype)[:, None]

    def backward(dy: Array) -> Array:
        dx: Array = np.repeat(dy, lengths, axis=0) * share
        return dx

    return _per_sequence(np.add, x * share, offsets), backward


@operation
def last_rows(x: Array, *, offsets: Array) -> tuple[Array, Backward]:
    """The last row of each sequence       x [N, d]   ->   y [B, d]; 0 for an empty sequence"""
    check_shapes("last_rows", x=(x, "N d"))
    check_offsets("last_rows", x, offsets)
    filled = np.diff(offsets) > 0
    last = offsets[1:][filled] - 1
    y = np.zeros((len(filled), x.shape[1]), x.dtype)
    y[filled] = x[last]

    def backward(dy: Array) -> Array:
        dx = np.zeros(x.shape, dy.dtype)
        dx[last] += dy[filled]
        return dx

    return y, backward


@operation
def max_rows(x: Array, *, offsets: Array) -> tuple[Array, Backward]:
    """y_bj = x_nj of the first row n of sequence b where column j is largest       x [N, d]   ->   y [B, d]

    0 for an empty sequence.
    """
    check_shapes("max_rows", x=(x, "N d"))
    check_offsets("max_rows", x, offsets)
    lengths = np.diff(offsets)
    filled = lengths > 0
    highest = np.repeat(_per_sequence(np.maximum, x.real, offsets), lengths, axis=0)
    chosen = (x.real == highest) | np.isnan(x.real)  # NaN propagates
    candidates = np.where(chosen, np.arange(len(x))[:, None], len(x))
    first = _per_sequence(np.minimum, candidates, offsets)[filled]
    y = np.zeros((len(lengths), x.shape[1]), x.dtype)
    y[filled] = np.take_along_axis(x, first, axis=0)

    def backward(dy: Array) -> Array:
        """dx_nj = dy_bj where row n was chosen, else 0"""
        dx = np.zeros(x.shape, dy.dtype)
        np.put_along_axis(dx, first, dy[filled], axis=0)
        return dx

    return y, backward


@operation
def attention_pool(x: Array, query: Array, *, offsets: Array) -> tuple[Array, Backward]:
    """y_b = sum_n alpha_n x_n over the rows of sequence b, alpha = softmax of s_n = x_n . q over these rows

    x [N, d]   query [d]   ->   y [B, d]; 0 for an empty sequence
    """
    check_shapes("attention_pool", x=(x, "N d"), query=(query, "d"))
    check_offsets("attention_pool", x, offsets)
    lengths = np.diff(offsets)
    alpha = _softmax_per_sequence(x @ query, offsets)
    y = _per_sequence(np.add, alpha[:, None] * x, offsets)

    def backward(dy: Array) -> tuple[Array, Array]:
        """dalpha_n = x_n . dy_b;   ds = alpha (dalpha - sum_k alpha_k dalpha_k), (1.2.2) for each sequence"""
        drows = np.repeat(dy, lengths, axis=0)
        dalpha = (x * drows).sum(axis=1)
        mean = np.repeat(_per_sequence(np.add, alpha * dalpha, offsets), lengths)
        dscores = alpha * (dalpha - mean)
        return alpha[:, None] * drows + dscores[:, None] * query, dscores @ x

    return y, backward


def _softmax_per_sequence(scores: Array, offsets: Array) -> Array:
    """[N]: the scores of each sequence to weights whose sum is 1."""
    lengths = np.diff(offsets)
    e = np.exp(scores - np.repeat(_per_sequence(np.maximum, scores.real, offsets), lengths))
    weights: Array = e / np.repeat(_per_sequence(np.add, e, offsets), lengths)
    return weights
