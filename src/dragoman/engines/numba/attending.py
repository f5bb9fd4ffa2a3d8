"""The attention operations of dragoman.operations on compiled kernels: wide ones where heads are eights of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman import operations
from dragoman.engines.numba import attention, wide_attention
from dragoman.engines.numba.arguments import longest_of, matrices, packed
from dragoman.graph import Array, Backward

ENGINE = "numba"


@operations.attend_self.register(ENGINE)
def attend_self(
    qkv: Array,
    distance_bias: Array | None = None,
    *,
    offsets: Array,
    heads: int,
    causal: bool = False,
    scaled: bool = True,
) -> Any:
    if qkv.ndim != 2 or qkv.shape[1] % 3 or not _bias_fits(distance_bias, qkv.dtype, heads):
        return NotImplemented
    d = qkv.shape[1] // 3
    longest = _longest_fit(qkv, qkv, d, offsets, offsets, heads)
    if longest < 0:
        return NotImplemented
    layout = (offsets, offsets, longest, heads, causal, scaled)
    y, backward_parts = _attend(qkv, qkv, (0, d, 2 * d), distance_bias, *layout)

    def backward(dy: Array) -> tuple[Array, Array | None]:
        dqkv = np.empty_like(qkv)
        return dqkv, backward_parts(dy, dqkv, dqkv)

    return y, backward


@operations.attend_cross.register(ENGINE)
def attend_cross(
    queries: Array, kv: Array, *, offsets: Array, memory_offsets: Array, heads: int, scaled: bool = True
) -> Any:
    if queries.ndim != 2 or kv.ndim != 2 or kv.shape[1] != 2 * queries.shape[1]:
        return NotImplemented
    d = queries.shape[1]
    longest = _longest_fit(queries, kv, d, offsets, memory_offsets, heads)
    if longest < 0:
        return NotImplemented
    layout = (offsets, memory_offsets, longest, heads, False, scaled)
    y, backward_parts = _attend(queries, kv, (0, 0, d), None, *layout)

    def backward(dy: Array) -> tuple[Array, Array]:
        dqueries, dkv = np.empty_like(queries), np.empty_like(kv)
        backward_parts(dy, dqueries, dkv)
        return dqueries, dkv

    return y, backward


@operations.attend_step.register(ENGINE)
def attend_step(
    queries: Array,
    rows: Array,
    distance_bias: Array | None = None,
    *,
    starts: Array,
    lengths: Array,
    heads: int,
    scaled: bool = True,
) -> Any:
    queries = np.ascontiguousarray(queries)
    depth = queries.shape[1]
    width = depth // heads
    if queries.dtype != np.float32 or width % 8 or not matrices(queries, rows) or rows.shape[1] != 2 * depth:
        return NotImplemented
    if len(starts) != len(queries) or not _bias_fits(distance_bias, queries.dtype, heads) or not len(starts):
        return NotImplemented
    if starts.min() < 0 or lengths.min() < 0 or (starts + lengths).max() > len(rows):
        return NotImplemented
    y = np.empty_like(queries)
    bias = attention.NO_BIAS[queries.dtype] if distance_bias is None else distance_bias
    scale = np.float32(width**-0.5 if scaled else 1.0)
    work = np.empty(max(1, int(lengths.max())), np.float32)
    wide_attention.step(
        lane_of(width), queries.reshape(-1), rows.reshape(-1), starts, lengths, heads, scale, bias, y.reshape(-1), work
    )
    return y


def lane_of(width: int) -> tuple[int, ...]:
    """The width of a head as wide_attention takes it."""
    return (0,) * (width // 8)


def _longest_fit(q: Array, k: Array, depth: int, offsets: Array, memory_offsets: Array, heads: int) -> int:
    """The most rows of a sequence of k; -1 where kernels do not fit."""
    if not matrices(q, k) or heads < 1 or depth % heads or len(offsets) != len(memory_offsets):
        return -1
    longest = longest_of(k, memory_offsets)
    return longest if (q is k and offsets is memory_offsets) or packed(q, offsets) else -1


def _bias_fits(bias: Array | None, kind: Any, heads: int) -> bool:
    return bias is None or (
        bias.dtype == kind
        and bias.ndim == 2
        and bias.flags.c_contiguous
        and len(bias) == heads
        and bias.shape[1] % 2 == 1
    )


def _attend(
    q: Array,
    k: Array,
    columns: tuple[int, int, int],
    bias: Array | None,
    offsets: Array,
    memory_offsets: Array,
    longest: int,
    heads: int,
    causal: bool,
    scaled: bool,
) -> tuple[Array, Backward]:
    """Attention on rows of q and k (which holds the values too), beginning at the given columns."""
    q0, k0, v0 = columns
    kind, depth = q.dtype, k.shape[1] - v0
    width = depth // heads
    scale = kind.type(width**-0.5 if scaled else 1.0)
    ends, memory_ends = offsets.astype(np.int64, copy=False), memory_offsets.astype(np.int64, copy=False)
    added = attention.NO_BIAS[kind] if bias is None else bias
    y, lse = np.empty((len(q), depth), kind), np.empty((len(q), heads), kind)
    wide = kind == np.float32 and width % 8 == 0
    layout = (ends, memory_ends, heads, causal, scale, added)
    if wide:
        flat = (q.reshape(-1), q.shape[1], q0, k.reshape(-1), k.shape[1], k0, v0)
        wide_attention.forward(
            lane_of(width), *flat, *layout, y.reshape(-1), lse, np.empty(longest * (2 * width + 1), kind)
        )
    else:
        attention.forward(width, q, q0, k, k0, k, v0, *layout, y, lse, np.empty((width + 1, longest), kind))

    def backward_parts(dy: Array, dq: Array, dk: Array) -> Array | None:
        """Writes dq and dk; returns the derivative of the bias."""
        delta, dbias = np.ascontiguousarray(dy), np.zeros_like(added)
        if wide:
            work = np.empty(longest * (4 * width + 2), kind)
            flat_deltas = (delta.reshape(-1), dq.reshape(-1), dk.reshape(-1))
            wide_attention.backward(lane_of(width), *flat, *layout, y.reshape(-1), lse, *flat_deltas, dbias, work)
        else:
            work = np.empty((2 * width + 2, longest), kind)
            attention.backward(width, q, q0, k, k0, k, v0, *layout, y, lse, delta, dq, dk, dk, dbias, work)
        return None if bias is None else dbias

    return y, backward_parts
