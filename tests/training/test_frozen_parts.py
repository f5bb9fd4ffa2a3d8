"""One part of a trained network is trained further, the others stay bit for bit; and teacher forcing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import START
from dragoman.decoding import Greedy, decode
from dragoman.errors import ConfigurationError
from dragoman.graph import value_of
from dragoman.layers import ForwardContext
from dragoman.loss import LossIndex, Regularization
from dragoman.networks import Transformer
from dragoman.operations import DropoutKey
from dragoman.optimization import Adam, AdamW, Momentum
from dragoman.tasks.components import PARTS_OF, freeze_all_but
from dragoman.training import Stopping, Validation
from tests.training.small_trainings import TRAINING, Case, dropping, judged_pairs, small_transformer

TRAINED = {
    "encoder": ("source_embedding", "encoder", "encoder_normalization"),
    "decoder": ("reference_embedding", "decoder", "decoder_normalization", "output"),
    "output": ("output",),
}
ALGORITHMS = {
    "Adam": (Adam, {}),
    "AdamW, averaged, accumulated": (lambda: AdamW(decay=0.5), {"averaging": 0.9, "accumulate": 2}),
    "Momentum, regularized, clipped": (
        Momentum,
        {"loss_index": LossIndex(regularization=Regularization("l1", 0.1)), "clip": 0.1},
    ),
}


def belongs(name: str, part: str) -> bool:
    return name.partition(".")[0] in TRAINED[part]


@pytest.mark.ledger("B-7.4-freeze")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("block", ["post", "pre"])
@pytest.mark.parametrize("part", TRAINED)
def test_all_but_one_part_stays_bit_for_bit(part: str, block: str, algorithm: str) -> None:
    optimizer, settings = ALGORITHMS[algorithm]
    training = Case(dropping(block=block), optimizer=optimizer, settings=settings).build(
        validation=Validation(judged_pairs, every=3)
    )
    network = training.network
    assert isinstance(network, Transformer)
    freeze_all_but(network, part)
    before = {name: parameter.value.copy() for name, parameter in network.named_parameters()}
    training.run()
    moved = {
        name for name, parameter in network.named_parameters() if parameter.value.tobytes() != before[name].tobytes()
    }
    assert moved == {name for name in before if belongs(name, part)}
    assert 0 < len(moved) < len(before)


@pytest.mark.ledger("B-7.4-freeze")
@pytest.mark.parametrize("tied", ["output", "all"])
@pytest.mark.parametrize("part", TRAINED)
def test_a_table_that_a_frozen_part_shares_stays_too(part: str, tied: Any) -> None:
    training = Case(lambda: small_transformer(tied=tied)).build()
    network = training.network
    assert isinstance(network, Transformer)
    freeze_all_but(network, part)
    shared = network.reference_embedding.table
    alone = tied == "output" and part == "decoder"  # only then do all who share it belong to the part
    assert shared.frozen is not alone
    start, before = network.theta.values.copy(), shared.value.copy()
    training.run()
    assert (shared.value.tobytes() == before.tobytes()) is not alone
    assert network.theta.values.tobytes() != start.tobytes()


def test_all_is_all() -> None:
    network = small_transformer()
    freeze_all_but(network, "all")
    assert not any(parameter.frozen for parameter in network.parameters())


def test_a_part_with_nothing_to_train_is_told() -> None:
    network = small_transformer(tied="output")
    network.freeze("output.biases")
    with pytest.raises(ConfigurationError, match=r"start.train = 'output': nothing is left to train"):
        freeze_all_but(network, "output")


def test_every_parameter_belongs_to_encoder_or_decoder() -> None:
    names = {name.partition(".")[0] for name, _ in small_transformer(block="pre").named_parameters()}
    assert names <= {*PARTS_OF["encoder"], *PARTS_OF["decoder"]}
    assert all(any(name in names for name in PARTS_OF[part]) for part in PARTS_OF)


@pytest.mark.ledger("B-7.4-freeze")
def test_what_was_frozen_can_be_trained_again() -> None:
    training = Case().build(stopping=Stopping(4))
    network = training.network
    network.freeze("encoder")
    start = network.theta.values.copy()
    training.run()
    encoder = [parameter.slot for name, parameter in network.named_parameters() if name.startswith("encoder")]
    assert all(network.theta.values[slot].tobytes() == start[slot].tobytes() for slot in encoder)
    network.unfreeze("encoder")
    Case(lambda: network).build().run()
    assert all(network.theta.values[slot].tobytes() != start[slot].tobytes() for slot in encoder)


# Teacher forcing


@pytest.mark.ledger("B-7.2-teacher")
def test_predictions_do_not_influence_a_training_pass() -> None:
    """Biases of the output that turn every prediction into another add to the logits, and that is all they do."""
    network, batch = small_transformer(dropout=0.3, dtype=np.float64), TRAINING.batch(np.arange(17))
    run, shift = ForwardContext(DropoutKey(1, 1)), np.array([0.0, 0, 0, 0, 0, 0, 90.0])
    before = value_of(network(batch, run))
    network.output.biases.value += shift
    after = value_of(network(batch, run))
    assert (before.argmax(axis=1) != 6).sum() > 0.5 * len(before)
    assert (after.argmax(axis=1) == 6).all()
    np.testing.assert_allclose(after, before + shift, rtol=0, atol=1e-12)


@pytest.mark.ledger("B-7.2-teacher")
def test_a_position_is_taught_by_the_true_labels_before_it_whatever_was_predicted() -> None:
    """Step by step with the true labels gives what training sees; with its own predictions it is another run."""
    network, batch = small_transformer(dtype=np.float64), TRAINING.batch(np.array([16]))
    seen = value_of(network(batch, ForwardContext()))
    state, forced = network.encode(batch), []
    for label in batch.labels:
        logits, state = network.step(state, np.array([label]))
        forced.append(logits[0])
    np.testing.assert_allclose(seen, forced, rtol=0, atol=1e-12)
    state, label, free = network.encode(batch), START, []
    for _ in batch.labels:
        logits, state = network.step(state, np.array([label]))
        free.append(logits[0])
        label = int(logits[0].argmax())
    assert np.abs(seen - free).max() > 1e-3
    written = decode(network, [TRAINING.pairs[16][0]], Greedy(), len(batch.labels))
    assert written[0][0].labels.tolist() != batch.labels[1:].tolist()
