"""Equations of the book on attention (7.4, 7.5) that fail as printed, beside the form that holds.

The book writes a vector as a column, W x; the operations take it as a row, x W^T.
"""

from __future__ import annotations

import numpy as np

from dragoman.analysis.audit.architecture import random
from dragoman.analysis.audit.claim import Evidence, correction, disagreement, equal, holds
from dragoman.errors import ShapeError
from dragoman.graph import Array, Tensor, backpropagate, value_of
from dragoman.layers import CrossAttention, ForwardContext, Initializer
from dragoman.layers.scores import ScoredAttention
from dragoman.operations import attend, attention_weights, linear

H, p, m, m_v = 2, 5, 3, 4  # heads, width of the inputs, of queries and keys, of values: all different
W_q, W_k, W_v = random(H, m, p), random(H, m, p, seed=1), random(H, m_v, p, seed=2)


def by_heads(x: Array, weights: Array) -> Array:
    """W^h x for every head, the heads side by side: [T, H width]"""
    return np.concatenate([x @ of_head.T for of_head in weights], axis=1)


def exponentials(queries: Array, keys: Array) -> Array:
    """exp s(W_q x<t>, W_k x<tau>) with the inner product as score: [H, T, tau]"""
    e: Array = np.exp(np.einsum("ham,tm,hab,ub->htu", W_q, queries, W_k, keys))
    return e


def normalized(e: Array, until: Array) -> Array:
    """The weights e / sum over t' = 1..until, an upper limit for each t"""
    sums = np.cumsum(e, axis=2)[:, np.arange(len(until)), until - 1]
    weights: Array = e / sums[:, :, None]
    return weights


def _denominator(queries: Array, context: Array) -> tuple[float, Evidence]:
    N, T = len(queries), len(context)
    e = exponentials(queries, context)
    printed, corrected = normalized(e, np.arange(1, N + 1)), normalized(e, np.full(N, T))
    u = np.einsum("htu,hvp,up->thv", corrected, W_v, context).reshape(N, H * m_v)
    q, k, v = by_heads(queries, W_q), by_heads(context, W_k), by_heads(context, W_v)
    own, memory = np.array([0, N]), np.array([0, T])
    ours = value_of(attend(q, k, v, offsets=own, memory_offsets=memory, heads=H, scaled=False))
    weights = attention_weights(q, k, offsets=own, memory_offsets=memory, heads=H, scaled=False)[0]
    evidence = equal(ours, u) & equal(weights, corrected) & equal(weights.sum(axis=2), np.ones((H, N)))
    return disagreement(printed.sum(axis=2), weights.sum(axis=2)), evidence


@correction(
    "E-B6",
    "B-7.25eq",
    title="(7.25): what the weights of a head are divided by",
    printed=r"\alpha_\tau^{h,\langle t \rangle} = \frac{e^{s(W_q^h x^{\langle t \rangle}, W_k^h x^{\langle \tau \rangle})}}{\sum_{t'=1}^{t} e^{s(W_q^h x^{\langle t \rangle}, W_k^h x^{\langle t' \rangle})}}",
    corrected=r"\alpha_\tau^{h,\langle t \rangle} = \frac{e^{s(W_q^h x^{\langle t \rangle}, W_k^h x^{\langle \tau \rangle})}}{\sum_{t'=1}^{T} e^{s(W_q^h x^{\langle t \rangle}, W_k^h x^{\langle t' \rangle})}}",
)
def head_denominator() -> tuple[float, Evidence]:
    """The weights of (7.25) are used for tau = 1..T, so they must sum to 1 over all T. Queries and values differ in width."""
    x = random(6, p, seed=3) / 2
    return _denominator(x, x)


@correction(
    "E-B6",
    "B-7.33eq",
    title="(7.33): what the weights of cross-attention are divided by",
    printed=r"\alpha_\tau^{h,\langle t \rangle} = \frac{e^{s(W_q^h \tilde{u}^{\langle t \rangle}, W_k^h z^{*\langle \tau \rangle})}}{\sum_{t'=1}^{t} e^{s(W_q^h \tilde{u}^{\langle t \rangle}, W_k^h z^{*\langle t' \rangle})}}",
    corrected=r"\alpha_\tau^{h,\langle t \rangle} = \frac{e^{s(W_q^h \tilde{u}^{\langle t \rangle}, W_k^h z^{*\langle \tau \rangle})}}{\sum_{t'=1}^{T_{in}} e^{s(W_q^h \tilde{u}^{\langle t \rangle}, W_k^h z^{*\langle t' \rangle})}}",
)
def cross_denominator() -> tuple[float, Evidence]:
    """Four decoder positions look at six encoder positions: the sum runs over the encoder's, not up to t."""
    return _denominator(random(4, p, seed=4) / 2, random(6, p, seed=3) / 2)


def _causal(z: Array) -> Array:
    """sum over tau <= t with weights of a softmax over all scores: (7.20) and then the causal line of (7.21)"""
    e = np.exp(z @ z.T)
    u: Array = np.tril(e / e.sum(axis=1, keepdims=True)) @ z
    return u


@correction(
    "E-B7",
    "B-7.20eq",
    "B-7.21eq-c",
    title="(7.20) with the causal form of (7.21): the weights do not sum to 1",
    printed=r"u^{\langle t \rangle} = \sum_{\tau=1}^{t} \alpha_\tau^{\langle t \rangle} v^{\langle \tau \rangle}, \quad \alpha_\tau^{\langle t \rangle} = \frac{e^{s_{t\tau}}}{\sum_{t'=1}^{T} e^{s_{tt'}}}",
    corrected=r"u^{\langle t \rangle} = \sum_{\tau=1}^{t} \alpha_\tau^{\langle t \rangle} v^{\langle \tau \rangle}, \quad \alpha_\tau^{\langle t \rangle} = \frac{e^{s_{t\tau}}}{\sum_{t'=1}^{t} e^{s_{tt'}}}",
)
def causal_weights() -> tuple[float, Evidence]:
    """The book's promise is that u<t> depends on the inputs up to t alone. As printed, input T changes every u<t>."""
    z = random(5, p)
    other = z.copy()
    other[-1] = -other[-1]

    def ours(x: Array) -> Array:
        return value_of(attend(x, x, x, offsets=np.array([0, 5]), heads=1, causal=True, scaled=False))

    e = np.tril(np.exp(z @ z.T))
    evidence = equal(ours(z), e / e.sum(axis=1, keepdims=True) @ z) & holds(
        bool((ours(z)[:-1] == ours(other)[:-1]).all())
    )
    return disagreement(_causal(other)[:-1], _causal(z)[:-1]), evidence


@correction(
    "E-B8",
    "B-7.27eq",
    title="(7.27): what masking sets to minus infinity",
    printed=r"z_k^{\langle \tau \rangle} = -\infty \; \text{for} \; \tau > t",
    corrected=r"s(z_q^{\langle t \rangle}, z_k^{\langle \tau \rangle}) = -\infty \; \text{for} \; \tau > t",
)
def masked_keys() -> tuple[float, Evidence]:
    """The score of such a key is q . (-inf): +inf for a query of negative entries, which then looks at nothing else, and
    undefined for one of mixed signs. The error is the weight given to later positions, with -1000 for -infinity.
    """
    keys, queries = random(4, 3), -np.abs(random(4, 3, seed=1))
    later = np.triu(np.ones((4, 4), bool), 1)
    scores = queries @ keys.T
    by_keys = np.where(later, queries.sum(axis=1, keepdims=True) * -1000.0, scores)
    shifted = np.exp(by_keys - by_keys.max(axis=1, keepdims=True))
    leaked = (shifted / shifted.sum(axis=1, keepdims=True))[later].reshape(-1)
    with np.errstate(invalid="ignore"):
        undefined = np.isnan(np.array([1.0, -1.0, 2.0]) @ np.full(3, -np.inf))
    e = np.exp(np.where(later, -np.inf, scores))
    weights = attention_weights(queries, keys, offsets=np.array([0, 4]), heads=1, causal=True, scaled=False)[0, 0]
    return float(leaked.max()), equal(weights, e / e.sum(axis=1, keepdims=True)) & holds(bool(undefined))


@correction(
    "E-B13",
    "B-7.33eq",
    "B-7.5-decblock",
    title="Section 7.5: where the keys and values of cross-attention come from",
    printed=r"z^* = \text{the decoder output}",
    corrected=r"z^* = \text{the encoder output}",
)
def keys_of_the_encoder() -> tuple[float, Evidence]:
    """Keys and values made of the decoder's own rows never see the source: its derivative would be 0."""
    layer = CrossAttention(4, 2, Initializer(0, np.float64))
    decoder, encoder, ends = random(5, 4), random(5, 4, seed=1), np.array([0, 5])

    def attended(memory: Array | Tensor) -> Array:
        return value_of(layer(decoder, memory, ends, ends, ForwardContext()))

    memory = Tensor(encoder)
    (by_source,) = backpropagate(layer(decoder, memory, ends, ends, ForwardContext()), [memory], [np.ones((5, 4))])
    queries = value_of(layer.query(decoder))
    keys, values = np.split(encoder @ value_of(layer.key_value_weights), 2, axis=1)
    heads = []
    for columns in (slice(0, 2), slice(2, 4)):
        e = np.exp(queries[:, columns] @ keys[:, columns].T / np.sqrt(2))
        heads.append(e / e.sum(axis=1, keepdims=True) @ values[:, columns])
    expected = np.concatenate(heads, axis=1) @ value_of(layer.projection.weights)
    evidence = equal(attended(encoder), expected) & holds(bool((by_source != 0).any()))
    return disagreement(attended(decoder), attended(encoder)), evidence


@correction(
    "E-B13",
    "B-7.22eq",
    "B-7.4-bienc",
    title="Section 7.4: what an attending decoder mixes",
    printed=r"u^{\langle t \rangle} = \sum_{\tau < t} \alpha_\tau^{\langle t \rangle} \hat{y}^{\langle \tau \rangle} \; \text{(decoder outputs)}",
    corrected=r"u^{\langle t \rangle} = \sum_{\tau=1}^{T_{in}} \alpha_\tau^{\langle t \rangle} v^{\langle \tau \rangle} \; \text{(encoder outputs)}",
)
def mixture_of_the_encoder() -> tuple[float, Evidence]:
    """As many outputs were written as the source has words, or the weights of (7.20) would not even fit them."""
    layer = ScoredAttention("additive", 3, 4, Initializer(0, np.float64))
    state, v, written = random(1, 3), random(5, 4, seed=1), random(5, 4, seed=2)
    one, ends = np.array([0, 1]), np.array([0, 5])
    keys = layer.look_at(v, ends)
    alpha = layer.alpha(state, keys, one)[0]
    u = value_of(layer(state, keys, one))
    return disagreement(alpha @ written, u), equal(u, alpha @ v) & equal(alpha.sum(), 1.0)


@correction(
    "E-B15",
    "B-7.4-concat",
    "B-7.4-additive",
    title="Section 7.4: the width of a query in the score functions",
    printed=r"s(z_q, z_k) = w_s^\top \tanh(W_{sa} z_q + W_{sb} z_k), \quad z_q \in R^{m_a}, \; W_{sa} \in R^{\tilde{m} \times m_q}",
    corrected=r"s(z_q, z_k) = w_s^\top \tanh(W_{sa} z_q + W_{sb} z_k) = w_s^\top \tanh(\tilde{W}_s [z_q, z_k]), \quad z_q \in R^{m_q}, \; \tilde{W}_s = [W_{sa}, W_{sb}]",
)
def query_width() -> tuple[float, Evidence]:
    """m_a is defined nowhere. With m_q both printed scores fit, and they are one function with its matrix split."""
    m_q, m_k, m_a = 3, 4, 2
    additive = ScoredAttention("additive", m_q, m_k, Initializer(0, np.float64))
    joined = ScoredAttention("concatenation", m_q, m_k, Initializer(1, np.float64))
    value_of(joined.weights)[:] = np.concatenate((value_of(additive.weights), value_of(additive.key_weights)))
    value_of(joined.score_weights)[:] = value_of(additive.score_weights)
    z, v, one, ends = random(1, m_q), random(5, m_k, seed=1), np.array([0, 1]), np.array([0, 5])
    scores = np.tanh(z @ value_of(additive.weights) + v @ value_of(additive.key_weights))
    e = np.exp(scores @ value_of(additive.score_weights))
    found = [layer.alpha(z, layer.look_at(v, ends), one)[0, 0] for layer in (additive, joined)]
    try:
        linear(random(1, m_a), additive.weights)
        printed = 0.0
    except ShapeError:
        printed = float("inf")
    return printed, equal(found[0], e / e.sum()) & equal(found[1], found[0])
