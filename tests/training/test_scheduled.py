"""Scheduled sampling and output feedback: what is fed back, and that nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import END, Batch
from dragoman.graph import gradient_check, value_of
from dragoman.networks import RecurrentNetwork, RecurrentNetworkConfiguration
from dragoman.operations import DropoutKey
from dragoman.training.scheduled import with_own_outputs
from tests.networks.recurrent_networks import small_encoder_decoder
from tests.networks.small_networks import RAGGED, scatter, small_transformer, split

NETWORKS: dict[str, Any] = {
    "gru-attention": lambda: small_encoder_decoder(cell="gru", context="attention"),
    "lstm": lambda: small_encoder_decoder(cell="lstm", context="initial"),
    "transformer": small_transformer,
}
ALL = 1 - 2**-20


@pytest.mark.ledger("B-7.2-teacher")
@pytest.mark.parametrize("name", NETWORKS)
def test_all_of_its_own_is_what_it_writes(name: str) -> None:
    """Fed nothing but its own outputs, it reads what greedy decoding would have written."""
    network = NETWORKS[name]()
    read = with_own_outputs(network, RAGGED, ALL, DropoutKey(0, 1))
    for i, labels in enumerate(split(read.labels, RAGGED)):
        state = network.encode(RAGGED.between(i, i + 1))
        label = RAGGED.labels[RAGGED.offsets[i]]
        for seen in labels:
            assert seen == label
            logits, state = network.step(state, np.array([label]))
            label = END + int(logits[0, END:].argmax())


@pytest.mark.parametrize("name", NETWORKS)
def test_what_is_compared_with_stays(name: str) -> None:
    network = NETWORKS[name]()
    read = with_own_outputs(network, RAGGED, ALL, DropoutKey(0, 1))
    assert read.targets is RAGGED.targets
    assert read.source is RAGGED.source
    np.testing.assert_array_equal(read.labels[read.offsets[:-1]], RAGGED.labels[RAGGED.offsets[:-1]])
    assert (read.labels != RAGGED.labels).any()
    assert with_own_outputs(network, RAGGED, 0.0, DropoutKey(0, 1)) is RAGGED


def test_as_many_as_were_asked_for_by_the_seed_whatever_the_shards() -> None:
    """A network that always says the end label makes what was replaced visible."""
    network = small_encoder_decoder(cell="rnn", context="initial")
    dict(network.named_arrays())["output.biases"][END] = 100
    batch = Batch.pairs([[4]] * 100, [[2] + [4] * 20 + [3]] * 100)
    read = with_own_outputs(network, batch, 0.3, DropoutKey(5, 1))
    assert (read.labels == END).sum() == pytest.approx(0.3 * 2000, rel=0.15)
    shards = [with_own_outputs(network, shard, 0.3, DropoutKey(5, 1)).labels for shard in batch.shards(3)]
    np.testing.assert_array_equal(np.concatenate(shards), read.labels)
    assert (with_own_outputs(network, batch, 0.3, DropoutKey(5, 2)).labels != read.labels).any()


def feeding(cell: Any = "rnn", **settings: Any) -> RecurrentNetwork:
    sizes = {"inputs": 4, "units": 3, "outputs": 4, "feedback": True}
    network: RecurrentNetwork = scatter(
        RecurrentNetwork(RecurrentNetworkConfiguration(cell=cell, **(sizes | settings)), 0, np.float64)
    )
    return network


LABELS, OFFSETS, TARGETS = np.array([1, 3, 0, 2, 2, 1]), np.array([0, 3, 4, 6]), np.array([3, 0, 2, 1, 1, 0])


@pytest.mark.ledger("B-7.3eq")
def test_output_feedback_by_loops() -> None:
    """(7.3): x<t> is replaced by x<t> + T(y<t-1>), T the unit vector of the argmax."""
    network = feeding()
    w = {name.removeprefix("hidden.forward.0.state."): view for name, view in network.named_arrays()}
    outputs, h, before = [], np.zeros(3), None
    for label in LABELS[:3]:
        x = np.eye(4)[label] + (0 if before is None else np.eye(4)[before])
        h = np.tanh(x @ w["weights"] + h @ w["recurrent_weights"] + w["biases"])
        outputs.append(h @ w["output.weights"] + w["output.biases"])
        before = int(outputs[-1].argmax())
    found = value_of(network.plain(Batch(LABELS, OFFSETS)))
    np.testing.assert_allclose(found[:3], outputs, atol=1e-12)


@pytest.mark.ledger("B-7.2-teacher")
@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_teacher_forcing_feeds_the_targets_whatever_is_said(cell: Any) -> None:
    network, batch = feeding(cell), Batch(LABELS, OFFSETS, TARGETS)
    fed = network.fed_back(batch)
    assert fed.tolist() == [-1, 3, 0, -1, -1, 1]
    dict(network.named_arrays())["output.biases"][...] = [9, 0, 0, 0]
    assert network.fed_back(batch).tolist() == fed.tolist()
    assert network.fed_back(batch, np.zeros(6, bool)).tolist() == [-1, 0, 0, -1, -1, 0]
    mixed = network.fed_back(batch, np.array([True, True, False, True, True, True]))
    assert mixed.tolist() == [-1, 3, 0, -1, -1, 1]


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_gradients_with_feedback(cell: Any) -> None:
    gradient_check(feeding(cell), Batch(LABELS, OFFSETS, TARGETS)).require()
