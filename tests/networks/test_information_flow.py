"""What each label can affect, and how the deltas of several decoders meet in the encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.errors import ShapeError
from dragoman.graph import Array, Tensor, Value, backpropagate, value_of
from dragoman.layers import ForwardContext
from dragoman.networks import Transformer
from dragoman.networks.blocks import Stream
from dragoman.operations import cross_entropy
from tests.networks.small_networks import POSITIONS, RAGGED, error_of, logits_of, small_transformer

SOURCE, REFERENCE = [4, 3, 1], [2, 4, 1, 4, 1, 3]


def change_by_position(network: Any, source: list[int], reference: list[int]) -> Array:
    """[T]: how much the logits of each reference position move away from those of SOURCE and REFERENCE."""
    before = logits_of(network, Batch.pairs([SOURCE], [REFERENCE]))
    return np.abs(logits_of(network, Batch.pairs([source], [reference])) - before).max(axis=1)


@pytest.mark.ledger("T-3.2-encdec", "L-21-masktrain")
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("block", ["post", "pre"])
def test_a_reference_label_reaches_its_own_and_later_positions_only(block: str, positions: Any) -> None:
    network = small_transformer(block=block, positions=positions, layers=2)
    for j in range(len(REFERENCE) - 1):
        other = [*REFERENCE[:j], 0, *REFERENCE[j + 1 :]]
        change = change_by_position(network, SOURCE, other)
        assert (change[:j] == 0).all()
        assert (change[j:] > 1e-9).all()


@pytest.mark.ledger("T-3.2-encdec")
@pytest.mark.parametrize("block", ["post", "pre"])
def test_a_source_label_reaches_every_position(block: str) -> None:
    network = small_transformer(block=block)
    for i in range(len(SOURCE)):
        other = [*SOURCE[:i], 0, *SOURCE[i + 1 :]]
        assert (change_by_position(network, other, REFERENCE) > 1e-9).all()


def decode(network: Transformer, batch: Batch, memories: list[Value]) -> Value:
    """The decoders of a post-norm network, each with a memory of its own."""
    assert batch.source is not None
    stream = Stream(network.reference_embedding(batch.labels, batch.positions, ForwardContext()))
    for block, memory in zip(network.decoder, memories, strict=True):
        stream = block(stream, batch, memory, batch.source, ForwardContext())
    return network.output(stream.total)


@pytest.mark.ledger("T-3.2-tau")
def test_every_decoder_reads_the_last_encoder_and_their_deltas_add_up() -> None:
    network = small_transformer(layers=2)
    assert RAGGED.source is not None
    stream = Stream(network.source_embedding(RAGGED.source.labels, RAGGED.source.positions, ForwardContext()))
    for block in network.encoder:
        stream = block(stream, RAGGED.source, ForwardContext())
    memory = stream.total
    logits = decode(network, RAGGED, [memory, memory])
    np.testing.assert_array_equal(value_of(logits), value_of(network(RAGGED)))

    def delta(memories: list[Value], wanted: list[Tensor]) -> list[Array]:
        loss, _ = cross_entropy(decode(network, RAGGED, memories), targets=RAGGED.targets, weights=RAGGED.loss_weights)
        return backpropagate(loss, wanted)

    separate = [Tensor(value_of(memory)) for _ in network.decoder]
    shares = delta(separate, separate)
    assert all(np.abs(share).max() > 1e-3 for share in shares)
    shared = Tensor(value_of(memory))
    (total,) = delta([shared, shared], [shared])
    np.testing.assert_allclose(total, sum(shares), rtol=1e-12, atol=1e-15)

    encoder = network.encoder[-1].parameters()  # and the sum is what the encoder receives
    through = backpropagate([memory], encoder, [total])
    for found, expected in zip(backpropagate(error_of(network, RAGGED), encoder), through, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


def test_a_batch_without_a_source_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"reads pairs.*Batch\.pairs"):
        small_transformer()(Batch.pack([[2, 4]]))
