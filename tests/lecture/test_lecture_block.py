"""The transformer block: two stages, residual branches, token normalization, repeated M times."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, gradient_check, value_of
from dragoman.layers import FeedForward, Initializer, Normalization
from dragoman.operations import attend, normalize
from dragoman.operations.teaching.normalizations import batch_normalize, instance_normalize
from tests.lecture.masked_body import DEPTH, Body, scatter

N = 5
X = np.random.default_rng(0).standard_normal((N, DEPTH))


def column_norm(tokens: Array, a: dict[str, Array], epsilon: float = 1e-5) -> Array:
    """LayerNorm of every column, with the lecture's mean and variance over d."""
    mean = tokens.sum(axis=0) / len(tokens)
    variance = ((tokens - mean) ** 2).sum(axis=0) / len(tokens)
    return (tokens - mean) / np.sqrt(variance + epsilon) * a["gamma"][:, None] + a["beta"][:, None]


def column_block(tokens: Array, block: Any) -> Array:
    """Xbar = LN(X), Y = X + MHSA(Xbar), Ybar = LN(Y), X' = Y + MLP(Ybar), on columns"""
    norms = [
        dict(layer.named_arrays()) for layer in (block.self_attention_normalization, block.perceptron_normalization)
    ]
    a, m = dict(block.self_attention.named_arrays()), dict(block.perceptron.named_arrays())

    def project(part: str, columns: Array) -> Array:
        return a[f"{part}.weights"].T @ columns + a[f"{part}.biases"][:, None]

    xbar = column_norm(tokens, norms[0])
    heads = []
    for q, k, v in zip(*(np.split(project(part, xbar), 2) for part in ("query", "key", "value")), strict=True):
        e = np.exp(k.T @ q / np.sqrt(len(q)))
        heads.append(v @ (e / e.sum(axis=0)))
    y = tokens + project("projection", np.concatenate(heads))
    hidden = np.maximum(m["hidden.weights"].T @ column_norm(y, norms[1]) + m["hidden.biases"][:, None], 0)
    return y + m["output.weights"].T @ hidden + m["output.biases"][:, None]


@pytest.mark.ledger("L-2-tokens", "L-9-goal", "L-12-iter", "L-40-mild", "L-43-prenorm", "L-44-M", "B-7.5-block")
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_a_body_is_its_block_equations_repeated(blocks: int) -> None:
    body = Body(blocks)
    tokens = X.T
    for block in body.blocks:
        tokens = column_block(tokens, block)
    found = value_of(body(X))
    assert found.shape == X.shape
    np.testing.assert_allclose(found.T, tokens, rtol=1e-11, atol=1e-12)


@pytest.mark.ledger("L-9-goal", "B-7.5-block", "B-7.5-encoder")
@pytest.mark.parametrize("block", ["pre", "post"])
def test_a_body_keeps_the_shape_and_is_differentiable(block: str) -> None:
    body = Body(2, block=block, perceptron_depth=3)
    gradient_check(body, X[:3]).require()
    for length in (1, 2, 7):
        assert value_of(body(np.ones((length, DEPTH)))).shape == (length, DEPTH)


@pytest.mark.ledger("L-13-twostages")
def test_the_first_stage_mixes_tokens_and_not_features() -> None:
    rng = np.random.default_rng(2)
    q, k, v = rng.standard_normal((3, N, DEPTH))
    other = v.copy()
    other[1, 3] += 1.0
    change = np.abs(
        attend(q, k, other, offsets=np.array([0, N]), heads=1) - attend(q, k, v, offsets=np.array([0, N]), heads=1)
    )
    assert (change[:, 3] > 1e-6).all()
    np.testing.assert_allclose(np.delete(change, 3, axis=1), 0, atol=1e-15)


@pytest.mark.ledger("L-13-twostages", "L-36-mlp", "B-7.5-ffn")
def test_the_second_stage_mixes_features_and_not_tokens() -> None:
    mlp = scatter(FeedForward(DEPTH, 12, "gelu", Initializer(0, np.float64)))
    other = X.copy()
    other[1, 3] += 1.0
    change = np.abs(value_of(mlp(other)) - value_of(mlp(X)))
    assert (change[1] > 1e-6).all()
    np.testing.assert_allclose(np.delete(change, 1, axis=0), 0, atol=1e-15)
    for row, token in zip(value_of(mlp(X)), X, strict=True):
        np.testing.assert_allclose(row, value_of(mlp(token[None]))[0], rtol=1e-12)


@pytest.mark.ledger("L-37-mlpsize")
@pytest.mark.parametrize("hidden_depth", [DEPTH, 2 * DEPTH])
@pytest.mark.parametrize("hidden_layers", [1, 2])
def test_an_mlp_may_have_one_or_two_hidden_layers(hidden_layers: int, hidden_depth: int) -> None:
    mlp = scatter(FeedForward(DEPTH, hidden_depth, "relu", Initializer(0, np.float64), hidden_layers))
    gradient_check(mlp, X).require()
    a, y = dict(mlp.named_arrays()), X
    for layer in ("hidden", "second_hidden")[:hidden_layers]:
        y = np.maximum(y @ a[f"{layer}.weights"] + a[f"{layer}.biases"], 0)
    np.testing.assert_allclose(value_of(mlp(X)), y @ a["output.weights"] + a["output.biases"], rtol=1e-12)
    with pytest.raises(ConfigurationError, match="one or two hidden layers, got 3"):
        FeedForward(DEPTH, hidden_depth, "relu", Initializer(0), 3)


def scale_branches(body: Body, factor: float) -> None:
    """Multiply what every residual branch adds."""
    for block in body.blocks:
        for layer in (block.self_attention.projection, block.perceptron.output):
            for parameter in layer.parameters():
                parameter.value *= factor


@pytest.mark.ledger("L-39-res")
def test_branches_that_output_zero_make_a_body_the_identity() -> None:
    body = Body(3)
    scale_branches(body, 0.0)
    np.testing.assert_array_equal(value_of(body(X)), X)


@pytest.mark.ledger("L-40-mild")
def test_mild_branches_change_their_input_mildly_and_add_up() -> None:
    body = Body(8)
    scale_branches(body, 1e-3)
    steps = [X]
    for block in body.blocks:
        one = Body(1)
        one.blocks = [block]
        steps.append(value_of(one(steps[-1])))
    each = [np.abs(after - before).max() for before, after in pairwise(steps)]
    assert 0 < max(each) < 0.02
    assert np.abs(steps[-1] - X).max() > 2 * max(each)
    np.testing.assert_allclose(value_of(body(X)), steps[-1], rtol=1e-12)


@pytest.mark.ledger("L-41-ln")
def test_tokens_are_standardised_then_scaled_and_shifted() -> None:
    layer = Normalization(DEPTH, Initializer(0, np.float64), epsilon=0.0)
    y = value_of(layer(X * 7 + 3))
    np.testing.assert_allclose(y.mean(axis=1), 0, atol=1e-14)
    np.testing.assert_allclose(y.std(axis=1), 1, rtol=1e-14)
    scatter(layer)
    a = dict(layer.named_arrays())
    np.testing.assert_allclose(value_of(layer(X)).T, column_norm(X.T, a, 0.0), rtol=1e-12, atol=1e-13)


@pytest.mark.ledger("L-41-ln")
@pytest.mark.parametrize("epsilon", [0.0, 1e-5])
def test_a_constant_token_is_left_with_the_shift_alone(epsilon: float) -> None:
    constant = np.full((2, DEPTH), 0.25)
    layer = scatter(Normalization(DEPTH, Initializer(0, np.float64), epsilon=epsilon))
    np.testing.assert_array_equal(value_of(layer(constant)), np.tile(value_of(layer.beta), (2, 1)))


ONES, ZEROS = np.ones(DEPTH), np.zeros(DEPTH)
KINDS = {
    "token": lambda x: normalize(x, ONES, ZEROS, epsilon=0.0),
    "instance": lambda x: instance_normalize(x, ONES, ZEROS, offsets=np.array([0, 3, 5]), epsilon=0.0),
    "batch": lambda x: batch_normalize(x, ONES, ZEROS, epsilon=0.0),
}


@pytest.mark.ledger("L-42-normkinds", "B-7.5-LNvsBN")
@pytest.mark.parametrize(
    ("kind", "reach"), [("token", [0]), ("instance", [0, 1, 2]), ("batch", [0, 1, 2, 3, 4])], ids=str
)
def test_other_normalizations_average_over_other_axes(kind: str, reach: list[int]) -> None:
    """Which tokens notice a change of the first: itself, its sequence, or all samples."""
    moved = X.copy()
    moved[0] = moved[0, ::-1] * 2
    change = np.abs(KINDS[kind](moved) - KINDS[kind](X)).max(axis=1)
    assert np.flatnonzero(change > 1e-6).tolist() == reach
    axis = 1 if kind == "token" else 0
    first = KINDS[kind](X)[:3] if kind == "instance" else KINDS[kind](X)
    np.testing.assert_allclose(first.mean(axis=axis), 0, atol=1e-14)
    np.testing.assert_allclose(first.std(axis=axis), 1, rtol=1e-13)


@pytest.mark.ledger("L-42-normkinds", "B-7.5-LNvsBN")
@pytest.mark.parametrize("epsilon", [1e-5, 0.1])
def test_other_normalizations_have_their_derivatives(epsilon: float) -> None:
    rng = np.random.default_rng(3)
    gamma, beta = rng.standard_normal((2, DEPTH))
    gradient_check(batch_normalize, X, gamma, beta, epsilon=epsilon).require()
    offsets = np.array([0, 2, 2, 5])  # the second sequence is empty
    gradient_check(instance_normalize, X, gamma, beta, offsets=offsets, epsilon=epsilon).require()
    whole = instance_normalize(X, gamma, beta, offsets=np.array([0, N]), epsilon=epsilon)
    np.testing.assert_array_equal(whole, batch_normalize(X, gamma, beta, epsilon=epsilon))
