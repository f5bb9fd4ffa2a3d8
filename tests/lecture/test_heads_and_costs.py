"""Several heads: how the usual values and projection fit in, what they count and what they cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.graph import Array, value_of
from dragoman.layers import FeedForward, ForwardContext, Initializer, KVCache, SelfAttention
from dragoman.operations.teaching.lecture import full_rank_attention
from tests.lecture.counting import Counted, Products

N, D = 6, 16


def self_attention(heads: int, depth: int = D, **options: Any) -> SelfAttention:
    return SelfAttention(depth, heads, Initializer(0, np.float64), biases=False, **options)


def lecture_maps(layer: SelfAttention) -> tuple[Array, Array, Array]:
    """U_q, U_k [h, K, D] and V_h = U_h U_v,h [h, D, D] behind a layer's matrices."""
    a = dict(layer.named_arrays())
    q, k, v = (np.stack(np.split(a[f"{part}.weights"], layer.heads, axis=1)) for part in ("query", "key", "value"))
    outputs = np.stack(np.split(a["projection.weights"], layer.heads, axis=0))
    return q.transpose(0, 2, 1), k.transpose(0, 2, 1), (v @ outputs).transpose(0, 2, 1)


@pytest.mark.ledger("L-33-lowrank", "L-27-mhsa", "L-29-qh")
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_values_and_projection_are_value_maps_of_low_rank(heads: int, causal: bool) -> None:
    layer, x = self_attention(heads, causal=causal), np.random.default_rng(0).standard_normal((N, D))
    u_q, u_k, maps = lecture_maps(layer)
    assert {np.linalg.matrix_rank(v) for v in maps} == {D // heads}
    expected = full_rank_attention(x, u_q, u_k, maps, causal=causal, scaled=True)
    np.testing.assert_allclose(value_of(layer(x, np.array([0, N]), ForwardContext())), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.ledger("L-26-qk")
@pytest.mark.parametrize("heads", [1, 4])
def test_a_heads_map_has_just_two_matrices(heads: int) -> None:
    layer, x = self_attention(heads), np.random.default_rng(0).standard_normal((N, D))

    def maps() -> Array:
        kept: list[Array] = []
        layer(x, np.array([0, N]), ForwardContext(maps=kept))
        return kept[0][0]

    size = 0
    for name, view in layer.named_arrays():
        before = maps()
        assert before.shape == (heads, N, N)
        view += 0.5 * np.random.default_rng(1).standard_normal(view.shape)
        changed = np.abs(maps() - before).max(axis=(1, 2)) > 1e-6
        assert changed.tolist() == [name in ("query.weights", "key.weights")] * heads
        size += view.size if changed.any() else 0
    assert size == heads * 2 * (D // heads) * D  # 2 K D for each head


@pytest.mark.ledger("L-34-KDH")
def test_the_usual_form_has_4_d_squared_parameters_for_every_number_of_heads() -> None:
    assert {self_attention(heads, 512).count() for heads in (1, 8, 16)} == {1_048_576}


def products_of_attention(heads: int, length: int, depth: int) -> Products:
    products: Products = Products()
    layer: Any = self_attention(heads, depth).without_gradient()
    layer(Counted.of(np.ones((length, depth)), products), np.array([0, length]), ForwardContext())
    return products


@pytest.mark.ledger("L-31-cost", "L-34-KDH")
@pytest.mark.parametrize("heads", [1, 2, 8])
def test_averaging_costs_h_d_n_squared_or_d_n_squared(heads: int) -> None:
    general = Products()
    full_rank_attention(Counted.of(np.ones((N, D)), general), *lecture_maps(self_attention(heads)))
    scores, averaging = general.with_square(N)
    assert (scores, averaging) == (D * N * N, heads * D * N * N)

    usual = products_of_attention(heads, N, D)
    assert usual.with_square(N) == [D * N * N, D * N * N]
    assert usual.multiply_adds == 4 * N * D * D + 2 * D * N * N  # whatever the number of heads


@pytest.mark.ledger("L-38-mlpcost")
@pytest.mark.parametrize(("length", "depth"), [(40, 8), (17, 16), (16, 17), (8, 40)])
def test_the_mlp_overtakes_attention_when_depth_passes_length(length: int, depth: int) -> None:
    products = Products()
    mlp: Any = FeedForward(depth, depth, "relu", Initializer(0, np.float64)).without_gradient()
    mlp(Counted.of(np.ones((length, depth)), products))
    assert products.multiply_adds == 2 * length * depth * depth
    attending = sum(products_of_attention(1, length, depth).with_square(length))
    assert (products.multiply_adds > attending) == (depth > length)


@pytest.mark.ledger("L-54-naivecost", "L-56-cache")
def test_recomputing_every_prefix_costs_n_minus_1_growing_passes() -> None:
    words, depth = 9, 4
    layer: Any = self_attention(1, depth, causal=True).without_gradient()
    x = np.random.default_rng(0).standard_normal((words - 1, depth))

    naive, again = [], []
    for n in range(1, words):  # one pass for each next word
        products = Products()
        again.append(layer(Counted.of(x[:n], products), np.array([0, n]), ForwardContext())[-1])
        naive.append(products.multiply_adds)
    assert naive == [4 * n * depth**2 + 2 * n * n * depth for n in range(1, words)]

    incremental, kept = [], []
    cache = KVCache.empty(1, depth, np.dtype(np.float64))
    for n in range(1, words):
        products = Products()
        y, cache = layer.step(Counted.of(x[n - 1 : n], products), cache)
        kept.append(y[0])
        incremental.append(products.multiply_adds)
    assert incremental == [4 * depth**2 + 2 * n * depth for n in range(1, words)]
    np.testing.assert_allclose(kept, again, atol=1e-13)
