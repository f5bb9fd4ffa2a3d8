"""Attention layers beside the published definition, written with plain loops over samples, heads and positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, value_of
from dragoman.layers import CrossAttention, ForwardContext, Initializer, KVCache, Layer, SelfAttention


def scattered(layer: Any, rng: np.random.Generator) -> Any:
    for parameter in layer.parameters():
        parameter.value[...] = rng.standard_normal(parameter.shape) * 0.6
    return layer


def attention_by_loops(layer: Layer, x: Array, context: Array, heads: int, causal: bool, scaled: bool) -> Array:
    """Definition 3.9 for one sample; heads are projected one by one and added (book, (7.26))."""
    a = dict(layer.named_arrays())
    width = x.shape[1] // heads
    y = np.tile(a["projection.biases"], (len(x), 1))
    for r in range(heads):
        head = slice(r * width, (r + 1) * width)
        q, k, v = (
            rows @ a[f"{part}.weights"][:, head] + a[f"{part}.biases"][head]
            for part, rows in (("query", x), ("key", context), ("value", context))
        )
        for t in range(len(x)):
            seen = t + 1 if causal else len(context)
            scores = [float(q[t] @ k[tau]) / (width**0.5 if scaled else 1.0) for tau in range(seen)]
            if "distance_bias" in a:
                reach = a["distance_bias"].shape[1] // 2
                scores = [
                    s + a["distance_bias"][r, np.clip(tau - t, -reach, reach) + reach] for tau, s in enumerate(scores)
                ]
            weights = np.exp(scores) / np.exp(scores).sum()
            mixture = sum(weights[tau] * v[tau] for tau in range(seen))
            y[t] += mixture @ a["projection.weights"][head]
    return y


def offsets_of(lengths: list[int]) -> Array:
    return np.concatenate(([0], np.cumsum(lengths)))


@pytest.mark.ledger("T-3.2-II-layer", "T-3.2-II-heads", "B-7.25eq", "B-7.26eq", "L-28-Ah")
@pytest.mark.parametrize("reach", [0, 1])
@pytest.mark.parametrize("causal", [False, True])
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.sampled_from([1, 2]), st.booleans(), st.integers(0, 99))
def test_self_attention(causal: bool, reach: int, lengths: list[int], heads: int, scaled: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    layer = scattered(
        SelfAttention(4, heads, Initializer(0, np.float64), causal=causal, reach=reach, scaled=scaled), rng
    )
    x, offsets = rng.standard_normal((sum(lengths), 4)), offsets_of(lengths)
    expected = [attention_by_loops(layer, part, part, heads, causal, scaled) for part in np.split(x, offsets[1:-1])]
    np.testing.assert_allclose(value_of(layer(x, offsets, ForwardContext())), np.concatenate(expected), atol=1e-12)


@pytest.mark.ledger("T-3.2-II-layer", "T-3.2-II-self-cross", "B-7.33eq")
@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5)), min_size=1, max_size=3), st.booleans(), st.integers(0, 99)
)
def test_cross_attention(lengths: list[tuple[int, int]], scaled: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    layer = scattered(CrossAttention(4, 2, Initializer(0, np.float64), scaled=scaled), rng)
    offsets, memory_offsets = (offsets_of([pair[side] for pair in lengths]) for side in (0, 1))
    x, memory = rng.standard_normal((offsets[-1], 4)), rng.standard_normal((memory_offsets[-1], 4))
    pairs = zip(np.split(x, offsets[1:-1]), np.split(memory, memory_offsets[1:-1]), strict=True)
    expected = [attention_by_loops(layer, part, context, 2, False, scaled) for part, context in pairs]
    found = value_of(layer(x, memory, offsets, memory_offsets, ForwardContext()))
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-12)


@pytest.mark.ledger("L-56-cache")
@pytest.mark.parametrize(("reach", "scaled"), [(0, True), (0, False), (2, True)])
def test_self_attention_position_by_position(reach: int, scaled: bool) -> None:
    rng = np.random.default_rng(4)
    layer = scattered(SelfAttention(6, 3, Initializer(0, np.float64), causal=True, reach=reach, scaled=scaled), rng)
    x = rng.standard_normal((2, 5, 6))
    at_once = value_of(layer(x.reshape(10, 6), np.array([0, 5, 10]), ForwardContext())).reshape(2, 5, 6)
    cache = KVCache.empty(2, 6, np.dtype(np.float64))
    for t in range(5):
        y, cache = layer.step(x[:, t], cache)
        np.testing.assert_allclose(y, at_once[:, t], atol=1e-13)
        assert (len(cache), cache.used) == (2, t + 1)


def test_two_branches_of_one_past_do_not_disturb_each_other() -> None:
    """Decoders may go on from one state several times: what one branch has filled is not the other's."""
    rng = np.random.default_rng(5)
    layer = scattered(SelfAttention(6, 3, Initializer(0, np.float64), causal=True), rng)
    x = rng.standard_normal((4, 2, 6))
    _, root = layer.step(x[0], KVCache.empty(2, 6, np.dtype(np.float64)))
    _, first = layer.step(x[1], root)
    _, second = layer.step(x[2], root)
    for branch, before in ((first, x[1]), (second, x[2])):
        sequence = np.stack((x[0], before, x[3]), axis=1).reshape(6, 6)
        whole = value_of(layer(sequence, np.array([0, 3, 6]), ForwardContext())).reshape(2, 3, 6)
        np.testing.assert_allclose(layer.step(x[3], branch)[0], whole[:, 2], atol=1e-13)


def test_a_past_grows_beyond_its_first_room() -> None:
    rng = np.random.default_rng(6)
    layer = scattered(SelfAttention(6, 3, Initializer(0, np.float64), causal=True), rng)
    x, past = rng.standard_normal((40, 6)), KVCache.empty(1, 6, np.dtype(np.float64))
    whole = value_of(layer(x, np.array([0, 40]), ForwardContext()))
    for t in range(40):
        y, past = layer.step(x[t : t + 1], past)
        np.testing.assert_allclose(y[0], whole[t], atol=1e-13)


@pytest.mark.parametrize("scaled", [True, False])
def test_cross_attention_remembers_a_ragged_memory(scaled: bool) -> None:
    rng = np.random.default_rng(4)
    layer = scattered(CrossAttention(6, 3, Initializer(0, np.float64), scaled=scaled), rng)
    x, memory, memory_offsets = rng.standard_normal((2, 6)), rng.standard_normal((5, 6)), np.array([0, 4, 5])
    expected = value_of(layer(x, memory, np.array([0, 1, 2]), memory_offsets, ForwardContext()))
    remembered = layer.remember(memory, memory_offsets)
    np.testing.assert_allclose(layer.step(x, remembered), expected, atol=1e-13)
    np.testing.assert_allclose(layer.step(x[[1]], remembered.select(np.array([1]))), expected[[1]], atol=1e-13)


@pytest.mark.ledger("T-3.2-II-params", "T-3.2-II-heads", "L-30-H", "L-34-KDH")
@pytest.mark.parametrize("kind", [SelfAttention, CrossAttention])
@pytest.mark.parametrize(("biases", "expected"), [(True, 16_640), (False, 4 * 64 * 64)])
def test_the_count_is_the_same_for_every_number_of_heads(kind: Any, biases: bool, expected: int) -> None:
    assert {kind(64, heads, Initializer(), biases=biases).count() for heads in (1, 4, 8, 16)} == {expected}


@pytest.mark.ledger("T-3.2-II-heads")
@pytest.mark.parametrize("kind", [SelfAttention, CrossAttention])
@pytest.mark.parametrize("heads", [0, -2, 4, 7])
def test_heads_must_divide_the_depth(kind: Any, heads: int) -> None:
    with pytest.raises(ConfigurationError, match=f"{heads} heads do not divide the depth 6"):
        kind(6, heads, Initializer())


def test_sequences_of_queries_and_of_memory_must_correspond() -> None:
    layer = CrossAttention(6, 2, Initializer(0, np.float64))
    with pytest.raises(ShapeError, match="2 sequences of queries, 1 of keys"):
        layer(np.ones((2, 6)), np.ones((3, 6)), np.array([0, 1, 2]), np.array([0, 3]), ForwardContext())
