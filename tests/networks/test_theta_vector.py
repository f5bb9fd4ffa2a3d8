"""All parameters as one vector: reading, writing, freezing."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, backpropagate
from dragoman.networks import Transformer
from tests.networks.small_networks import RAGGED, configuration, error_of, logits_of, small_transformer


@pytest.mark.ledger("T-3.1.1-params")
def test_theta_is_all_parameters_end_to_end() -> None:
    network = small_transformer(block="pre", tied="output", layers=2)
    pieces = [parameter.value.ravel() for parameter in network.parameters()]
    np.testing.assert_array_equal(np.concatenate(pieces), network.theta.values)
    assert all(np.shares_memory(piece, network.theta.values) for piece in pieces)
    network.theta.assign(np.arange(network.count(), dtype=float))
    cut = np.split(np.arange(network.count()), np.cumsum([len(piece) for piece in pieces])[:-1])
    for parameter, piece in zip(network.parameters(), cut, strict=True):
        np.testing.assert_array_equal(parameter.value.ravel(), piece)


@pytest.mark.ledger("T-3.3-space")
def test_theta_chooses_the_function_among_those_of_one_architecture() -> None:
    one, other = small_transformer(seed=1), small_transformer(seed=2)
    first, second = logits_of(one, RAGGED), logits_of(other, RAGGED)
    assert np.abs(first - second).max() > 0.1
    kept = one.theta.values.copy()
    one.theta.assign(other.theta.values)
    np.testing.assert_array_equal(logits_of(one, RAGGED), second)
    one.theta.assign(kept)
    np.testing.assert_array_equal(logits_of(one, RAGGED), first)
    one.theta.assign(np.zeros(len(one.theta)))
    np.testing.assert_array_equal(logits_of(one, RAGGED), np.zeros_like(first))


def test_a_vector_of_another_length_is_refused() -> None:
    network = small_transformer()
    with pytest.raises(ShapeError, match=rf"theta has shape \({network.count()},\), got a vector of shape \(3,\)"):
        network.theta.assign(np.zeros(3))


def test_parts_of_a_block_keep_their_published_names() -> None:
    names = [name for name, _ in small_transformer().named_arrays()]
    assert len(names) == len(set(names))
    for part in ("query", "key", "value", "projection"):
        for kind in ("weights", "biases"):
            for layer in ("encoder.0.self_attention", "decoder.0.self_attention", "decoder.0.cross_attention"):
                assert f"{layer}.{part}.{kind}" in names


def gradient_by_name(network: Transformer) -> dict[str, Array]:
    gradient = backpropagate(error_of(network, RAGGED), network.theta)
    return {name: network.theta.view(gradient, parameter) for name, parameter in network.named_parameters()}


@pytest.mark.ledger("L-6-fixedlearned")
@pytest.mark.parametrize("frozen", [("source_embedding", "encoder"), ("reference_embedding.table",), ("decoder.1",)])
def test_frozen_parameters_get_nothing_and_the_others_the_same(frozen: tuple[str, ...]) -> None:
    network = small_transformer(layers=2)
    free = gradient_by_name(network)
    network.freeze(*frozen)
    trained = np.zeros(len(network.theta), bool)
    for segment in network.theta.trainable():
        trained[segment] = True
    for (name, found), parameter in zip(gradient_by_name(network).items(), network.parameters(), strict=True):
        held = name.startswith(frozen)
        assert parameter.frozen == held
        assert (network.theta.view(trained, parameter) == (not held)).all()
        np.testing.assert_array_equal(found, np.zeros_like(found) if held else free[name])

    network.unfreeze(*frozen)
    assert network.theta.trainable() == [slice(0, len(network.theta))]
    for name, found in gradient_by_name(network).items():
        np.testing.assert_array_equal(found, free[name])


def test_a_prefix_ends_at_a_dot() -> None:
    network = Transformer(configuration(layers=11))
    network.freeze("decoder.1")
    assert {name.split(".")[1] for name, parameter in network.named_parameters() if parameter.frozen} == {"1"}


@pytest.mark.parametrize("prefix", ["encode", "decoder.2", "table", ""])
def test_a_prefix_that_names_nothing_is_refused(prefix: str) -> None:
    with pytest.raises(ConfigurationError, match=f"begins with '{prefix}'; available: decoder, encoder, output"):
        small_transformer(layers=2).freeze(prefix)


def test_a_shared_table_can_be_frozen_by_either_of_its_names() -> None:
    network = small_transformer(tied="all")
    network.freeze("reference_embedding")
    assert [name for name, parameter in network.named_parameters() if parameter.frozen] == ["source_embedding.table"]


def test_a_copied_network_has_parameters_of_its_own() -> None:
    network = small_transformer()
    network.plain  # noqa: B018 - made and remembered, so that the copy could take the wrong one along
    twin, before = copy.deepcopy(network), network.theta.values.copy()
    twin.theta.values[:] = 0
    np.testing.assert_array_equal(network.theta.values, before)
    assert all((view == 0).all() for _, view in twin.named_arrays())
    assert np.ptp(twin.plain(Batch.pairs([[4, 1]], [[2, 1, 3]]))) == 0
