"""The closed-form gradients of the custom-net sheet, corrected, as plain array functions of a single sample.

They share nothing with the operations, so that either can be held against the other. Everything is analytic (no abs,
no conj), so the loss can itself be differentiated by the complex step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dragoman.graph import Array


def standardize(X: Array) -> Array:
    """(X - E X) / sqrt(E (X - E X)^2) over all elements; the sheet divides by 0 at a constant X, this gives 0."""
    if X.min() == X.max():
        return np.zeros(X.shape)
    centred = X - X.mean()
    standardized: Array = centred / np.sqrt((centred * centred).mean())
    return standardized


def log_softmax(x: Array) -> Array:
    """ln (e^x / sum e^x) along the last axis, shifted so that nothing overflows and no logarithm meets 0."""
    shifted = x - x.real.max(axis=-1, keepdims=True)
    y: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return y


def softmax(x: Array) -> Array:
    return np.exp(log_softmax(x))


def two_layer_gradients(X: Array, W1: Array, B1: Array, W2: Array, B2: Array, y: Array) -> dict[str, Array]:
    """The loss of the two-layer net and its derivatives          (sheet, section 1, backward (3), (5), (6), (7))

    X [n, m]   W1 [d, m]   B1 [d, n]   W2 [k, d n]   B2 [k]   y [k], which must total 1
    """
    pre_a1 = standardize(X)
    a1 = W1 @ pre_a1.T + B1
    slope = a1.real > 0  # ReLU'(a1)
    pre_a2 = (slope * a1).reshape(-1)  # row-major, as is the way back in da1
    ln_s = log_softmax(W2 @ pre_a2 + B2)

    da2 = np.exp(ln_s) - y
    da1 = (da2 @ W2).reshape(a1.shape) * slope
    return {
        "loss": -(y * ln_s).sum(),
        "W2": np.outer(da2, pre_a2),  # (3)  (s - y)^T pre_a2
        "W1": da1 @ pre_a1,  # (5)  [(s - y) W2]_{dn -> d x n} * ReLU'(a1)  pre_a1
        "B2": da2,  # (6)  s - y
        "B1": da1,  # (7)  [(s - y) W2]_{dn -> d x n} * ReLU'(a1)
    }


@dataclass(frozen=True)
class ClassRow:
    """What the derivatives of the encoder share. Only row n + 1, the class token's, reaches its loss.

    h0 [n, d0]   h_pre2 [n + 1, d1]   K, V [n + 1, d2]
    of the class row: q, h2, g [1, d2]   S, u [1, n + 1]   s, ln_s [1, K]
    """

    h0: Array
    h_pre2: Array
    q: Array
    K: Array
    V: Array
    S: Array
    h2: Array
    s: Array
    ln_s: Array
    g: Array
    u: Array


def softmax_jacobian(S: Array) -> Array:
    """alpha = diag(S) - S^T S, the derivative of one row of weights S [1, n] by its scores       (backward (3)-(5))"""
    alpha: Array = np.diag(S[0]) - S.T @ S
    return alpha


def class_row(
    X: Array, W1: Array, class_token: Array, W_q: Array, W_k: Array, W_v: Array, W2: Array, y: Array
) -> ClassRow:
    """Forward (1)-(8) for the class row, then g = (1/K) (s - y) W2^T and u = g V^T alpha"""
    h0 = standardize(X)
    h_pre2 = np.vstack((h0 @ W1, class_token))
    q, K, V = h_pre2[-1:] @ W_q, h_pre2 @ W_k, h_pre2 @ W_v
    S = softmax(q @ K.T)
    h2 = S @ V + h_pre2[-1:]
    ln_s = log_softmax(h2 @ W2)
    s = np.exp(ln_s)

    g = (s - y) @ W2.T / y.size
    u = g @ V.T @ softmax_jacobian(S)
    return ClassRow(h0, h_pre2, q, K, V, S, h2, s, ln_s, g, u)


def class_token_paths(c: ClassRow, W_q: Array, W_k: Array, W_v: Array) -> dict[str, Array]:
    """The four ways from the class token to the loss, each [d1]; its derivative is their sum       (backward (11))"""
    paths = {
        "residual": c.g,
        "value": c.S[:, -1:] * c.g @ W_v.T,  # S_{n+1,n+1} g W_v^T
        "query": c.u @ c.K @ W_q.T,
        "key": c.u[:, -1:] * c.q @ W_k.T,  # u_{n+1} q W_k^T
    }
    return {name: path[0] for name, path in paths.items()}


def class_token_gradients(
    X: Array, W1: Array, class_token: Array, W_q: Array, W_k: Array, W_v: Array, W2: Array, y: Array
) -> dict[str, Array]:
    """The loss of the one-layer encoder and its derivatives          (sheet, section 2, backward, as corrected)

    X [n, d0]   W1 [d0, d1]   class_token [d1]   W_q, W_k, W_v [d1, d2], d1 = d2   W2 [d2, K]   y [K], total 1
    """
    c = class_row(X, W1, class_token, W_q, W_k, W_v, W2, y)
    tokens = c.S[:, :-1].T @ c.g @ W_v.T + c.u[:, :-1].T @ c.q @ W_k.T  # rows 1..n matter as values and as keys
    return {
        "loss": -(y * c.ln_s).sum() / y.size,
        "W2": c.h2.T @ (c.s - y) / y.size,  # (1)  (1/K) h2_{n+1}^T (s - y)
        "W_v": c.h_pre2.T @ c.S.T @ c.g,  # (2)  h_pre2^T S^T g
        "W_k": c.h_pre2.T @ c.u.T @ c.q,  # (7)  h_pre2^T u^T q
        "W_q": c.h_pre2[-1:].T @ c.u @ c.K,  # (9)  h_{pre2,n+1}^T u K
        "class_token": np.sum(list(class_token_paths(c, W_q, W_k, W_v).values()), axis=0),  # (11)
        "W1": c.h0.T @ tokens,  # (12)  h0^T [S_{1:n}^T g W_v^T + u_{1:n}^T q W_k^T]
    }
