"""Attention by the additive score of the first translators that attended (book 7.4)."""

from __future__ import annotations

import numpy as np

from dragoman.graph import Array, Backward, Value, operation, value_of
from dragoman.operations.attention import Padding, allowed_keys
from dragoman.operations.shapes import check_offsets, check_shapes
from dragoman.operations.softmax import masked_softmax, softmax_backward


@operation
def attend_additive(
    queries: Array, keys: Array, score_weights: Array, values: Array, *, offsets: Array, memory_offsets: Array
) -> tuple[Array, Backward]:
    """u = sum_tau alpha_tau v<tau>,   alpha = softmax over tau of w . tanh(q + k<tau>)      (book, (7.20), (7.21))

    queries [N, k]   keys [M, k]   score_weights [k]   values [M, v]   ->   [N, v]
    q = W_sa z_q and k = W_sb z_k are `linear`s before it. The concatenation score w . tanh(W [z_q, z_k]) is the same
    with W = [W_sa, W_sb].
    """
    check_shapes(
        "attend_additive",
        queries=(queries, "N k"),
        keys=(keys, "M k"),
        score_weights=(score_weights, "k"),
        values=(values, "M v"),
    )
    inputs, context, bent, weights = _weigh(queries, keys, score_weights, offsets, memory_offsets)
    v = context.pad(values)
    y = inputs.pack(weights @ v)

    def backward(dy: Array) -> tuple[Array, Array, Array, Array]:
        dout = inputs.pad(dy)
        dv = weights.swapaxes(1, 2) @ dout
        dscores = softmax_backward(weights, dout @ v.swapaxes(1, 2))
        dscore_weights = np.tensordot(dscores, bent, 3)
        dsums = dscores[..., None] * score_weights * (1 - bent * bent)
        return inputs.pack(dsums.sum(axis=2)), context.pack(dsums.sum(axis=1)), dscore_weights, context.pack(dv)

    return y, backward


def additive_weights(queries: Value, keys: Value, score_weights: Value, offsets: Array, memory_offsets: Array) -> Array:
    """The weights behind `attend_additive`, recomputed and not recorded: [B, Tq, Tk], 0 where there is no row."""
    arrays = (value_of(queries), value_of(keys), value_of(score_weights))
    inputs, _, _, weights = _weigh(*arrays, offsets, memory_offsets)
    return weights if inputs.valid is None else weights * inputs.valid[:, :, None]


def _weigh(
    queries: Array, keys: Array, score_weights: Array, offsets: Array, memory_offsets: Array
) -> tuple[Padding, Padding, Array, Array]:
    """(the two paddings, tanh(q + k) [B, Tq, Tk, k], the weights [B, Tq, Tk])"""
    check_offsets("attend_additive", queries, offsets, "queries")
    check_offsets("attend_additive", keys, memory_offsets, "keys")
    inputs, context = Padding.of(offsets), Padding.of(memory_offsets)
    bent = np.tanh(inputs.pad(queries)[:, :, None] + context.pad(keys)[:, None])
    allowed = allowed_keys(inputs.length, context, False)
    return inputs, context, bent, masked_softmax(bent @ score_weights, None if allowed is None else allowed[:, 0])
