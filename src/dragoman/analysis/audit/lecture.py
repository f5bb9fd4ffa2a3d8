"""The lecture: its attention from the naive form to Eq (4), the block, the incremental property, the head."""

from __future__ import annotations

import numpy as np

from dragoman.analysis.audit.architecture import random
from dragoman.analysis.audit.claim import Evidence, claim, equal, holds, proved
from dragoman.graph import Array, Value, gradient_check, value_of
from dragoman.operations import (
    add,
    attend,
    attend_self,
    concatenate_columns,
    cross_entropy,
    embed,
    linear,
    normalize,
)
from dragoman.operations.positions import interleaved_sinusoid
from dragoman.operations.teaching.lecture import (
    asymmetric_attention,
    attention_matrix,
    full_rank_attention,
    naive_attention,
    symmetric_attention,
)

N, D, K, H = 5, 4, 2, 2
X = random(N, D)


@claim(
    "L-14-attn",
    "L-15-Anorm",
    "L-19-matmul",
    "L-22-naive",
    title="Naive self-attention",
    formula=r"Y = X A, \quad A_{n,n'} = \frac{e^{x_n^\top x_{n'}}}{\sum_{n''} e^{x_{n''}^\top x_{n'}}}",
)
def naive() -> Evidence:
    columns = X.T  # the lecture's layout: tokens are columns
    a = np.exp(columns.T @ columns)
    a = a / a.sum(axis=0, keepdims=True)
    return equal(value_of(naive_attention(X)).T, columns @ a) & proved(gradient_check(naive_attention, X))


@claim("L-23-U", title="Symmetric self-attention", formula=r"A_{n,n'} \propto e^{x_n^\top U^\top U x_{n'}}")
def symmetric() -> Evidence:
    u = random(K, D)
    a = np.exp(X @ u.T @ u @ X.T)
    a = a / a.sum(axis=0, keepdims=True)
    return equal(value_of(symmetric_attention(X, u)).T, X.T @ a) & proved(gradient_check(symmetric_attention, X, u))


@claim(
    "L-25-asym",
    "L-26-qk",
    title="Self-attention with queries and keys, Eq (3)",
    formula=r"A_{n,n'} = \frac{e^{x_n^\top U_k^\top U_q x_{n'}}}{\sum_{n''} e^{x_{n''}^\top U_k^\top U_q x_{n'}}}",
)
def asymmetric() -> Evidence:
    u_q, u_k = random(K, D), random(K, D, seed=1)
    a = np.exp(X @ u_k.T @ u_q @ X.T)
    a = a / a.sum(axis=0, keepdims=True)
    report = gradient_check(asymmetric_attention, X, u_q, u_k, causal=True, scaled=True)
    return equal(value_of(asymmetric_attention(X, u_q, u_k)).T, X.T @ a) & proved(report)


@claim(
    "L-27-mhsa",
    "L-28-Ah",
    "L-29-qh",
    "L-32-V",
    title="Multi-head self-attention, Eqs (4)-(6)",
    formula=r"Y = \sum_h V_h X A_h",
)
def multi_head() -> Evidence:
    u_q, u_k, v = random(H, K, D), random(H, K, D, seed=1), random(H, D, D)
    expected = np.zeros((D, N))
    for h in range(H):
        a = attention_matrix(X @ u_q[h].T, X @ u_k[h].T, False, 1.0).T
        expected += v[h] @ X.T @ a
    return equal(value_of(full_rank_attention(X, u_q, u_k, v)).T, expected) & proved(
        gradient_check(full_rank_attention, X, u_q, u_k, v)
    )


@claim(
    "L-33-lowrank",
    title="Values and projection are a V_h of low rank",
    formula=r"V_h = U_h U_{v,h}",
)
def low_rank() -> Evidence:
    """Heads side by side through `attend` and one projection, against Eq (4) with the factored maps."""
    u_q, u_k, u_v, u = (random(H, K, D, seed=s) for s in range(4))
    q, k, v = (np.concatenate([X @ w[h].T for h in range(H)], axis=1) for w in (u_q, u_k, u_v))
    attended = attend(q, k, v, offsets=np.array([0, N]), heads=H, scaled=False)
    usual = value_of(linear(attended, u.reshape(H * K, D)))
    maps = np.stack([u[h].T @ u_v[h] for h in range(H)])
    return equal(value_of(full_rank_attention(X, u_q, u_k, maps)), usual)


@claim(
    "L-41-ln",
    "L-43-prenorm",
    title="Pre-norm block",
    formula=r"Y = X + \mathrm{MHSA}(\mathrm{LN}(X)), \quad X' = Y + \mathrm{MLP}(\mathrm{LN}(Y))",
)
def pre_norm_block() -> Evidence:
    gamma, beta, w1, w2 = random(D), random(D, seed=1), random(D, 6), random(6, D)
    u_q, u_k, v = random(H, K, D), random(H, K, D, seed=1), random(H, D, D)

    def block(x: Value) -> Value:
        y = add(x, full_rank_attention(normalize(x, gamma, beta, epsilon=0.0), u_q, u_k, v))
        return add(y, linear(linear(normalize(y, gamma, beta, epsilon=0.0), w1, activation="tanh"), w2))

    return proved(gradient_check(block, X))


@claim(
    "L-45-equiv",
    title="Permuted tokens give permuted features",
    formula=r"X^{(0)} P \mapsto X^{(m)} P",
)
def equivariance() -> Evidence:
    u_q, u_k, v = random(H, K, D), random(H, K, D, seed=1), random(H, D, D)
    order = np.array([3, 0, 4, 1, 2])

    def features(x: Array, causal: bool) -> Array:
        return value_of(full_rank_attention(x, u_q, u_k, v, causal=causal))

    causal = np.abs(features(X[order], True) - features(X, True)[order]).max()
    return equal(features(X[order], False), features(X, False)[order]) & holds(bool(causal > 1e-3))


@claim(
    "L-47-add",
    "L-48-concat",
    "L-49-fixed",
    "L-50-learnedpos",
    title="Positions added or appended, fixed or learned",
    formula=r"x_n + p_n, \quad [x_n, p_n]",
)
def positions() -> Evidence:
    table, labels, places = random(6, D), np.array([2, 5, 2]), np.array([0, 1, 2])
    fixed = interleaved_sinusoid(3, D)
    added = value_of(embed(table, fixed, labels=labels, positions=places))
    appended = value_of(concatenate_columns(embed(table, labels=labels), fixed[places]))
    learned = gradient_check(embed, table, random(3, D), labels=labels, positions=places)
    return (
        equal(added, table[labels] + fixed)
        & equal(appended, np.concatenate((table[labels], fixed), axis=1))
        & proved(learned, "position_table")
    )


@claim(
    "L-51-relative",
    title="A bias for each distance, in the scores",
    formula=r"k_n^\top q_{n'} + b_{n - n'}",
)
def relative() -> Evidence:
    report = gradient_check(attend_self, random(N, 3 * D), random(H, 3), offsets=np.array([0, 2, N]), heads=H)
    return proved(report)


@claim(
    "L-55-incr",
    "L-58-nomask",
    "L-59-upper",
    title="The incremental property",
    formula=r"X^{(n)} = X^{(n+1)}_{1:D,\,1:n}",
)
def incremental() -> Evidence:
    u_q, u_k = random(K, D), random(K, D, seed=1)

    def features(x: Array, causal: bool) -> Array:
        return value_of(asymmetric_attention(x, u_q, u_k, causal=causal))

    unmasked = np.abs(features(X, False)[: N - 1] - features(X[: N - 1], False)).max()
    return equal(features(X, True)[: N - 1], features(X[: N - 1], True)) & holds(bool(unmasked > 1e-3))


@claim(
    "L-60-head",
    title="Prediction head",
    formula=r"p(w_n = w) = \frac{e^{g_w^\top x_{n-1}}}{\sum_{w'} e^{g_{w'}^\top x_{n-1}}}",
)
def head() -> Evidence:
    def error(x: Value, g: Value) -> Value:
        return cross_entropy(linear(x, g, transposed=True), targets=np.array([1, 0, 2, 2, 1]))[0]

    return proved(gradient_check(error, X, random(3, D)))
