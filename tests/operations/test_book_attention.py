"""Self-attention as the book's 7.4 and 7.5 write it: causal or not, with and without matrices, head by head."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.graph import Array, value_of
from dragoman.layers import ForwardContext, Initializer, SelfAttention
from dragoman.operations import attend, attend_self, attention_weights, linear

T, P = 5, 4
RNG = np.random.default_rng(0)
X, Q, K, V = RNG.standard_normal((4, T, P))  # the book's x<t> is row t - 1
W_Q, W_K, W_V = RNG.standard_normal((3, P, P))  # they act on columns: z_q<t> = W_q x<t>
EYE = np.eye(P)
ONE = {"offsets": np.array([0, T]), "heads": 1}

either_way = pytest.mark.parametrize("causal", [True, False])


def by_the_book(W_q: Array, W_k: Array, W_v: Array, causal: bool) -> Array:
    """(7.24) with every sum written out, scores being inner products; (7.23) with three identities."""
    u = np.zeros((T, P))
    for t in range(T):
        seen = range(t + 1) if causal else range(T)
        e = {tau: np.exp((W_q @ X[t]) @ (W_k @ X[tau])) for tau in seen}
        for tau in seen:
            u[t] += e[tau] / sum(e.values()) * (W_v @ X[tau])
    return u


def bare(causal: bool) -> Array:
    """The inputs themselves are queries, keys and values."""
    y: Array = attend_self(np.concatenate((X, X, X), axis=1), **ONE, causal=causal, scaled=False)
    return y


@pytest.mark.ledger("B-7.5-simple")
def test_the_first_output_of_bare_causal_attention_is_the_first_input() -> None:
    u = bare(causal=True)
    np.testing.assert_array_equal(u[0], X[0])
    np.testing.assert_allclose(u, by_the_book(EYE, EYE, EYE, causal=True), rtol=1e-12, atol=1e-14)
    weights = attention_weights(X, X, **ONE, causal=True, scaled=False)[0, 0]
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-14)
    assert np.abs(bare(causal=False)[0] - X[0]).max() > 0.01


@pytest.mark.ledger("B-7.24eq")
@either_way
def test_matrices_for_queries_keys_and_values(causal: bool) -> None:
    def versatile(*matrices: Array) -> Array:
        u = attend_self(linear(X, np.concatenate([W.T for W in matrices], axis=1)), **ONE, causal=causal, scaled=False)
        return value_of(u)

    expected = by_the_book(W_Q, W_K, W_V, causal)
    np.testing.assert_allclose(versatile(W_Q, W_K, W_V), expected, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(versatile(EYE, EYE, EYE), bare(causal), rtol=1e-13, atol=1e-15)


@pytest.mark.ledger("B-7.21eq-c")
def test_weights_over_the_past_alone_total_1_and_ignore_what_comes_later() -> None:
    """Weights of (7.20), which are shares of all T_in, do not total 1 over tau <= t, and they hear of the future."""
    queries = Q[:3]  # T_out = 3, T_in = 5
    layout = {"offsets": np.array([0, 3]), "memory_offsets": np.array([0, T]), "heads": 1}
    u = attend(queries, K, V, **layout, causal=True)
    weights = attention_weights(queries, K, **layout, causal=True)[0, 0]
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-14)
    for t in range(3):
        prefix = {"offsets": np.array([0, t + 1]), "heads": 1, "causal": True}
        np.testing.assert_allclose(attend(Q[: t + 1], K[: t + 1], V[: t + 1], **prefix)[t], u[t], rtol=1e-13)

    def printed(keys: Array) -> Array:
        return np.tril(attention_weights(queries, keys, **layout)[0, 0])

    assert printed(K).sum(axis=1).max() < 0.95
    later = K + np.eye(T)[-1][:, None]  # another last key, beyond every t here
    assert np.abs(printed(later) - printed(K)).max() > 0.01
    np.testing.assert_array_equal(attention_weights(queries, later, **layout, causal=True)[0, 0], weights)
    np.testing.assert_allclose(printed(K) / printed(K).sum(axis=1, keepdims=True), weights, rtol=1e-13)


@pytest.mark.ledger("B-7.27eq")
def test_scores_are_masked_and_not_keys() -> None:
    scores = Q @ K.T / P**0.5
    scores[np.triu_indices(T, 1)] = -np.inf
    e = np.exp(scores)
    weights = attention_weights(Q, K, **ONE, causal=True)[0, 0]
    assert not np.triu(weights, 1).any()  # exactly 0 for tau > t
    np.testing.assert_allclose(weights, e / e.sum(axis=1, keepdims=True), rtol=1e-13)

    keys = K.copy()
    keys[1:] = -np.inf  # as printed, for t = 1
    signs = np.array([[-1.0, -2.0, -3.0, -1.0], [1.0, -2.0, 3.0, 1.0], [1.0, 0.0, 2.0, 1.0], [1.0, 2.0, 3.0, 1.0]])
    with np.errstate(invalid="ignore"):
        score = signs @ keys[1]
        first = attention_weights(signs[:1], keys, offsets=np.array([0, 1]), memory_offsets=np.array([0, T]), heads=1)
    assert score[0] == np.inf  # a negative query wants nothing but the future
    assert np.isnan(score[1:3]).all()
    assert score[3] == -np.inf  # right for positive queries only
    assert np.isnan(first).any()


def layer_of(heads: int, causal: bool) -> SelfAttention:
    return SelfAttention(P, heads, Initializer(1, np.float64), causal=causal, biases=False)


def through(layer: SelfAttention, x: Array) -> Array:
    return value_of(layer(x, np.array([0, T]), ForwardContext()))


@pytest.mark.ledger("B-F7.12-13")
@either_way
@pytest.mark.parametrize("heads", [1, 2])
def test_which_inputs_reach_which_outputs(heads: int, causal: bool) -> None:
    """Figure 7.12: all at or before an output with causality, all without; the same with heads in parallel."""
    layer = layer_of(heads, causal)
    before = through(layer, X)
    reached = [np.abs(through(layer, X + np.eye(T)[tau][:, None]) - before).max(axis=1) > 1e-9 for tau in range(T)]
    np.testing.assert_array_equal(reached, np.triu(np.ones((T, T))) if causal else np.ones((T, T)))


@pytest.mark.ledger("B-F7.12-13")
def test_every_head_reads_the_whole_input_and_is_heard_by_its_own_weights_only() -> None:
    """Figure 7.13: u<t> is a sum over heads of W_c^h u^h<t>, and no head knows of another."""
    layer = layer_of(2, causal=False)
    arrays = dict(layer.named_arrays())
    whole, shares = through(layer, X), []
    for own, other in ((slice(0, 2), slice(2, 4)), (slice(2, 4), slice(0, 2))):
        muted = layer_of(2, causal=False)
        theirs = dict(muted.named_arrays())
        theirs["projection.weights"][other] = 0
        shares.append(through(muted, X))
        for part in ("query", "key", "value"):
            theirs[f"{part}.weights"][:, other] += 1  # whatever the silent head computes
        np.testing.assert_allclose(through(muted, X), shares[-1], rtol=1e-13)
        theirs["query.weights"][:, own] += 1
        assert np.abs(through(muted, X) - shares[-1]).max() > 1e-3
        theirs["query.weights"][:, own] = arrays["query.weights"][:, own]
        for tau in range(T):  # a head alone still reads every input
            assert (np.abs(through(muted, X + np.eye(T)[tau][:, None]) - shares[-1]).max(axis=1) > 1e-9).all()
    np.testing.assert_allclose(sum(shares), whole, rtol=1e-12, atol=1e-14)


@pytest.mark.ledger("B-7.5-matrix")
@either_way
@pytest.mark.parametrize("heads", [1, 2])
def test_tokens_as_columns_and_nothing_but_matrix_products(heads: int, causal: bool) -> None:
    """U = sum_h W_c^h W_v^h X A_h, the columns of A_h the softmax of (W_k^h X)^T W_q^h X / sqrt(m); loops agree."""
    layer, columns, m = layer_of(heads, causal), X.T, P // heads
    parts = ("query.weights", "key.weights", "value.weights", "projection.weights")
    query, key, value, combine = (dict(layer.named_arrays())[name].T for name in parts)
    U, loops = np.zeros((P, T)), np.zeros((P, T))
    for h in range(heads):
        own = slice(h * m, (h + 1) * m)
        W_q, W_k, W_v, W_c = query[own], key[own], value[own], combine[:, own]  # m x p, m x p, m x p, p x m
        scores = (W_k @ columns).T @ (W_q @ columns) / m**0.5  # key by query
        e = np.exp(np.where(np.tri(T, dtype=bool).T, scores, -np.inf) if causal else scores)
        U += W_c @ W_v @ columns @ (e / e.sum(axis=0))
        for t in range(T):
            seen = range(t + 1 if causal else T)
            alpha = [np.exp((W_q @ X[t]) @ (W_k @ X[tau]) / m**0.5) for tau in seen]
            loops[:, t] += sum(a / sum(alpha) * (W_c @ W_v @ X[tau]) for a, tau in zip(alpha, seen, strict=True))
    np.testing.assert_allclose(through(layer, X).T, U, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(through(layer, X).T, loops, rtol=1e-11, atol=1e-14)
