"""The pieces of the thesis's layers (3.2) on its own tensors, [sample, position, depth] and [..., head].

Every contraction is written with the indices of the thesis:
    i sample   j position (c context, q input)   k depth   e hidden depth (k~)   r head
"""

from __future__ import annotations

import numpy as np

from dragoman.graph import Array, Backward, Value, operation
from dragoman.operations.activations import activate
from dragoman.operations.embedding import scatter_add
from dragoman.operations.normalization import Form, standardize_rows
from dragoman.operations.shapes import check_labels, check_shapes


@operation
def lookup(table: Array, *, labels: Array) -> tuple[Array, Backward]:
    """phi: y_ij = row x_ij of W          table [v, d]   labels [n, m]   ->   [n, m, d]          (3.2 I)"""
    check_labels("lookup", labels.ravel(), len(table))
    y = table[labels]

    def backward(dy: Array) -> Array:
        """(4.3.29) without its scale: de/dW_s = sum_ij 1{s = x_ij} dy_ij"""
        return scatter_add(dy.reshape(-1, table.shape[1]), labels.ravel(), len(table))

    return y, backward


@operation
def transform(x: Array, weights: Array, biases: Array) -> tuple[Array, Backward]:
    """T: y_ijer = sum_k x_ijk W_ker + b_er          x [n, m, d]   weights [d, d~, h]   biases [d~, h]   (3.2 II)"""
    check_shapes("transform", x=(x, "n m d"), weights=(weights, "d e h"), biases=(biases, "e h"))
    y = np.einsum("ijk,ker->ijer", x, weights) + biases

    def backward(dy: Array) -> tuple[Array, Array, Array]:
        """(4.3.14)-(4.3.19), (4.3.27), (4.3.28): de/dx needs W_ker, not the transposed index the thesis prints"""
        dx = np.einsum("ijer,ker->ijk", dy, weights)
        dweights = np.einsum("ijk,ijer->ker", x, dy)
        dbiases = np.einsum("ijer->er", dy)
        return dx, dweights, dbiases

    return y, backward


@operation
def scores(keys: Array, queries: Array) -> tuple[Array, Backward]:
    """A_icqr = sum_e K_icer Q_iqer / sqrt(d~)          context rows, input columns          (3.2 II, step 1)"""
    check_shapes("scores", keys=(keys, "n c e h"), queries=(queries, "n q e h"))
    scale = keys.shape[2] ** -0.5
    y = np.einsum("icer,iqer->icqr", keys, queries) * scale

    def backward(dy: Array) -> tuple[Array, Array]:
        """(4.3.26), (4.3.25)"""
        dkeys = np.einsum("icqr,iqer->icer", dy, queries) * scale
        dqueries = np.einsum("icqr,icer->iqer", dy, keys) * scale
        return dkeys, dqueries

    return y, backward


@operation
def causal_mask(a: Array) -> tuple[Array, Backward]:
    """y = A + M,  M_cq = 0 where c <= q, else -inf          (3.2 II, step 1.5)"""
    context, inputs = a.shape[1:3]
    allowed = np.arange(context)[:, None] <= np.arange(inputs)[None, :]
    y = np.where(allowed[None, :, :, None], a, -np.inf)

    def backward(dy: Array) -> Array:
        """The mask adds no term: masked scores receive a delta of 0 from the softmax and keep it."""
        return np.where(allowed[None, :, :, None], dy, 0)

    return y, backward


@operation
def weigh(a: Array) -> tuple[Array, Backward]:
    """Ahat = softmax of A over the context index c          (3.2.1)"""
    e = np.exp(a - a.real.max(axis=1, keepdims=True))
    y = e / e.sum(axis=1, keepdims=True)

    def backward(dy: Array) -> Array:
        """4.3 II, step 2: de/dA = Ahat (dAhat - sum_c Ahat dAhat)"""
        da: Array = y * (dy - (y * dy).sum(axis=1, keepdims=True))
        return da

    return y, backward


@operation
def combine(weights: Array, values: Array) -> tuple[Array, Backward]:
    """O_iqer = sum_c Ahat_icqr V_icer          (3.2.2)"""
    check_shapes("combine", weights=(weights, "n c q h"), values=(values, "n c e h"))
    y = np.einsum("icqr,icer->iqer", weights, values)

    def backward(dy: Array) -> tuple[Array, Array]:
        """4.3 II, step 3, and (4.3.22), which needs Ahat_icq where the thesis prints another index"""
        dweights = np.einsum("icer,iqer->icqr", values, dy)
        dvalues = np.einsum("icqr,iqer->icer", weights, dy)
        return dweights, dvalues

    return y, backward


@operation
def project(o: Array, weights: Array, biases: Array) -> tuple[Array, Backward]:
    """P: y_iqk = sum_er O_iqer W_ekr + b_k          weights [d~, d, h]   biases [d]          (3.2 II)"""
    check_shapes("project", o=(o, "n q e h"), weights=(weights, "e d h"), biases=(biases, "d"))
    y = np.einsum("iqer,ekr->iqk", o, weights) + biases

    def backward(dy: Array) -> tuple[Array, Array, Array]:
        """(4.3.20), (4.3.21), and de/dO of the proof of 4.24"""
        do = np.einsum("iqk,ekr->iqer", dy, weights)
        dweights = np.einsum("iqer,iqk->ekr", o, dy)
        dbiases = np.einsum("iqk->k", dy)
        return do, dweights, dbiases

    return y, backward


@operation
def standardize(x: Array, *, form: Form = "outside", epsilon: float = 1e-5) -> tuple[Array, Backward]:
    """N: (x - mu) / (sigma + eps) over the last axis          (3.2 IV)"""
    rows, backward_rows = standardize_rows(x.reshape(-1, x.shape[-1]), form, epsilon)

    def backward(dy: Array) -> Array:
        """(4.3.8)-(4.3.11), gathered in (4.3.7)"""
        return backward_rows(dy.reshape(-1, x.shape[-1])).reshape(x.shape)

    return rows.reshape(x.shape), backward


@operation
def affine(xhat: Array, gamma: Array, beta: Array) -> tuple[Array, Backward]:
    """A: y_k = xhat_k gamma_k + beta_k over the last axis          (3.2 IV)"""
    check_shapes("affine", xhat=(xhat, "n m d"), gamma=(gamma, "d"), beta=(beta, "d"))

    def backward(dy: Array) -> tuple[Array, Array, Array]:
        """(4.3.5), (4.3.6); the proof of 4.20 prints x where xhat is meant"""
        return dy * gamma, (xhat * dy).sum(axis=(0, 1)), dy.sum(axis=(0, 1))

    return xhat * gamma + beta, backward


@operation
def combination(x: Array, weights: Array, biases: Array) -> tuple[Array, Backward]:
    """C: y_ije = sum_k x_ijk W_ke + b_e          x [n, m, d]   weights [d, d~]   biases [d~]          (3.2 V)"""
    check_shapes("combination", x=(x, "n m d"), weights=(weights, "d e"), biases=(biases, "e"))

    def backward(dy: Array) -> tuple[Array, Array, Array]:
        """(4.3.1), (4.3.2), (4.3.4) with a' = 1"""
        return (
            np.einsum("ije,ke->ijk", dy, weights),
            np.einsum("ijk,ije->ke", x, dy),
            np.einsum("ije->e", dy),
        )

    return np.einsum("ijk,ke->ije", x, weights) + biases, backward


def attention(
    x_I: Value,
    x_C: Value,
    W_Q: Value,
    b_Q: Value,
    W_K: Value,
    b_K: Value,
    W_V: Value,
    b_V: Value,
    W_P: Value,
    b_P: Value,
    *,
    causal: bool = False,
) -> Value:
    """Definition 3.9: y = P(M(T(x_I), T(x_C), T(x_C))), composed from the pieces above."""
    queries, keys, values = transform(x_I, W_Q, b_Q), transform(x_C, W_K, b_K), transform(x_C, W_V, b_V)
    a = scores(keys, queries)
    weights = weigh(causal_mask(a) if causal else a)
    return project(combine(weights, values), W_P, b_P)


def normalization(x: Value, gamma: Value, beta: Value, *, epsilon: float = 1e-5) -> Value:
    """Definition 3.11: y = A(N(x))"""
    return affine(standardize(x, epsilon=epsilon), gamma, beta)


def perceptron(x: Value, weights: Value, biases: Value, *, activation: str) -> Value:
    """Definition 3.12: y = a(C(x))"""
    return activate(combination(x, weights, biases), activation=activation)
