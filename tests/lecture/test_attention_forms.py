"""The lecture's attention, from the naive form to Eq (4), in its own column layout and with loops."""

from __future__ import annotations

import tracemalloc
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ShapeError
from dragoman.graph import Array, gradient_check
from dragoman.operations import attend, attention_weights
from dragoman.operations.teaching.lecture import (
    asymmetric_attention,
    full_rank_attention,
    naive_attention,
    symmetric_attention,
)

N, D, K, H = 4, 5, 3, 2
RNG = np.random.default_rng(0)
TOKENS = RNG.standard_normal((D, N)) * 0.7  # X, tokens as columns
U, U_Q, U_K = RNG.standard_normal((3, K, D)) * 0.7
HEADS_Q, HEADS_K, MAPS = (RNG.standard_normal((H, rows, D)) * 0.7 for rows in (K, K, D))
EYE = np.eye(D)

# operation, its parameters, and the same as Eq (4) has it: (U_q, U_k, V) for each head
FORMS: dict[str, tuple[Any, tuple[Array, ...], list[tuple[Array, Array, Array]]]] = {
    "naive": (naive_attention, (), [(EYE, EYE, EYE)]),
    "symmetric": (symmetric_attention, (U,), [(U, U, EYE)]),
    "asymmetric": (asymmetric_attention, (U_Q, U_K), [(U_Q, U_K, EYE)]),
    "full rank": (full_rank_attention, (HEADS_Q, HEADS_K, MAPS), list(zip(HEADS_Q, HEADS_K, MAPS, strict=True))),
}
every_form = pytest.mark.parametrize("form", FORMS)


def in_columns(tokens: Array, heads: list[tuple[Array, Array, Array]], causal: bool, scaled: bool) -> Array:
    """Y = sum_h V_h X A_h with every sum of Eqs (1), (4), (5) and (6) written out."""
    count = tokens.shape[1]
    output = np.zeros_like(tokens)
    for u_q, u_k, v in heads:
        queries, keys = ([u @ tokens[:, n] for n in range(count)] for u in (u_q, u_k))
        for query in range(count):
            seen = range(query + 1) if causal else range(count)
            scale = len(u_q) ** 0.5 if scaled else 1.0
            numerators = {key: np.exp(keys[key] @ queries[query] / scale) for key in seen}
            column = {key: numerator / sum(numerators.values()) for key, numerator in numerators.items()}
            output[:, query] += v @ sum(tokens[:, key] * weight for key, weight in column.items())
    return output


def attention_matrix(function: Any, tokens: Array, *parameters: Array, **options: bool) -> Array:
    """A, solved from Y = X A: possible because these N tokens of size D > N are independent."""
    return np.linalg.pinv(tokens) @ function(tokens.T, *parameters, **options).T


@pytest.mark.ledger("L-2-tokens", "L-19-matmul", "L-22-naive", "L-23-U", "L-25-asym", "L-27-mhsa", "L-28-Ah", "L-29-qh")
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@every_form
def test_rows_are_the_lectures_columns_transposed(form: str, causal: bool, scaled: bool) -> None:
    function, parameters, heads = FORMS[form]
    y = function(TOKENS.T, *parameters, causal=causal, scaled=scaled)
    np.testing.assert_allclose(y.T, in_columns(TOKENS, heads, causal, scaled), rtol=1e-13, atol=1e-14)


@pytest.mark.ledger("L-22-naive", "L-23-U", "L-25-asym", "L-27-mhsa", "L-32-V")
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"scaled": True}, {"causal": True, "scaled": True}])
@every_form
def test_derivatives(form: str, options: dict[str, bool]) -> None:
    function, parameters, _ = FORMS[form]
    gradient_check(function, TOKENS.T, *parameters, **options).require()


@pytest.mark.ledger("L-14-attn", "L-15-Anorm", "L-28-Ah", "L-59-upper")
@pytest.mark.parametrize("form", ["naive", "symmetric", "asymmetric"])
@pytest.mark.parametrize("causal", [False, True])
def test_columns_of_the_attention_matrix_total_1(form: str, causal: bool) -> None:
    function, parameters, _ = FORMS[form]
    a = attention_matrix(function, TOKENS, *parameters, causal=causal)
    np.testing.assert_allclose(a.sum(axis=0), 1, rtol=1e-12)
    assert a.min() > -1e-13
    assert np.abs(a.sum(axis=1) - 1).max() > 0.1
    assert (np.abs(np.tril(a, -1)).max() < 1e-13) == causal  # upper triangular when masked


@pytest.mark.ledger("L-14-attn")
@given(st.integers(0, 10_000), st.floats(0.1, 10))
def test_averages_stay_in_the_convex_hull(seed: int, size: float) -> None:
    """Along any direction no output lies outside of what the tokens span."""
    rng = np.random.default_rng(seed)
    x, direction = rng.standard_normal((6, 3)) * size, rng.standard_normal(3)
    along, rows = x @ direction, asymmetric_attention(x, *rng.standard_normal((2, 2, 3)))
    assert (rows @ direction <= along.max() + 1e-9).all()
    assert (rows @ direction >= along.min() - 1e-9).all()


@pytest.mark.ledger("L-22-naive", "L-23-U", "L-25-asym")
@pytest.mark.parametrize(("form", "symmetric"), [("naive", True), ("symmetric", True), ("asymmetric", False)])
def test_numerators_are_symmetric_or_not(form: str, symmetric: bool) -> None:
    """A_ij = S_ij / Z_j with symmetric S exactly when every cycle weighs the same in both directions."""
    function, parameters, _ = FORMS[form]
    a = attention_matrix(function, TOKENS, *parameters)
    ratios = [a[i, j] * a[j, k] * a[k, i] / (a[i, k] * a[k, j] * a[j, i]) for i, j, k in permutations(range(N), 3)]
    assert (np.abs(np.log(ratios)).max() < 1e-9) == symmetric


@pytest.mark.ledger("L-22-naive", "L-23-U", "L-25-asym", "L-27-mhsa")
@pytest.mark.parametrize("causal", [False, True])
def test_each_form_generalises_the_one_before(causal: bool) -> None:
    x = TOKENS.T
    pairs = [
        (symmetric_attention(x, EYE, causal=causal), naive_attention(x, causal=causal)),
        (asymmetric_attention(x, U, U, causal=causal), symmetric_attention(x, U, causal=causal)),
        (
            full_rank_attention(x, U_Q[None], U_K[None], EYE[None], causal=causal),
            asymmetric_attention(x, U_Q, U_K, causal=causal),
        ),
    ]
    for general, special in pairs:
        np.testing.assert_allclose(general, special, rtol=1e-13)


@pytest.mark.ledger("L-23-U")
def test_a_projection_compares_tokens_in_fewer_dimensions() -> None:
    """What U projects out changes the tokens but not how they attend; the naive form notices it."""
    ignored = np.linalg.svd(U)[2][K:]  # a basis of what U sends to 0
    moved = TOKENS + ignored.T @ np.random.default_rng(1).standard_normal((D - K, N))
    before, after = (attention_matrix(symmetric_attention, tokens, U) for tokens in (TOKENS, moved))
    np.testing.assert_allclose(after, before, atol=1e-12)
    assert np.abs(attention_matrix(naive_attention, moved) - attention_matrix(naive_attention, TOKENS)).max() > 0.01


@pytest.mark.ledger("L-24-scaled")
@pytest.mark.parametrize(("scaled", "spread"), [(False, 4.0), (True, 1.0)])
def test_dividing_by_the_root_of_the_projected_size_gives_scores_unit_spread(scaled: bool, spread: float) -> None:
    """D = 256 features compared in K = 16 dimensions; dividing by sqrt(D) as printed would leave 0.25."""
    rng = np.random.default_rng(1)
    tokens = rng.standard_normal((256, 150))
    u_q, u_k = rng.standard_normal((2, 16, 256)) / 16
    scores = np.log(attention_matrix(asymmetric_attention, tokens, u_q, u_k, scaled=scaled))  # but for a constant
    assert (scores - scores.mean(axis=0)).std() == pytest.approx(spread, rel=0.1)


@pytest.mark.ledger("L-25-asym")
def test_a_may_attend_to_b_without_b_attending_to_a() -> None:
    tokens = TOKENS[:, :2]
    reads_a, reads_b = np.linalg.pinv(tokens) * 6  # 6 from the one token, 0 from the other
    matrix = attention_matrix(asymmetric_attention, tokens, reads_a[None], reads_b[None])
    np.testing.assert_allclose(matrix[:, 0], [0, 1], atol=1e-9)  # a asks for b
    np.testing.assert_allclose(matrix[:, 1], [0.5, 0.5], atol=1e-9)  # b asks for nothing


@pytest.mark.parametrize("function", [naive_attention, symmetric_attention, asymmetric_attention, full_rank_attention])
def test_tokens_are_the_rows_of_a_matrix(function: Any) -> None:
    maps = {
        naive_attention: (),
        symmetric_attention: (HEADS_Q[0],),
        asymmetric_attention: (HEADS_Q[0], HEADS_K[0]),
        full_rank_attention: (HEADS_Q, HEADS_K, MAPS),
    }
    with pytest.raises(ShapeError, match=rf"^{function.name}: x has shape .*expected .N, d"):
        function(TOKENS.T[None], *maps[function])


@pytest.mark.ledger("L-32-V")
@pytest.mark.parametrize(("maps", "axis"), [(MAPS[:, :, :K], "d"), (MAPS[:, :K], "d"), (MAPS[:1], "h")])
def test_every_head_has_a_square_value_map(maps: Array, axis: str) -> None:
    with pytest.raises(ShapeError, match=f"they differ in {axis}"):
        full_rank_attention(TOKENS.T, HEADS_Q, HEADS_K, maps)


@pytest.mark.ledger("L-35-crossfeat")
def test_value_maps_mix_features_even_where_tokens_do_not_meet() -> None:
    alone = np.eye(D) * 40  # orthogonal tokens: each attends to itself alone, A = I
    np.testing.assert_array_equal(naive_attention(alone), alone)
    y = full_rank_attention(alone, EYE[None].repeat(H, 0), EYE[None].repeat(H, 0), MAPS)
    np.testing.assert_allclose(y.T, MAPS.sum(axis=0) @ alone, rtol=1e-13)


@pytest.mark.ledger("L-17-conv")
def test_weights_that_depend_on_distance_alone_are_a_cross_correlation() -> None:
    kernel, series = np.array([0.2, 0.5, 0.3]), np.random.default_rng(2).standard_normal((12, 1))
    bias = np.concatenate(([-1e3], np.log(kernel), [-1e3]))[None]  # nothing beyond a distance of 1
    blank, offsets = np.zeros_like(series), np.array([0, 12])
    y = attend(blank, blank, series, bias, offsets=offsets, heads=1)[:, 0]
    correlation = np.correlate(series[:, 0], kernel, mode="same")
    np.testing.assert_allclose(y[1:-1], correlation[1:-1], rtol=1e-13, atol=1e-14)
    assert np.abs(y[1:-1] - np.convolve(series[:, 0], kernel, mode="same")[1:-1]).max() > 0.01
    ends = correlation[[0, -1]] / [kernel[1:].sum(), kernel[:-1].sum()]  # at the borders weights still total 1
    np.testing.assert_allclose(y[[0, -1]], ends, rtol=1e-13)


@pytest.mark.ledger("L-15-Anorm", "L-19-matmul")
def test_the_operation_that_networks_use_is_x_times_a() -> None:
    q, k, v = np.random.default_rng(3).standard_normal((3, 6, 4))
    offsets = np.array([0, 6])
    a = attention_weights(q, k, offsets=offsets, heads=1)[0, 0].T
    np.testing.assert_allclose(a.sum(axis=0), 1, rtol=1e-14)
    assert np.abs(a.sum(axis=1) - 1).max() > 0.1
    np.testing.assert_allclose(attend(q, k, v, offsets=offsets, heads=1).T, v.T @ a, rtol=1e-12)


@pytest.mark.ledger("L-16-memory")
@pytest.mark.parametrize("form", ["naive", "attend"])
def test_memory_grows_with_the_square_of_the_length(form: str) -> None:
    def peak(length: int) -> int:
        x = np.ones((length, 2))
        tracemalloc.start()
        try:
            if form == "naive":
                naive_attention(x)
            else:
                attend(x, x, x, offsets=np.array([0, length]), heads=1)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(600) / peak(300) == pytest.approx(4, rel=0.1)
