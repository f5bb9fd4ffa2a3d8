"""Multi-head attention on packed rows.

Rows of all sequences stand one after the other; `offsets` says where each begins. The reference pads inside, so that
one batched product serves all sentences and heads, and packs its result again. Head r owns the columns
r * d/h to (r + 1) * d/h of queries and keys, and r * e/h to (r + 1) * e/h of values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dragoman.errors import ShapeError
from dragoman.graph import Array, Backward, Value, dispatched, operation, value_of
from dragoman.operations.shapes import check_offsets, check_shapes
from dragoman.operations.softmax import masked_softmax, softmax_backward


@dataclass(frozen=True)
class Padding:
    """The way between packed rows [N, ...] and padded sequences [B, T, ...]."""

    batch: int
    length: int
    valid: Array | None  # [B, T], None when all sequences have the same length

    @classmethod
    def of(cls, offsets: Array) -> Padding:
        lengths = np.diff(offsets)
        longest = int(lengths.max(initial=0))
        if (lengths == longest).all():
            return cls(len(lengths), longest, None)
        return cls(len(lengths), longest, np.arange(longest)[None, :] < lengths[:, None])

    def pad(self, rows: Array) -> Array:
        if self.valid is None:
            return rows.reshape(self.batch, self.length, *rows.shape[1:])
        padded = np.zeros((self.batch, self.length, *rows.shape[1:]), rows.dtype)
        padded[self.valid] = rows
        return padded

    def pack(self, padded: Array) -> Array:
        if self.valid is None:
            return padded.reshape(self.batch * self.length, *padded.shape[2:])
        return padded[self.valid]


def split_heads(rows: Array, padding: Padding, heads: int) -> Array:
    """[N, d] -> [B, h, T, d/h]"""
    padded = padding.pad(rows)
    batch, length, depth = padded.shape
    return padded.reshape(batch, length, heads, depth // heads).transpose(0, 2, 1, 3)


def join_heads(x: Array, padding: Padding) -> Array:
    """[B, h, T, d/h] -> [N, d]"""
    batch, heads, length, width = x.shape
    return padding.pack(x.transpose(0, 2, 1, 3).reshape(batch, length, heads * width))


def allowed_keys(queries: int, keys: Padding, causal: bool) -> Array | None:
    """What each query may look at, [B or 1, 1, Tq, Tk]: real keys, and with causal only those not after it."""
    allowed = None if keys.valid is None else keys.valid[:, None, None, :]
    if causal:
        triangle = np.tri(queries, keys.length, dtype=bool)[None, None]
        allowed = triangle if allowed is None else allowed & triangle
    return allowed


def clipped_distance(queries: int, keys: int, buckets: int) -> Array:
    """[Tq, Tk]: key position - query position, clipped to +-(buckets - 1)/2, counted from 0."""
    reach = (buckets - 1) // 2
    distance: Array = np.arange(keys)[None, :] - np.arange(queries)[:, None]
    return np.clip(distance, -reach, reach) + reach


def _attend(
    q: Array,
    k: Array,
    v: Array,
    distance_bias: Array | None,
    offsets: Array,
    memory_offsets: Array,
    heads: int,
    causal: bool,
    scaled: bool,
) -> tuple[Array, Array, Callable[[Array], tuple[Array, Array, Array, Array | None]]]:
    """Output, weights and derivative, shared by the operations below."""
    check_shapes("attend", queries=(q, "N d"), keys=(k, "M d"), values=(v, "M e"), distance_bias=(distance_bias, "h R"))
    _check_layout(q, k, v, distance_bias, offsets, memory_offsets, heads)
    inputs, context = Padding.of(offsets), Padding.of(memory_offsets)
    scale = (q.shape[1] // heads) ** -0.5 if scaled else 1.0
    qh, kh, vh = split_heads(q, inputs, heads), split_heads(k, context, heads), split_heads(v, context, heads)
    scores = qh @ kh.swapaxes(2, 3) * scale
    if distance_bias is not None:
        distance = clipped_distance(inputs.length, context.length, distance_bias.shape[1])
        scores = scores + distance_bias[:, distance]
    weights = masked_softmax(scores, allowed_keys(inputs.length, context, causal))
    y = join_heads(weights @ vh, inputs)

    def backward(dy: Array) -> tuple[Array, Array, Array, Array | None]:
        """(4.3.22), (4.3.25), (4.3.26) with the derivatives of steps 2 and 3"""
        dout = split_heads(dy, inputs, heads)
        dvh = weights.swapaxes(2, 3) @ dout
        dscores = softmax_backward(weights, dout @ vh.swapaxes(2, 3))
        dbias = None
        if distance_bias is not None:
            dbias = np.zeros(distance_bias.shape, dscores.dtype)
            np.add.at(dbias.T, distance, dscores.sum(axis=0).transpose(1, 2, 0))
        dqh = dscores @ kh * scale
        dkh = dscores.swapaxes(2, 3) @ qh * scale
        return join_heads(dqh, inputs), join_heads(dkh, context), join_heads(dvh, context), dbias

    return y, weights, backward


def _check_layout(
    q: Array, k: Array, v: Array, distance_bias: Array | None, offsets: Array, memory_offsets: Array, heads: int
) -> None:
    for depth in (q.shape[1], v.shape[1]):
        if heads < 1 or depth % heads:
            raise ShapeError(f"attend: {heads} heads do not divide the depth {depth}")
    if distance_bias is not None and (distance_bias.shape[0] != heads or distance_bias.shape[1] % 2 == 0):
        raise ShapeError(
            f"attend: distance_bias has shape {distance_bias.shape}, expected [{heads}, an odd number of distances]"
        )
    if len(offsets) != len(memory_offsets):
        raise ShapeError(f"attend: {len(offsets) - 1} sequences of queries, {len(memory_offsets) - 1} of keys")
    for name, rows, ends in (("queries", q, offsets), ("keys", k, memory_offsets)):
        check_offsets("attend", rows, ends, name)


@operation
def attend(
    queries: Array,
    keys: Array,
    values: Array,
    distance_bias: Array | None = None,
    *,
    offsets: Array,
    memory_offsets: Array | None = None,
    heads: int,
    causal: bool = False,
    scaled: bool = True,
) -> tuple[Array, Backward]:
    """O = softmax(Q K^T / sqrt(d/h) + mask) V for every sequence and head       (thesis, 3.2 II, steps 1-3)

    queries [N, d]   keys [M, d]   values [M, e]   ->   [N, e], the heads side by side
    d = h m and e = h m_v: a head's queries and keys have m columns, its values m_v (book, (7.25)); usually m_v = m
    offsets [B + 1] of the queries, memory_offsets of keys and values (the same for self-attention)
    distance_bias [h, R], R odd: added to the score of each clipped distance (relative positions)
    """
    memory = offsets if memory_offsets is None else memory_offsets
    y, _, backward = _attend(queries, keys, values, distance_bias, offsets, memory, heads, causal, scaled)
    return y, backward


@operation
def attend_self(
    qkv: Array,
    distance_bias: Array | None = None,
    *,
    offsets: Array,
    heads: int,
    causal: bool = False,
    scaled: bool = True,
) -> tuple[Array, Backward]:
    """`attend` on queries, keys and values side by side, as one matrix product leaves them: qkv [N, 3 d] -> [N, d]"""
    q, k, v = _blocks("attend_self", qkv, 3)
    y, _, backward_parts = _attend(q, k, v, distance_bias, offsets, offsets, heads, causal, scaled)

    def backward(dy: Array) -> tuple[Array, Array | None]:
        dq, dk, dv, dbias = backward_parts(dy)
        return np.concatenate((dq, dk, dv), axis=1), dbias

    return y, backward


@operation
def attend_cross(
    queries: Array, kv: Array, *, offsets: Array, memory_offsets: Array, heads: int, scaled: bool = True
) -> tuple[Array, Backward]:
    """`attend` on keys and values side by side: queries [N, d], kv [M, 2 d] -> [N, d]"""
    k, v = _blocks("attend_cross", kv, 2)
    y, _, backward_parts = _attend(queries, k, v, None, offsets, memory_offsets, heads, False, scaled)

    def backward(dy: Array) -> tuple[Array, Array]:
        dq, dk, dv, _ = backward_parts(dy)
        return dq, np.concatenate((dk, dv), axis=1)

    return y, backward


@dispatched
def attend_step(
    queries: Array,
    rows: Array,
    distance_bias: Array | None = None,
    *,
    starts: Array,
    lengths: Array,
    heads: int,
    scaled: bool = True,
) -> Array:
    """`attend` for one new position of every sequence, against cached keys and values; decoding only, not recorded.

    queries [B, d]   rows [N, 2 d], keys and values side by side   ->   [B, d]
    Sequence b looks at `lengths[b]` rows from `starts[b]` on, of which its own position is the last: with a distance
    bias the distances are 1 - T to 0.
    """
    batch, depth = queries.shape
    width, longest = depth // heads, int(lengths.max(initial=0))
    places = np.minimum(starts[:, None] + np.arange(longest), len(rows) - 1)
    ragged = (lengths != longest).any()
    valid = (np.arange(longest) < lengths[:, None])[:, None, None, :] if ragged else None
    keys, values = np.split(rows[places].reshape(batch, longest, 2 * heads, width).transpose(0, 2, 1, 3), 2, axis=1)
    scale = width**-0.5 if scaled else 1.0
    scores = queries.reshape(batch, heads, 1, width) @ keys.swapaxes(2, 3) * scale
    if distance_bias is not None:
        reach = distance_bias.shape[1] // 2
        distance = np.clip(np.arange(longest) - (lengths[:, None] - 1), -reach, 0) + reach
        scores = scores + distance_bias[:, distance].swapaxes(0, 1)[:, :, None, :]
    y: Array = (masked_softmax(scores, valid) @ values).reshape(batch, depth)
    return y


def attention_weights(
    queries: Value,
    keys: Value,
    distance_bias: Value | None = None,
    *,
    offsets: Array,
    memory_offsets: Array | None = None,
    heads: int,
    causal: bool = False,
    scaled: bool = True,
) -> Array:
    """The weights behind `attend`, recomputed and not recorded: [B, h, Tq, Tk], 0 where a sequence has no row."""
    q, k = value_of(queries), value_of(keys)
    bias = None if distance_bias is None else value_of(distance_bias)
    memory = offsets if memory_offsets is None else memory_offsets
    _, weights, _ = _attend(q, k, np.zeros_like(k), bias, offsets, memory, heads, causal, scaled)
    inputs = Padding.of(offsets)
    return weights if inputs.valid is None else weights * inputs.valid[:, None, :, None]


def _blocks(operation_name: str, x: Array, count: int) -> list[Array]:
    if x.ndim != 2 or x.shape[1] % count:
        raise ShapeError(f"{operation_name}: expected {count} blocks of equal width side by side, got shape {x.shape}")
    return np.split(x, count, axis=1)
