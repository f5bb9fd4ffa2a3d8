"""Registers attention: blocks for long float32 sequences, the SIMD kernels for shorter ones if the width of a head is a
multiple of 8, else the scalar ones. Each sequence goes to one of them by its own length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman import operations
from dragoman.engines.numba.kernels.attention import additive, blocked, blocked_backward, scalar, simd
from dragoman.engines.numba.kernels.attention.arguments import LONG
from dragoman.engines.numba.ops.arguments import are_integers, int64s, longest_of, matrices, packed, standard
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
    y, backward_parts = _attend(qkv, qkv, d, distance_bias, *layout)

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
    y, backward_parts = _attend(queries, kv, 0, None, *layout)

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
    if queries.ndim != 2 or heads < 1:
        return NotImplemented
    queries = standard(queries)
    depth = queries.shape[1]
    width = depth // heads
    if queries.dtype != np.float32 or width % 8 or depth % heads or not matrices(queries, rows):
        return NotImplemented
    if rows.ndim != 2 or rows.shape[1] != 2 * depth or not _bias_fits(distance_bias, queries.dtype, heads):
        return NotImplemented
    if not are_integers(starts, lengths) or not len(queries) == len(starts) == len(lengths) or not len(starts):
        return NotImplemented
    starts, lengths = int64s(starts), int64s(lengths)
    if starts.min() < 0 or lengths.min() < 0 or (lengths > len(rows) - starts).any():
        return NotImplemented
    y = np.empty_like(queries)
    bias = scalar.NO_BIAS[queries.dtype] if distance_bias is None else distance_bias
    scale = np.float32(width**-0.5 if scaled else 1.0)
    work = np.empty(max(1, int(lengths.max())), np.float32)
    simd.step(
        head_vectors_of(width),
        queries.reshape(-1),
        rows.reshape(-1),
        starts,
        lengths,
        heads,
        scale,
        bias,
        y.reshape(-1),
        work,
    )
    return y


def head_vectors_of(width: int) -> tuple[int, ...]:
    """The width of a head as the SIMD kernels take it."""
    return (0,) * (width // 8)


def kinds_of_sequences(offsets: Array, memory_offsets: Array, longest: int) -> tuple[bool, bool]:
    """Whether some sequences are long (`is_long`), and whether some are not; longest: the most keys"""
    if longest < LONG:
        return False, True
    long = np.minimum(np.diff(offsets), np.diff(memory_offsets)) >= LONG
    return bool(long.any()), not long.all()


def _longest_fit(q: Array, k: Array, depth: int, offsets: Array, memory_offsets: Array, heads: int) -> int:
    """The length of the longest sequence of k; -1 if the kernels do not support these arguments."""
    if not matrices(q, k) or heads < 1 or depth % heads:
        return -1
    longest = longest_of(k, memory_offsets)
    if q is k and offsets is memory_offsets:
        return longest
    return longest if packed(q, offsets) and len(offsets) == len(memory_offsets) else -1


def _bias_fits(bias: Array | None, kind: Any, heads: int) -> bool:
    return bias is None or (
        bias.dtype == kind and bias.ndim == 2 and matrices(bias) and len(bias) == heads and bias.shape[1] % 2 == 1
    )


def _attend(
    q: Array,
    kv: Array,
    k0: int,
    bias: Array | None,
    offsets: Array,
    memory_offsets: Array,
    longest: int,
    heads: int,
    causal: bool,
    scaled: bool,
) -> tuple[Array, Backward]:
    """Attention of the first columns of q to keys from column k0 of kv on, followed by the values."""
    kind, depth = q.dtype, (kv.shape[1] - k0) // 2
    width = depth // heads
    scale = kind.type(width**-0.5 if scaled else 1.0)
    ends, memory_ends = int64s(offsets), int64s(memory_offsets)
    added = scalar.NO_BIAS[kind] if bias is None else bias
    spec = ends, memory_ends, heads, causal, scale, added  # AttentionSpec
    y, lse = np.empty((len(q), depth), kind), np.empty((len(q), heads), kind)
    wide = kind == np.float32 and width % 8 == 0

    has_long, has_short = kinds_of_sequences(ends, memory_ends, longest) if kind == np.float32 else (False, True)
    columns = (q, 0, q.shape[1]), (kv, k0, kv.shape[1])  # Columns
    flat_columns = tuple((matrix.reshape(-1), *places) for matrix, *places in columns)
    if has_short and wide:
        work = np.empty(longest * (2 * width + 1), kind)
        address = simd.attend.address(kind, width // 8)
        simd.forward(address, head_vectors_of(width), *flat_columns, spec, y.reshape(-1), lse, work)
    elif has_short:
        scalar.forward(width, *columns, spec, y, lse, np.empty((width + 1, longest), kind))
    if has_long:
        blocked.forward(blocked.attend.address(kind), width, *flat_columns, spec, y.reshape(-1), lse)

    def backward_parts(dy: Array, dq: Array, dkv: Array) -> Array | None:
        """Write dq and dkv; returns the derivative of the bias."""
        dbias, deltas = np.zeros_like(added), (standard(dy), dq, dkv)
        flat = y.reshape(-1), lse, *(matrix.reshape(-1) for matrix in deltas), dbias
        if has_short and wide:
            work = np.empty(longest * (4 * width + 2), kind)
            address = simd.attend_backward.address(kind, width // 8)
            simd.backward(address, head_vectors_of(width), *flat_columns, spec, *flat, work)
        elif has_short:
            work = np.empty((2 * width + 2, longest), kind)
            scalar.backward(width, *columns, spec, y, lse, *deltas, dbias, work)
        if has_long:
            address = blocked_backward.attend_backward.address(kind)
            blocked_backward.backward(address, width, *flat_columns, spec, *flat)
        return None if bias is None else dbias

    return y, backward_parts


@operations.attend_additive.register(ENGINE)
def attend_additive(
    queries: Array, keys: Array, score_weights: Array, values: Array, *, offsets: Array, memory_offsets: Array
) -> Any:
    arrays = (queries, keys, score_weights, values)
    if not matrices(*arrays) or not _additive_fits(*arrays, offsets, memory_offsets):
        return NotImplemented
    ends, memory_ends = int64s(offsets), int64s(memory_offsets)
    y = np.empty((len(queries), values.shape[1]), queries.dtype)
    weights = np.empty(int(np.diff(ends) @ np.diff(memory_ends)), queries.dtype)
    additive.forward(arrays, ends, memory_ends, y, weights)

    def derivatives(dy: Array) -> tuple[Array, ...]:
        found = tuple(np.zeros_like(array) for array in arrays)
        additive.backward(arrays, ends, memory_ends, y, weights, standard(dy), found)
        return found

    return y, derivatives


def _additive_fits(q: Array, k: Array, w: Array, v: Array, offsets: Array, memory_offsets: Array) -> bool:
    if (q.ndim, k.ndim, w.ndim, v.ndim) != (2, 2, 1, 2) or not q.shape[1] == k.shape[1] == len(w) or len(k) != len(v):
        return False
    return packed(q, offsets) and packed(k, memory_offsets) and len(offsets) == len(memory_offsets)
