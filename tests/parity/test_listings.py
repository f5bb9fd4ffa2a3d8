"""Parity with the C++ listings of the thesis (appendix B): each has a counterpart here that gives the same numbers.

`listings` writes down what is printed there. Its counterparts are the thesis's own pieces on padded tensors
(`operations.teaching.thesis`) and what networks are made of, on packed rows: every sample has m rows here, padding
among them, as in the thesis.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import PAD, START, Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Parameter, Tensor, Theta, backpropagate, value_of
from dragoman.layers import (
    CrossAttention,
    Embedding,
    ForwardContext,
    Initializer,
    Layer,
    Normalization,
    Perceptron,
    SelfAttention,
)
from dragoman.loss.index import CrossEntropy
from dragoman.operations import (
    ACTIVATIONS,
    Padding,
    activate,
    add,
    attend,
    attention_weights,
    embed,
    linear,
    normalize,
    softmax,
)
from dragoman.operations.attention import allowed_keys
from dragoman.operations.positions import half_sinusoid
from dragoman.operations.teaching import thesis
from dragoman.optimization import Adam, Constant, ThesisWarmUp
from tests.parity import listings
from tests.strategies import generators, sizes

EPSILON = 0.1  # of normalizations: large, so that it shows where it stands
of_the_listings = pytest.mark.ledger("T-B-code")
both_activations = pytest.mark.parametrize("activation", ["identity", "relu"])
both_masks = pytest.mark.parametrize("causal", [False, True])
with_and_without_positions = pytest.mark.parametrize("encode", [True, False])
kinds_of_attention = pytest.mark.parametrize("kind", ["self", "causal", "cross"])
INITIAL = Initializer(0, np.float64)


def assert_same(found: Any, printed: Any) -> None:
    found, printed = value_of(found), np.asarray(printed)
    assert found.shape == printed.shape
    np.testing.assert_allclose(found, printed, rtol=1e-10, atol=1e-12)


def assert_all_same(found: Sequence[Array], printed: Sequence[Array]) -> None:
    for ours, theirs in zip(found, printed, strict=True):
        assert_same(ours, theirs)


def assert_different(found: Any, printed: Array) -> None:
    assert np.abs(value_of(found) - printed).max() > 1e-6


def gradients(function: Callable[..., Any], inputs: Sequence[Array], deltas: Sequence[Array]) -> list[Array]:
    """By every input, when each delta comes from a consumer of its own."""
    leaves = [Tensor(x) for x in inputs]
    return backpropagate([function(*leaves)] * len(deltas), leaves, deltas)


def layer_gradients(
    layer: Layer, function: Callable[..., Any], inputs: Sequence[Array], deltas: Sequence[Array]
) -> tuple[list[Array], dict[str, Array]]:
    """By every input, and by every published parameter under its name."""
    leaves, named = [Tensor(x) for x in inputs], list(layer.named_parameters())
    y = function(*leaves)
    found = backpropagate([y] * len(deltas), [*leaves, *(parameter for _, parameter in named)], deltas)
    by_parameters = zip(named, found[len(inputs) :], strict=True)
    return found[: len(inputs)], dict(part for (name, p), dp in by_parameters for part in p.split(name, dp))


def fill(layer: Layer, **values: Array) -> None:
    for name, view in layer.named_arrays():
        view[...] = values[name.replace(".", "_")]


def normal(rng: np.random.Generator, *shapes: tuple[int, ...]) -> list[Array]:
    return [rng.standard_normal(shape) for shape in shapes]


def packed(x: Array) -> Array:
    """[n, m, ...] -> [n m, ...]"""
    return x.reshape(-1, *x.shape[2:])


def starts(n: int, m: int) -> Array:
    return np.arange(n + 1) * m


def samples_first(x: Array) -> Array:
    """The listings' [a, b, sample, head] -> the thesis's [sample, a, b, head]"""
    return np.moveaxis(x, 2, 0)


def columns(x: Array) -> Array:
    """[..., d~, h] -> [..., h d~]: the heads side by side"""
    return x.swapaxes(-1, -2).reshape(*x.shape[:-2], -1)


def stacked(x: Array) -> Array:
    """[d~, d, h] -> [h d~, d]: the heads one below the other"""
    return x.transpose(2, 0, 1).reshape(-1, x.shape[1])


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes(1, 6), scale=st.sampled_from((1.0, 1000.0)))
def test_listing_01_softmax(rng, n, m, d, scale) -> None:
    x = scale * rng.standard_normal((n, m, d))
    assert_same(softmax(x), listings.softmax(x))


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), v=sizes(1, 6), d=sizes())
def test_listing_02_embedding_lookup(rng, n, m, v, d) -> None:
    table, labels = rng.standard_normal((v, d)), rng.integers(0, v, (n, m))
    printed = listings.lookup(labels.astype(float), table)
    assert_same(thesis.lookup(table, labels=labels), printed)
    assert_same(embed(table, labels=labels.ravel()), packed(printed))


@of_the_listings
@given(m=sizes(1, 12), half=sizes(1, 5))
def test_listing_03_positional_encoding(m, half) -> None:
    assert_same(half_sinusoid(m, 2 * half), listings.positional_encoding(m, 2 * half))
    with pytest.raises(ConfigurationError, match="even depth"):  # the listing: one cosine more than sines
        half_sinusoid(m, 2 * half + 1)


@of_the_listings
@with_and_without_positions
@given(rng=generators(), n=sizes(), m=sizes(), v=sizes(1, 6), half=sizes(1, 3))
def test_listing_04_embedding_layer(encode, rng, n, m, v, half) -> None:
    table, labels = rng.standard_normal((v, 2 * half)), rng.integers(0, v, (n, m))
    layer = Embedding(v, 2 * half, INITIAL, "half_sinusoid" if encode else "none")
    fill(layer, table=table)
    found = layer(labels.ravel(), np.tile(np.arange(m), n), ForwardContext())
    assert_same(found, packed(listings.embedding(labels.astype(float), table, encode)))


@of_the_listings
@given(rng=generators(), n=sizes(1, 3), m=sizes(), d=sizes(), hidden=sizes(1, 3), heads=sizes(1, 3))
def test_listing_05_linear_transformation(rng, n, m, d, hidden, heads) -> None:
    x, weights, biases = normal(rng, (n, m, d), (d, hidden, heads), (hidden, heads))
    printed = samples_first(listings.transformation(x, weights, biases))
    assert_same(thesis.transform(x, weights, biases), printed)
    assert_same(linear(packed(x), columns(weights), columns(biases)), packed(columns(printed)))


@of_the_listings
@given(context=sizes(1, 6), inputs=sizes(1, 6))
def test_listing_06_causal_mask(context, inputs) -> None:
    printed = listings.causal_mask(context, inputs)
    np.testing.assert_array_equal(thesis.causal_mask(np.zeros((1, context, inputs, 1)))[0, :, :, 0], printed)
    allowed = allowed_keys(inputs, Padding(1, context, None), causal=True)
    np.testing.assert_array_equal(allowed[0, 0].T, printed == 0)


@of_the_listings
@both_masks
@given(rng=generators(), n=sizes(1, 3), inputs=sizes(), context=sizes(2, 4), hidden=sizes(1, 3), heads=sizes(1, 3))
def test_listing_07_attention(causal, rng, n, inputs, context, hidden, heads) -> None:
    queries, keys, values = normal(
        rng, (inputs, hidden, n, heads), (context, hidden, n, heads), (context, hidden, n, heads)
    )
    weights, outputs = listings.attention(queries, keys, values, causal, axis=0)
    q, k, v, printed = (samples_first(x) for x in (queries, keys, values, outputs))
    scores = thesis.scores(k, q)
    found = thesis.weigh(thesis.causal_mask(scores) if causal else scores)
    assert_same(found, samples_first(weights))
    assert_same(thesis.combine(found, v), printed)

    rows = [packed(columns(x)) for x in (q, k, v)]
    layout = {"offsets": starts(n, inputs), "memory_offsets": starts(n, context), "heads": heads, "causal": causal}
    assert_same(attention_weights(*rows[:2], **layout), weights.transpose(2, 3, 1, 0))
    found = attend(*rows, **layout)
    assert_same(found, packed(columns(printed)))

    if not causal:  # E-T17: listing 1 as it stands adds up to 1 over the samples, not over the context
        weights, outputs = listings.attention(queries, keys, values, causal)
        np.testing.assert_allclose(weights.sum(axis=2), 1)
        assert_different(weights.sum(axis=0), np.ones((inputs, n, heads)))
        assert_different(found, packed(columns(samples_first(outputs))))


@of_the_listings
@given(rng=generators(), n=sizes(1, 3), m=sizes(), d=sizes(), hidden=sizes(1, 3), heads=sizes(1, 3))
def test_listing_08_projection(rng, n, m, d, hidden, heads) -> None:
    outputs, weights, biases = normal(rng, (m, hidden, n, heads), (hidden, d, heads), (d,))
    printed, o = listings.projection(outputs, weights, biases), samples_first(outputs)
    assert_same(thesis.project(o, weights, biases), printed)
    assert_same(linear(packed(columns(o)), stacked(weights), biases), packed(printed))


def draw_attention(rng, kind, n, inputs, context, hidden, heads) -> tuple[Array, Array, list[Array]]:
    """Input, context and the eight parameters; only cross-attention has a context of its own."""
    d = hidden * heads
    x = rng.standard_normal((n, inputs, d))
    per_head = ((d, hidden, heads), (hidden, heads))
    parameters = normal(rng, *per_head, *per_head, *per_head, (hidden, d, heads), (d,))
    return x, rng.standard_normal((n, context, d)) if kind == "cross" else x, parameters


def published(parameters: Sequence[Array]) -> dict[str, Array]:
    """The parameters of listing 9, or their derivatives, as a layer names and lays them out."""
    names = [f"{part}_{kind}" for part in ("query", "key", "value") for kind in ("weights", "biases")]
    *per_head, weights, biases = parameters
    heads = {name: columns(x) for name, x in zip(names, per_head, strict=True)}
    return heads | {"projection_weights": stacked(weights), "projection_biases": biases}


def attention_of(
    kind: str, x: Array, context: Array, parameters: Sequence[Array]
) -> tuple[Layer, Callable[..., Any], list[Array]]:
    """The layer of a network that holds these parameters, how it is called, and on what."""
    n, inputs, d = x.shape
    heads, offsets, memory_offsets = parameters[0].shape[2], starts(n, inputs), starts(n, context.shape[1])
    if kind == "cross":
        cross = CrossAttention(d, heads, INITIAL)
        fill(cross, **published(parameters))
        return cross, lambda x, c: cross(x, c, offsets, memory_offsets, ForwardContext()), [packed(x), packed(context)]
    layer = SelfAttention(d, heads, INITIAL, causal=kind == "causal")
    fill(layer, **published(parameters))
    return layer, lambda x: layer(x, offsets, ForwardContext()), [packed(x)]


@of_the_listings
@kinds_of_attention
@given(rng=generators(), n=sizes(1, 2), inputs=sizes(), context=sizes(), hidden=sizes(1, 2), heads=sizes(1, 3))
def test_listing_09_attention_layer(kind, rng, n, inputs, context, hidden, heads) -> None:
    x, memory, parameters = draw_attention(rng, kind, n, inputs, context, hidden, heads)
    printed = listings.attention_layer(x, memory, parameters, kind == "causal").y
    assert_same(thesis.attention(x, memory, *parameters, causal=kind == "causal"), printed)
    _, call, rows = attention_of(kind, x, memory, parameters)
    assert_same(call(*rows), packed(printed))


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes())
def test_listing_10_addition(rng, n, m, d) -> None:
    x1, x2 = normal(rng, (n, m, d), (n, m, d))
    assert_same(add(x1, x2), listings.addition(x1, x2))


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes(2, 6), epsilon=st.sampled_from((EPSILON, 1e-5)))
def test_listing_11_normalization(rng, n, m, d, epsilon) -> None:
    x = 3 * rng.standard_normal((n, m, d)) + 1
    assert_same(thesis.standardize(x, epsilon=epsilon), listings.standardization(x, epsilon)[2])


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes())
def test_listing_12_affine_transformation(rng, n, m, d) -> None:
    xhat, gamma, beta = normal(rng, (n, m, d), (d,), (d,))
    y = xhat.copy()
    listings.affine(gamma, beta, y)
    assert_same(thesis.affine(xhat, gamma, beta), y)


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes(2, 6))
def test_listing_13_normalization_layer(rng, n, m, d) -> None:
    x, gamma, beta = normal(rng, (n, m, d), (d,), (d,))
    printed = listings.normalization_layer(x, gamma, beta, EPSILON).y
    assert_same(thesis.normalization(x, gamma, beta, epsilon=EPSILON), printed)
    layer = Normalization(d, INITIAL, form="outside", epsilon=EPSILON)
    fill(layer, gamma=gamma, beta=beta)
    assert_same(layer(packed(x)), packed(printed))


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes(), k=sizes())
def test_listing_14_combination(rng, n, m, d, k) -> None:
    x, weights, biases = normal(rng, (n, m, d), (d, k), (k,))
    printed = listings.combination(x, biases, weights)
    assert_same(thesis.combination(x, weights, biases), printed)
    assert_same(linear(packed(x), weights, biases), packed(printed))


def draw_combinations(rng, n, m, d) -> Array:
    """About a quarter of them exactly 0, where ReLU has its kink."""
    return rng.standard_normal((n, m, d)) * (rng.random((n, m, d)) < 0.75)


@of_the_listings
@both_activations
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes())
def test_listing_15_activations(activation, rng, n, m, d) -> None:
    x = draw_combinations(rng, n, m, d)
    y = np.full_like(x, 7)
    listings.activations(x, y, "softplus")  # the listing goes on without a word
    assert (y == 7).all()
    with pytest.raises(ConfigurationError, match="unknown activation 'softplus'"):
        activate(x, activation="softplus")
    listings.activations(x, y, activation)
    assert_same(activate(x, activation=activation), y)


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes())
def test_listing_16_linear_activation(rng, n, m, d) -> None:
    x = draw_combinations(rng, n, m, d)
    y = np.full_like(x, 7)
    listings.linear(x, y)
    np.testing.assert_array_equal(activate(x, activation="identity"), y)


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes())
def test_listing_17_relu(rng, n, m, d) -> None:
    x = draw_combinations(rng, n, m, d)
    y = np.full_like(x, 7)
    listings.rectified_linear(x, y)
    np.testing.assert_array_equal(activate(x, activation="relu"), y)


@of_the_listings
@both_activations
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes(), k=sizes())
def test_listing_18_perceptron_layer(activation, rng, n, m, d, k) -> None:
    x, weights, biases = normal(rng, (n, m, d), (d, k), (k,))
    printed = listings.perceptron(x, biases, weights, activation)
    assert_same(thesis.perceptron(x, weights, biases, activation=activation), printed)
    layer = Perceptron(d, k, INITIAL, activation)
    fill(layer, weights=weights, biases=biases)
    assert_same(layer(packed(x)), packed(printed))


def draw_targets(rng, n, m, v) -> tuple[Array, Batch]:
    """[n, m] with padding, not padding alone; and the batch whose decoder has to say them, pad labels as rows."""
    targets = rng.integers(0, v, (n, m)) * (rng.random((n, m)) < 0.8)
    targets[0, 0] = v - 1
    return targets.astype(float), Batch.pairs([[START]] * n, [[START, *row] for row in targets])


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), v=sizes(2, 6), scale=st.sampled_from((1.0, 1000.0)))
def test_listing_19_cross_entropy(rng, n, m, v, scale) -> None:
    outputs = scale * rng.standard_normal((n, m, v))
    targets, batch = draw_targets(rng, n, m, v)
    printed = listings.cross_entropy(outputs, targets, listings.BackPropagation(n, m, v))
    assert_same(CrossEntropy()(packed(outputs), batch)[0], printed)


@of_the_listings
def test_listing_19_has_no_error_for_padding_alone() -> None:
    """E-T17: the listing divides by the number of unmasked positions, even by 0; here such a batch has error 0."""
    outputs, targets = np.random.default_rng(0).standard_normal((2, 3, 4)), np.full((2, 3), PAD)
    with np.errstate(invalid="ignore"):
        assert math.isnan(listings.cross_entropy(outputs, targets, listings.BackPropagation(2, 3, 4)))
    batch = Batch.pairs([[START]] * 2, [[START, *row] for row in targets])
    assert CrossEntropy()(packed(outputs), batch)[0] == 0


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), v=sizes(2, 6), scale=st.sampled_from((1.0, 1000.0)))
def test_listing_20_output_deltas(rng, n, m, v, scale) -> None:
    outputs = scale * rng.standard_normal((n, m, v))
    targets, batch = draw_targets(rng, n, m, v)
    logits, store = Tensor(packed(outputs)), listings.BackPropagation(n, m, v)
    (found,) = backpropagate(CrossEntropy()(logits, batch)[0], [logits])

    listings.cross_entropy(outputs, targets, store)  # E-T17: its mask stays inside, listing 20 reads another
    with np.errstate(invalid="ignore"):
        assert np.isnan(listings.output_deltas(targets, store)).all()
    listings.cross_entropy(outputs, targets, store, keep_mask=True)
    printed = listings.output_deltas(targets, store)
    assert_same(found, packed(printed))
    assert not found[batch.targets == PAD].any()


def slopes_of(x: Array, activation: str) -> Array:
    """a'(x), as back-propagation through the activation finds it."""
    (slopes,) = gradients(lambda x: activate(x, activation=activation), [x], [np.ones_like(x)])
    return slopes


@of_the_listings
@both_activations
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes())
def test_listing_21_activation_derivatives(activation, rng, n, m, d) -> None:
    x = draw_combinations(rng, n, m, d)
    y, slopes = np.empty_like(x), np.full_like(x, 7)
    listings.activations(x, y, activation)
    listings.activation_derivatives(x, y, slopes, "softplus")
    assert (slopes == 7).all()
    listings.activation_derivatives(x, y, slopes, activation)
    np.testing.assert_array_equal(slopes_of(x, activation), slopes)
    np.testing.assert_array_equal(ACTIVATIONS[activation][1](x, y), slopes)


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes())
def test_listing_22_linear_activation_derivatives(rng, n, m, d) -> None:
    x = draw_combinations(rng, n, m, d)
    slopes = np.full_like(x, 7)
    listings.linear_derivatives(x, x, slopes)
    np.testing.assert_array_equal(slopes_of(x, "identity"), slopes)


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes())
def test_listing_23_relu_derivatives(rng, n, m, d) -> None:
    x = draw_combinations(rng, n, m, d)
    y, slopes = np.empty_like(x), np.full_like(x, 7)
    listings.rectified_linear(x, y)
    listings.rectified_linear_derivatives(x, y, slopes)
    np.testing.assert_array_equal(slopes_of(x, "relu"), slopes)


@of_the_listings
@both_activations
@given(rng=generators(), n=sizes(1, 3), m=sizes(), d=sizes(), k=sizes(), consumers=sizes(1, 2))
def test_listing_24_perceptron_back_propagation(activation, rng, n, m, d, k, consumers) -> None:
    x, weights, biases, *deltas = normal(rng, (n, m, d), (d, k), (k,), *[(n, m, k)] * consumers)
    outputs = listings.perceptron(x, biases, weights, activation)
    printed = listings.perceptron_back(x, deltas, outputs, weights, activation)
    found = gradients(lambda *inputs: thesis.perceptron(*inputs, activation=activation), [x, weights, biases], deltas)
    assert_all_same(found, printed)
    layer = Perceptron(d, k, INITIAL, activation)
    fill(layer, weights=weights, biases=biases)
    (dx,), by_name = layer_gradients(layer, layer, [packed(x)], [packed(delta) for delta in deltas])
    assert_all_same([dx, by_name["weights"], by_name["biases"]], [packed(printed[0]), *printed[1:]])


@of_the_listings
@given(rng=generators(), n=sizes(1, 3), m=sizes(), d=sizes(2, 5), consumers=sizes(1, 2))
def test_listing_25_normalization_back_propagation(rng, n, m, d, consumers) -> None:
    """E-T1: right for sqrt(sigma^2 + eps); the thesis's own sigma + eps needs sigma alone below the third term."""
    x, gamma, beta, *deltas = normal(rng, (n, m, d), (d,), (d,), *[(n, m, d)] * consumers)
    forward = listings.normalization_layer(x, gamma, beta, EPSILON)
    sigma = forward.deviations[:, :, 0]
    outside = gradients(lambda *inputs: thesis.normalization(*inputs, epsilon=EPSILON), [x, gamma, beta], deltas)
    corrected = listings.normalization_back(deltas, gamma, forward, EPSILON, third=sigma)
    assert_all_same(outside, corrected)
    assert_all_same(row_gradients("outside", x, gamma, beta, deltas), [packed(corrected[0]), *corrected[1:]])

    printed = listings.normalization_back(deltas, gamma, forward, EPSILON)
    assert_all_same(outside[1:], printed[1:])
    assert_different(outside[0], printed[0])
    third = forward.xhat * (forward.xhat * gamma * sum(deltas)).mean(axis=2, keepdims=True)
    assert_same(printed[0] - outside[0], third * (1 / sigma - 1 / (sigma + EPSILON))[:, :, None])

    root = np.sqrt(forward.deviations**2 + EPSILON)
    other = listings.NormalizationForward(forward.means, root, (x - forward.means) / root, forward.y)
    printed = listings.normalization_back(deltas, gamma, other, 0.0)
    assert_all_same(row_gradients("inside", x, gamma, beta, deltas), [packed(printed[0]), *printed[1:]])


def row_gradients(form, x: Array, gamma: Array, beta: Array, deltas: Sequence[Array]) -> list[Array]:
    rows = [packed(x), gamma, beta]
    return gradients(lambda *inputs: normalize(*inputs, form=form, epsilon=EPSILON), rows, [packed(d) for d in deltas])


@of_the_listings
@given(rng=generators(), n=sizes(), m=sizes(), d=sizes(), consumers=sizes(1, 2))
def test_listing_26_addition_back_propagation(rng, n, m, d, consumers) -> None:
    x1, x2, *deltas = normal(rng, *[(n, m, d)] * (2 + consumers))
    assert_all_same(gradients(add, [x1, x2], deltas), listings.addition_back(deltas))


@of_the_listings
@kinds_of_attention
@given(
    rng=generators(),
    n=sizes(1, 2),
    inputs=sizes(),
    context=sizes(),
    hidden=sizes(1, 2),
    heads=sizes(1, 3),
    consumers=sizes(1, 2),
)
def test_listing_27_attention_back_propagation(kind, rng, n, inputs, context, hidden, heads, consumers) -> None:
    x, memory, parameters = draw_attention(rng, kind, n, inputs, context, hidden, heads)
    causal, deltas = kind == "causal", normal(rng, *[x.shape] * consumers)
    forward = listings.attention_layer(x, memory, parameters, causal)
    printed = listings.attention_back(x, memory, deltas, parameters, forward)
    found = gradients(lambda *inputs: thesis.attention(*inputs, causal=causal), [x, memory, *parameters], deltas)
    assert_all_same(found, printed)
    np.testing.assert_allclose(printed[5], 0, atol=1e-12)  # E-T12: the biases of the keys

    dx, dmemory, *dparameters = printed
    layer, call, rows = attention_of(kind, x, memory, parameters)
    by_inputs, by_name = layer_gradients(layer, call, rows, [packed(delta) for delta in deltas])
    assert_all_same(by_inputs, [packed(dx), packed(dmemory)] if kind == "cross" else [packed(dx + dmemory)])
    expected = published(dparameters)
    assert len(by_name) == len(expected)
    for name, derivative in by_name.items():
        assert_same(derivative, expected[name.replace(".", "_")])


@of_the_listings
@with_and_without_positions
@given(rng=generators(), n=sizes(), m=sizes(), v=sizes(1, 6), half=sizes(1, 3), consumers=sizes(1, 2))
def test_listing_28_embedding_back_propagation(encode, rng, n, m, v, half, consumers) -> None:
    d = 2 * half
    table, *deltas = normal(rng, (v, d), *[(n, m, d)] * consumers)
    labels = rng.integers(0, v, (n, m))
    printed = listings.embedding_back(labels.astype(float), deltas, v, encode)
    (found,) = gradients(lambda table: thesis.lookup(table, labels=labels), [table], deltas)
    assert_same(found * (d**0.5 if encode else 1), printed)
    layer = Embedding(v, d, INITIAL, "half_sinusoid" if encode else "none")
    fill(layer, table=table)
    positions = np.tile(np.arange(m), n)
    _, by_name = layer_gradients(
        layer, lambda: layer(labels.ravel(), positions, ForwardContext()), [], [packed(delta) for delta in deltas]
    )
    assert_same(by_name["table"], printed)


@of_the_listings
@pytest.mark.parametrize("custom_rate", [False, True])
@given(rng=generators(), count=sizes(1, 5), first=st.sampled_from((1, 2, 3998)), size=st.sampled_from((1.0, 1e-6)))
def test_listing_29_adam(custom_rate, rng, count, first, size) -> None:
    """E-T9: what it adds below is (5.2.1)'s epsilon times sqrt(1 - b2^t); scaled so, it is Algorithm 5.5."""
    m, v = (first > 1) * size * rng.standard_normal(count), (first > 1) * size**2 * rng.uniform(0.5, 1.5, count)
    rates = ThesisWarmUp(0.5) if custom_rate else Constant(0.5)
    theta, optimizer = Theta([Parameter(np.zeros(count))]), Adam()
    optimizer.restore(theta, first - 1, first - 1, {"m": m.copy(), "v": v.copy()})
    other, scaled_back = Theta([Parameter(np.zeros(count))]), Adam()
    scaled_back.restore(other, first - 1, first - 1, {"m": m.copy(), "v": v.copy()})
    corrected, printed = (listings.AdamState(np.zeros(count), m.copy(), v.copy(), first, first) for _ in range(2))
    for t in range(first, first + 5):
        gradient = size * rng.standard_normal(count)
        listings.adam(corrected, gradient, 0.5, custom_rate, scaled=True)
        optimizer.update(theta, gradient, rates(t))
        np.testing.assert_allclose(theta.values, corrected.parameters, rtol=1e-10, atol=1e-12 * rates(t))

        listings.adam(printed, gradient, 0.5, custom_rate)
        scaled_back.epsilon = 1e-8 / math.sqrt(1 - 0.999**t)
        scaled_back.update(other, gradient, rates(t))
        np.testing.assert_allclose(other.values, printed.parameters, rtol=1e-10, atol=1e-12 * rates(t))


@of_the_listings
def test_listing_29_has_another_first_step_and_counts_from_1() -> None:
    """E-T9: where gradients are small, 31.6 epsilon instead of epsilon shows; a count from 0 divides 0 by 0."""
    gradient, theta = np.array([1.0, -1e-6, 1e-8]), Theta([Parameter(np.zeros(3))])
    Adam().update(theta, gradient, 0.5)
    printed, from_zero = listings.AdamState(*np.zeros((3, 3))), listings.AdamState(*np.zeros((3, 3)), iteration=0)
    listings.adam(printed, gradient, 0.5, custom_rate=False)
    size = np.abs(gradient)
    share = (size + 1e-8) / (size + 1e-8 / math.sqrt(1 - 0.999))
    np.testing.assert_allclose(printed.parameters / theta.values, share, rtol=1e-10)
    assert share[0] > 0.999
    assert share[1] < 0.8
    with np.errstate(invalid="ignore"):
        listings.adam(from_zero, gradient, 0.5, custom_rate=False)
    assert np.isnan(from_zero.parameters).all()


TESTS: dict[int, Callable[..., None]] = {
    1: test_listing_01_softmax,
    2: test_listing_02_embedding_lookup,
    3: test_listing_03_positional_encoding,
    4: test_listing_04_embedding_layer,
    5: test_listing_05_linear_transformation,
    6: test_listing_06_causal_mask,
    7: test_listing_07_attention,
    8: test_listing_08_projection,
    9: test_listing_09_attention_layer,
    10: test_listing_10_addition,
    11: test_listing_11_normalization,
    12: test_listing_12_affine_transformation,
    13: test_listing_13_normalization_layer,
    14: test_listing_14_combination,
    15: test_listing_15_activations,
    16: test_listing_16_linear_activation,
    17: test_listing_17_relu,
    18: test_listing_18_perceptron_layer,
    19: test_listing_19_cross_entropy,
    20: test_listing_20_output_deltas,
    21: test_listing_21_activation_derivatives,
    22: test_listing_22_linear_activation_derivatives,
    23: test_listing_23_relu_derivatives,
    24: test_listing_24_perceptron_back_propagation,
    25: test_listing_25_normalization_back_propagation,
    26: test_listing_26_addition_back_propagation,
    27: test_listing_27_attention_back_propagation,
    28: test_listing_28_embedding_back_propagation,
    29: test_listing_29_adam,
}


@of_the_listings
def test_all_29_listings_are_written_down_and_compared() -> None:
    numbers = list(range(1, 30))
    docstrings = [function.__doc__ or "" for function in vars(listings).values() if inspect.isfunction(function)]
    written = [int(number) for doc in docstrings for number in re.findall(r"^Listing (\d+)\.", doc)]
    assert written == numbers
    assert list(TESTS) == numbers
    for number, test in TESTS.items():
        assert test.__name__.startswith(f"test_listing_{number:02d}_")
        assert of_the_listings.mark in test.pytestmark
