"""Sets and sequences: what reordering the tokens does, with and without positions."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.graph import value_of
from dragoman.layers import Embedding, ForwardContext, Initializer, Positions, SelfAttention
from dragoman.networks import Encoder, EncoderConfiguration, Transformer, TransformerConfiguration
from tests.lecture.masked_body import DEPTH, Body, scatter

N = 5
X = np.random.default_rng(0).standard_normal((N, DEPTH))
ORDER = np.array([3, 0, 4, 2, 1])


@pytest.mark.ledger("L-3-set", "L-45-equiv", "B-7.5-poswhy")
@pytest.mark.parametrize("block", ["pre", "post"])
def test_permuting_the_tokens_permutes_every_layer(block: str) -> None:
    for blocks in (1, 2, 3):
        body = Body(blocks, block=block)
        np.testing.assert_allclose(value_of(body(X[ORDER])), value_of(body(X))[ORDER], atol=1e-12)
    masked = Body(1, masked=True, block=block)
    assert np.abs(value_of(masked(X[ORDER])) - value_of(masked(X))[ORDER]).max() > 0.01


@pytest.mark.ledger("L-11-pool")
def test_pooling_gives_a_classifier_that_ignores_order() -> None:
    sizes: dict[str, Any] = {"inputs": DEPTH, "outputs": 3, "depth": DEPTH, "perceptron_depth": 8, "heads": 2}
    configuration = EncoderConfiguration(**sizes, layers=2, positions="none", pooling="mean")
    network = scatter(Encoder(configuration, dtype=np.float64))

    def classify(x: Any) -> Any:
        return value_of(network(Batch.pack([x])))

    assert classify(X).shape == (1, 3)
    np.testing.assert_allclose(classify(X[ORDER]), classify(X), atol=1e-12)
    rows, pooled = network.features(Batch.pack([X]))
    np.testing.assert_allclose(pooled[0], rows.mean(axis=0), atol=1e-12)
    assert np.abs(classify(X * [[1], [1], [1], [1], [2]]) - classify(X)).max() > 0.01


@pytest.mark.ledger("L-3-set", "L-46-need")
@pytest.mark.parametrize("positions", get_args(Positions))
def test_swapping_subject_and_object_matters_once_positions_are_known(positions: Positions) -> None:
    """'herbivores eat plants' and 'plants eat herbivores': a source is a set exactly when positions are 'none'."""
    configuration = TransformerConfiguration(
        source_vocabulary=3,
        target_vocabulary=3,
        depth=8,
        perceptron_depth=8,
        heads=2,
        positions=positions,
        maximum_length=3,
        position_depth=2,
        relative_reach=2,
    )
    network = scatter(Transformer(configuration, dtype=np.float64))
    one, other = (value_of(network(Batch.pairs([words], [[0, 1, 2]]))) for words in ([0, 1, 2], [2, 1, 0]))
    difference = np.abs(one - other).max()
    assert difference < 1e-12 if positions == "none" else difference > 1e-3


@pytest.mark.ledger("L-51-relative")
def test_relative_positions_do_not_notice_a_common_shift() -> None:
    """A pattern in a blank sequence takes its outputs along when it moves; with absolute positions it does not."""
    layer = scatter(SelfAttention(DEPTH, 2, Initializer(0, np.float64), reach=3))
    value_of(layer.distance_bias)[:, [0, -1]] = -1e3  # nothing from 3 positions away or more
    pattern = np.random.default_rng(1).standard_normal((3, DEPTH))

    def at(start: int, added: Any = 0.0) -> Any:
        x = np.zeros((14, DEPTH))
        x[start : start + 3] = pattern
        return value_of(layer(x + added, np.array([0, 14]), ForwardContext()))[start - 2 : start + 5]

    np.testing.assert_allclose(at(4), at(7), atol=1e-13)
    codes = value_of(
        Embedding(1, DEPTH, Initializer(0, np.float64))(np.zeros(14, int), np.arange(14), ForwardContext())
    )
    assert np.abs(at(4, codes) - at(7, codes)).max() > 0.01


@pytest.mark.ledger("L-51-relative")
def test_an_embedding_with_relative_positions_ignores_them() -> None:
    labels, positions = np.array([1, 2, 0]), np.arange(3)
    relative, absolute = (
        Embedding(3, DEPTH, Initializer(0, np.float64), kind) for kind in ("relative", "half_sinusoid")
    )
    same, shifted = (value_of(relative(labels, positions + shift, ForwardContext())) for shift in (0, 7))
    np.testing.assert_array_equal(same, shifted)
    same, shifted = (value_of(absolute(labels, positions + shift, ForwardContext())) for shift in (0, 7))
    assert np.abs(same - shifted).max() > 0.1
