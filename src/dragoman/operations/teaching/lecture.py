"""The lecture's forms of self-attention, from the naive one to Eq (4), each beside its derivative.

The lecture's tokens are columns: X [D, N], Y = X A, where column n' of A [N, N] holds what token n' (the query) takes
from every token n (the key) and totals 1. Here tokens are rows, as everywhere in this package: x = X^T [N, d],
W = A^T with one row for each query, and y = W x = Y^T. Projections keep the lecture's shapes, U [K, D] and V_h [D, D].

causal   token n' takes from tokens n <= n' alone: the other scores are removed before the softmax (A upper triangular)
scaled   scores are divided by sqrt(K), K the size of what is compared; the lecture prints sqrt(D) and means this
"""

from __future__ import annotations

import numpy as np

from dragoman.graph import Array, Backward, operation
from dragoman.operations.shapes import check_shapes
from dragoman.operations.softmax import masked_softmax, softmax_backward


def attention_matrix(queries: Array, keys: Array, causal: bool, scale: float) -> Array:
    """W_n'n = e^(scale q_n' . k_n) / sum_n'' e^(scale q_n' . k_n'')

    queries, keys [..., N, K]   ->   [..., N, N], one row for each query
    """
    allowed = np.tri(queries.shape[-2], dtype=bool) if causal else None
    return masked_softmax(queries @ keys.swapaxes(-1, -2) * scale, allowed)


@operation
def naive_attention(x: Array, *, causal: bool = False, scaled: bool = False) -> tuple[Array, Backward]:
    """A_nn' = e^(x_n . x_n') / sum_n'' e^(x_n'' . x_n'),  Y = X A          x [N, d]   ->   y [N, d]"""
    check_shapes("naive_attention", x=(x, "N d"))
    scale = x.shape[1] ** -0.5 if scaled else 1.0
    weights = attention_matrix(x, x, causal, scale)
    y = weights @ x

    def backward(dy: Array) -> Array:
        """x is averaged, is the query and is the key: three terms"""
        dscores = softmax_backward(weights, dy @ x.T) * scale
        dx: Array = weights.T @ dy + dscores @ x + dscores.T @ x
        return dx

    return y, backward


@operation
def symmetric_attention(x: Array, U: Array, *, causal: bool = False, scaled: bool = False) -> tuple[Array, Backward]:
    """A_nn' proportional to e^(x_n^T U^T U x_n'),  Y = X A          x [N, d]   U [K, d]   ->   y [N, d]"""
    check_shapes("symmetric_attention", x=(x, "N d"), U=(U, "K d"))
    scale = len(U) ** -0.5 if scaled else 1.0
    z = x @ U.T
    weights = attention_matrix(z, z, causal, scale)
    y = weights @ x

    def backward(dy: Array) -> tuple[Array, Array]:
        """z = U x is both query and key"""
        dscores = softmax_backward(weights, dy @ x.T) * scale
        dz = dscores @ z + dscores.T @ z
        dx = weights.T @ dy + dz @ U
        dU = dz.T @ x
        return dx, dU

    return y, backward


@operation
def asymmetric_attention(
    x: Array, U_q: Array, U_k: Array, *, causal: bool = False, scaled: bool = False
) -> tuple[Array, Backward]:
    """A_nn' proportional to e^(x_n^T U_k^T U_q x_n'),  Y = X A          x [N, d]   U_q, U_k [K, d]   ->   y [N, d]

    Eqs (2) and (3): q_n' = U_q x_n' is compared with k_n = U_k x_n.
    """
    check_shapes("asymmetric_attention", x=(x, "N d"), U_q=(U_q, "K d"), U_k=(U_k, "K d"))
    scale = len(U_q) ** -0.5 if scaled else 1.0
    q, k = x @ U_q.T, x @ U_k.T
    weights = attention_matrix(q, k, causal, scale)
    y = weights @ x

    def backward(dy: Array) -> tuple[Array, Array, Array]:
        dscores = softmax_backward(weights, dy @ x.T) * scale
        dq, dk = dscores @ k, dscores.T @ q
        dx = weights.T @ dy + dq @ U_q + dk @ U_k
        dU_q = dq.T @ x
        dU_k = dk.T @ x
        return dx, dU_q, dU_k

    return y, backward


@operation
def full_rank_attention(
    x: Array, U_q: Array, U_k: Array, V: Array, *, causal: bool = False, scaled: bool = False
) -> tuple[Array, Backward]:
    """Y = sum_h V_h X A_h          x [N, d]   U_q, U_k [h, K, d]   V [h, d, d]   ->   y [N, d]

    Eqs (4)-(6). V_h = U_h U_v,h of rank K = d/h gives the usual values and output projection.
    """
    check_shapes("full_rank_attention", x=(x, "N d"), U_q=(U_q, "h K d"), U_k=(U_k, "h K d"), V=(V, "h d d"))
    scale = U_q.shape[1] ** -0.5 if scaled else 1.0
    q, k = x @ U_q.swapaxes(1, 2), x @ U_k.swapaxes(1, 2)
    weights = attention_matrix(q, k, causal, scale)
    averages = weights @ x
    y = (averages @ V.swapaxes(1, 2)).sum(axis=0)

    def backward(dy: Array) -> tuple[Array, Array, Array, Array]:
        dV = dy.T @ averages
        daverages = dy @ V
        dscores = softmax_backward(weights, daverages @ x.T) * scale
        dq, dk = dscores @ k, dscores.swapaxes(1, 2) @ q
        dx = (weights.swapaxes(1, 2) @ daverages + dq @ U_q + dk @ U_k).sum(axis=0)
        dU_q = dq.swapaxes(1, 2) @ x
        dU_k = dk.swapaxes(1, 2) @ x
        return dx, dU_q, dU_k, dV

    return y, backward
