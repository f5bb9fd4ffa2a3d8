"""Dropout in a whole network: only in training, and the same for every number of shards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.graph import Array, value_of
from dragoman.layers import ForwardContext
from dragoman.operations import DropoutKey
from tests.networks.small_networks import RAGGED, logits_of, small_transformer

NOISY = ForwardContext(DropoutKey(seed=1, step=2))


def shard(batch: Batch, first: int, last: int) -> Batch:
    """Sequences first to last of a batch of pairs, knowing where their rows stand in the whole."""

    def cut(whole: Batch, source: Batch | None) -> Batch:
        start, stop = whole.offsets[[first, last]]
        offsets = whole.offsets[first : last + 1] - start
        return Batch(whole.labels[start:stop], offsets, source=source, first_row=int(start))

    assert batch.source is not None
    return cut(batch, cut(batch.source, None))


def noisy(network: Any, batch: Batch) -> Array:
    return value_of(network(batch, NOISY))


@pytest.mark.parametrize("positions", ["half_sinusoid", "concatenated_sinusoid", "joint"])
@pytest.mark.parametrize("block", ["post", "pre"])
def test_shards_drop_what_the_whole_batch_drops(block: str, positions: Any) -> None:
    network = small_transformer(block=block, positions=positions, dropout=0.4, layers=2)
    parts = [noisy(network, shard(RAGGED, first, last)) for first, last in ((0, 1), (1, 3))]
    np.testing.assert_allclose(np.concatenate(parts), noisy(network, RAGGED), atol=1e-12)


@pytest.mark.parametrize("block", ["post", "pre"])
def test_a_pass_without_noise_drops_nothing(block: str) -> None:
    network, sure = small_transformer(block=block, dropout=0.4), small_transformer(block=block)
    np.testing.assert_array_equal(logits_of(network, RAGGED), logits_of(sure, RAGGED))
    np.testing.assert_array_equal(noisy(sure, RAGGED), logits_of(sure, RAGGED))
    assert np.abs(noisy(network, RAGGED) - logits_of(network, RAGGED)).max() > 0.1


@pytest.mark.parametrize("block", ["post", "pre"])
def test_every_place_that_drops_has_a_site_of_its_own(block: str) -> None:
    """Two embeddings and five sub-layers: the update of each is dropped once, wherever the block adds it."""
    asked: list[int] = []

    class Recorder(ForwardContext):
        def dropout(self, rate: float, site: int, first_row: int) -> None:
            assert rate == 0.4
            asked.append(site)

    small_transformer(block=block, dropout=0.4)(RAGGED, Recorder())
    assert len(asked) == len(set(asked)) == 7
