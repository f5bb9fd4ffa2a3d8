"""One declarative check for every layer: shape, dtype, gradient, determinism, no recording, count and names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest

from dragoman.graph import Tensor, Value, gradient_check
from dragoman.layers import (
    Convolution,
    ConvolutionStack,
    CrossAttention,
    Embedding,
    FeedForward,
    ForwardContext,
    Initializer,
    Layer,
    Normalization,
    Perceptron,
    Positions,
    RowEmbedding,
    SelfAttention,
)
from dragoman.operations import reshape

VOCABULARY, LONGEST = 5, 3
OFFSETS, MEMORY_OFFSETS = np.array([0, 3, 4]), np.array([0, 2, 5])  # ragged, and of different lengths
LABELS, POSITIONS = np.array([4, 0, 4, 1]), np.array([0, 1, 2, 0])
RNG = np.random.default_rng(7)
IMAGES = RNG.standard_normal((2, 4, 4, 1))
X, UPDATE, MEMORY = (RNG.standard_normal((rows, 6)) for rows in (4, 4, 5))


class AsRows(Layer):
    """A layer of images [2, 4, 4, 1] whose outputs are read as four rows."""

    def __init__(self, layer: Layer) -> None:
        self.images = layer

    def __call__(self, x: Value) -> Value:
        layer: Any = self.images
        return reshape(layer(x), shape=(4, 6))


class Residual(Layer):
    """Normalization's other call: the residual addition before it."""

    def __init__(self, depth: int, initial: Initializer, **options: Any) -> None:
        self.normalization = Normalization(depth, initial, **options)

    def __call__(self, update: Value, residual: Value) -> tuple[Value, Value]:
        return self.normalization.add(update, residual, ForwardContext())


def scatter(layer: Layer, seed: int = 1) -> None:
    """Move every parameter off its initial 0 or 1, where a missing factor or term would not show."""
    rng = np.random.default_rng(seed)
    for parameter in layer.parameters():
        parameter.value[...] = rng.uniform(0.3, 1.2, parameter.shape) * rng.choice([-1, 1], parameter.shape)


def last(outputs: Any) -> Any:
    return outputs[-1] if isinstance(outputs, tuple) else outputs


def check_layer(
    build: Callable[[Initializer], Layer], arguments: tuple[Any, ...], arrays: dict[str, tuple[int, ...]]
) -> None:
    """What every layer owes its network.

    Four positions go in and rows of depth 6 come out; `arrays` are the published parameters by name, in order.
    """
    layer: Any = build(Initializer(3, np.float64))
    assert [(name, view.shape) for name, view in layer.named_arrays()] == list(arrays.items())
    assert layer.count() == sum(int(np.prod(size)) for size in arrays.values())

    again = build(Initializer(3, np.float64))
    for mine, other in zip(layer.parameters(), again.parameters(), strict=True):
        np.testing.assert_array_equal(mine.value, other.value)

    scatter(layer)
    y = last(layer(*arguments))
    assert isinstance(y, Tensor)
    assert y.shape == (4, 6)
    assert y.value.dtype == np.float64
    np.testing.assert_array_equal(y.value, last(layer(*arguments)).value)

    plain: Any = layer.without_gradient()
    unrecorded = last(plain(*arguments))
    assert type(unrecorded) is np.ndarray
    np.testing.assert_array_equal(unrecorded, y.value)
    layer.parameters()[0].value[...] *= 1.5  # the plain twin lives on the same memory
    assert np.abs(last(plain(*arguments)) - y.value).max() > 1e-3

    single: Any = build(Initializer(3, np.float32))
    narrow = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == float else a for a in arguments]
    assert last(single(*narrow)).value.dtype == np.float32

    gradient_check(layer, *arguments).require()


Case = tuple[Callable[[Initializer], Layer], tuple[Any, ...], dict[str, tuple[int, ...]]]
NORM = {"gamma": (6,), "beta": (6,)}
LAYERS: dict[str, Case] = {
    "perceptron": (lambda i: Perceptron(6, 6, i, "tanh"), (X,), {"weights": (6, 6), "biases": (6,)}),
    "perceptron without biases": (lambda i: Perceptron(6, 6, i, biases=False), (X,), {"weights": (6, 6)}),
    "feed-forward": (
        lambda i: FeedForward(6, 8, "relu", i),
        (X,),
        {"hidden.weights": (6, 8), "hidden.biases": (8,), "output.weights": (8, 6), "output.biases": (6,)},
    ),
    "feed-forward with two hidden layers": (
        lambda i: FeedForward(6, 3, "tanh", i, 2),
        (X,),
        {"hidden.weights": (6, 3), "hidden.biases": (3,)}
        | {"second_hidden.weights": (3, 3), "second_hidden.biases": (3,)}
        | {"output.weights": (3, 6), "output.biases": (6,)},
    ),
    "normalization": (lambda i: Normalization(6, i), (X,), NORM),
    "thesis normalization": (lambda i: Normalization(6, i, "outside", 0.1), (X,), NORM),
    "convolution": (
        lambda i: AsRows(Convolution(3, 1, 3, i, "tanh", padding="valid")),
        (IMAGES,),
        {"images.weights": (9, 3), "images.biases": (3,)},
    ),
    "convolutions": (
        lambda i: AsRows(ConvolutionStack(1, (2, 12), 3, i)),
        (IMAGES,),
        {"images.convolutions.0.weights": (9, 2), "images.convolutions.0.biases": (2,)}
        | {"images.convolutions.1.weights": (18, 12), "images.convolutions.1.biases": (12,)},
    ),
    "residual": (
        lambda i: Residual(6, i, epsilon=0.1),
        (UPDATE, X),
        {f"normalization.{name}": size for name, size in NORM.items()},
    ),
}
QUERY_KEY_VALUE = {f"{part}.weights": (6, 6) for part in ("query", "key", "value")}
QUERY_KEY_VALUE_BIASES = {f"{part}.biases": (6,) for part in ("query", "key", "value")}
PROJECTION = {"projection.weights": (6, 6), "projection.biases": (6,)}
ATTENTION: dict[str, Case] = {
    "self": (
        lambda i: SelfAttention(6, 2, i),
        (X, OFFSETS, ForwardContext()),
        QUERY_KEY_VALUE | QUERY_KEY_VALUE_BIASES | PROJECTION,
    ),
    "causal": (
        lambda i: SelfAttention(6, 3, i, causal=True),
        (X, OFFSETS, ForwardContext()),
        QUERY_KEY_VALUE | QUERY_KEY_VALUE_BIASES | PROJECTION,
    ),
    "without biases": (
        lambda i: SelfAttention(6, 2, i, biases=False),
        (X, OFFSETS, ForwardContext()),
        QUERY_KEY_VALUE | {"projection.weights": (6, 6)},
    ),
    "relative": (
        lambda i: SelfAttention(6, 2, i, reach=1),
        (X, OFFSETS, ForwardContext()),
        QUERY_KEY_VALUE | QUERY_KEY_VALUE_BIASES | {"distance_bias": (2, 3)} | PROJECTION,
    ),
    "unscaled": (
        lambda i: SelfAttention(6, 1, i, biases=False, scaled=False),
        (X * 0.3, OFFSETS, ForwardContext()),
        QUERY_KEY_VALUE | {"projection.weights": (6, 6)},
    ),
    "cross": (
        lambda i: CrossAttention(6, 2, i),
        (X, MEMORY, OFFSETS, MEMORY_OFFSETS, ForwardContext()),
        {"query.weights": (6, 6), "query.biases": (6,), "key.weights": (6, 6), "value.weights": (6, 6)}
        | {"key.biases": (6,), "value.biases": (6,)}
        | PROJECTION,
    ),
}
TABLE = {"table": (VOCABULARY, 6)}
ENCODINGS: dict[str, dict[str, tuple[int, ...]]] = {
    "half_sinusoid": TABLE,
    "interleaved_sinusoid": TABLE,
    "concatenated_sinusoid": {"table": (VOCABULARY, 6 - 2)},
    "one_hot": {"table": (VOCABULARY, 6 - LONGEST)},
    "learned": TABLE | {"position_table": (LONGEST, 6)},
    "joint": TABLE
    | {"position_table": (LONGEST, 6), "word.weights": (6, 6), "word.biases": (6,), "joined.weights": (6, 6)},
    "relative": TABLE,
    "none": TABLE,
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str) -> None:
    build, arguments, arrays = LAYERS[name]
    check_layer(build, arguments, arrays)


@pytest.mark.ledger("T-3.2-II-self-cross")
@pytest.mark.parametrize("name", ATTENTION)
def test_attention_layer(name: str) -> None:
    build, arguments, arrays = ATTENTION[name]
    check_layer(build, arguments, arrays)


@pytest.mark.ledger("B-7.28eq", "L-50-learnedpos")
@pytest.mark.parametrize("positions", ENCODINGS)
def test_embedding_layer(positions: Positions) -> None:
    check_layer(
        lambda initial: Embedding(VOCABULARY, 6, initial, positions, LONGEST, position_depth=2),
        (LABELS, POSITIONS, ForwardContext()),
        ENCODINGS[positions],
    )


@pytest.mark.parametrize("positions", ENCODINGS)
def test_row_embedding_layer(positions: Positions) -> None:
    arrays = {name: size for name, size in ENCODINGS[positions].items() if name != "table"}
    width = ENCODINGS[positions]["table"][1]
    check_layer(
        lambda initial: RowEmbedding(6, 6, initial, positions, LONGEST, position_depth=2),
        (X, POSITIONS, ForwardContext()),
        {"weights": (6, width), "biases": (width,), **arrays},
    )


def test_every_published_encoding_is_checked() -> None:
    assert set(ENCODINGS) == set(get_args(Positions))


def test_initial_values_are_the_same_in_every_precision() -> None:
    def draw(dtype: Any) -> list[Any]:
        initial = Initializer(5, dtype)
        return [initial.glorot(4, 3, blocks=2), initial.normal(2, 3, 0.5), initial.zeros(2), initial.ones(2)]

    for wide, narrow in zip(draw(np.float64), draw(np.float32), strict=True):
        assert narrow.dtype == np.float32
        np.testing.assert_array_equal(narrow, wide.astype(np.float32))


def test_initial_values_follow_the_seed_and_have_the_stated_spread() -> None:
    drawn = Initializer(0, np.float64).glorot(100, 300, blocks=2)
    assert drawn.shape == (100, 600)
    assert drawn.var() == pytest.approx(2 / 400, rel=0.02)
    assert Initializer(0, np.float64).normal(300, 200, 0.25).std() == pytest.approx(0.25, rel=0.02)
    assert (Initializer(1, np.float64).glorot(100, 300, blocks=2) != drawn).any()
