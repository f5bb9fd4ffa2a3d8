"""A bag of n-grams: what votes, its gradient, shards, and how it begins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import value_of
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LogError, LossIndex
from dragoman.networks import TEXT_ENCODERS, Bag, BagConfiguration, load_weights, save_weights
from dragoman.operations import DropoutKey

TEXTS = [[2, 5, 6, 5, 3], [2, 3], [2, 6, 6, 6, 6, 7, 3]]


def bag(outputs: int = 3, dtype: Any = np.float64, **settings: Any) -> Bag:
    network = Bag(BagConfiguration(vocabulary=9, outputs=outputs, **{"buckets": 50, **settings}), 0, dtype)
    network.theta.values[:] = np.random.default_rng(1).normal(size=len(network.theta.values))
    return network


def labelled(outputs: int = 3) -> Batch:
    targets = np.array([0, outputs - 1, 1]) if outputs > 1 else np.array([0, 1, 1])
    packed = Batch.pack(TEXTS)
    return Batch(packed.labels, packed.offsets, targets, per="sample")


def test_labels_and_their_runs_vote() -> None:
    found = bag(ngrams=3).ngrams(Batch.pack(TEXTS))
    rows, offsets = found.labels, found.offsets
    assert np.diff(offsets).tolist() == [5 + 4 + 3, 2 + 1, 7 + 6 + 5]
    assert rows[:5].tolist() == TEXTS[0]
    assert (rows[5:12] >= 9).all()
    assert rows.max() < 9 + 50
    for i, text in enumerate(TEXTS):  # the same alone
        assert bag(ngrams=3).ngrams(Batch.pack([text])).labels.tolist() == rows[offsets[i] : offsets[i + 1]].tolist()
    swapped = bag(ngrams=2, buckets=1 << 20).ngrams(Batch.pack([[5, 6], [6, 5], [5, 6]])).labels
    assert swapped[2] == swapped[8] != swapped[5]  # order counts within a run
    assert len(bag(ngrams=1).ngrams(Batch.pack(TEXTS)).labels) == 14


def test_the_output_is_the_mean_of_the_votes() -> None:
    network, batch = bag(), Batch.pack(TEXTS)
    table, rows = value_of(network.votes.table), network.ngrams(batch)
    weights, biases = value_of(network.output.weights), value_of(network.output.biases)  # type: ignore[arg-type]
    for i, y in enumerate(value_of(network(batch))):
        mean = table[rows.labels[rows.offsets[i] : rows.offsets[i + 1]]].mean(axis=0)
        np.testing.assert_allclose(y, mean @ weights + biases, rtol=1e-12)
    alone, pooled = network.features(batch)
    assert alone.shape == (14, 3)
    assert pooled.shape == (3, 3)


@pytest.mark.parametrize(("outputs", "error"), [(3, CrossEntropy()), (1, LogError())], ids=["many", "two"])
def test_the_gradient(outputs: int, error: Any) -> None:
    network = bag(outputs, output_activation="identity" if outputs > 1 else "logistic", dropout=0.3)
    batch, index = labelled(outputs), LossIndex(error)
    run = ForwardContext(DropoutKey(0, 1))
    _, gradient = index.differentiate(network, batch, run)
    theta, step = network.theta.values, 1e-6
    for i in np.flatnonzero(gradient)[::5]:
        values = []
        for sign in (1, -1):
            theta[i] += sign * step
            values.append(index.differentiate(network, batch, run)[0].error)
            theta[i] -= sign * step
        assert gradient[i] == pytest.approx((values[0] - values[1]) / (2 * step), rel=1e-6, abs=1e-9)


def test_an_output_that_rounds_to_one_still_has_an_error_and_a_gradient() -> None:
    network, batch = bag(1, np.float32, output_activation="logistic"), labelled(1)
    value_of(network.output.biases)[...] = 50  # type: ignore[arg-type]
    assert (value_of(network(batch)) == 1).all()
    loss, gradient = LossIndex(LogError()).differentiate(network, batch)
    assert loss.error == pytest.approx(LossIndex(LogError()).evaluate(network, batch).error) == pytest.approx(17, abs=1)
    assert loss.hits == 2
    assert np.isfinite(gradient).all()
    assert gradient.any()


def test_shards_drop_the_same_votes_as_the_whole() -> None:
    network, batch = bag(dropout=0.5, ngrams=3), labelled()
    run = ForwardContext(DropoutKey(3, 4))
    whole = value_of(network(batch, run))
    shards = batch.shards(3)
    assert len(shards) == 3
    np.testing.assert_allclose(np.concatenate([value_of(network(shard, run)) for shard in shards]), whole, rtol=1e-12)


def test_a_new_bag_says_nothing_and_its_size_is_known(tmp_path: Any) -> None:
    for name, preset in TEXT_ENCODERS["bag"].presets.items():
        configured = TEXT_ENCODERS["bag"].configured({**preset, "buckets": 100}, {"vocabulary": 20, "outputs": 3})
        network = TEXT_ENCODERS["bag"].build(configured)
        assert network.count() == configured.count(), name
        assert (value_of(network(Batch.pack(TEXTS))) == 0).all()
    trained = bag(dtype=np.float32)
    save_weights(trained, tmp_path / "w.safetensors")
    other = Bag(trained.configuration)
    load_weights(other, tmp_path / "w.safetensors")
    assert np.array_equal(other.theta.values, trained.theta.values)
    assert BagConfiguration(**trained.configuration.model_dump()) == trained.configuration
    with pytest.raises(ConfigurationError, match="vocabulary"):
        BagConfiguration(outputs=2)
