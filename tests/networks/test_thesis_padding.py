"""The thesis's padded layout: pads are ordinary rows that the loss ignores and attention does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import PAD, Batch
from dragoman.graph import Array, backpropagate
from tests.networks.small_networks import error_of, small_transformer

SOURCE, REFERENCE = [4, 1, 3], [2, 4, 1, 4, 3]


def loss_and_gradient(network: Any, source_pads: int, reference_pads: int) -> tuple[float, Array]:
    batch = Batch.pairs([SOURCE + [PAD] * source_pads], [REFERENCE + [PAD] * reference_pads])
    loss = error_of(network, batch)
    return float(loss), backpropagate(loss, network.theta)


@pytest.mark.ledger("T-6.1-nopadmask")
@pytest.mark.parametrize("block", ["post", "pre"])
def test_source_pads_change_the_loss(block: str) -> None:
    network = small_transformer(block=block)
    losses = [loss_and_gradient(network, pads, 0)[0] for pads in (0, 1, 4)]
    assert np.abs(np.subtract.outer(losses, losses))[~np.eye(3, dtype=bool)].min() > 1e-4


@pytest.mark.ledger("T-6.1-nopadmask")
@pytest.mark.parametrize("block", ["post", "pre"])
def test_reference_pads_do_not_leak_backwards(block: str) -> None:
    network = small_transformer(block=block)
    loss, gradient = loss_and_gradient(network, 2, 0)
    padded_loss, padded_gradient = loss_and_gradient(network, 2, 3)
    assert padded_loss == pytest.approx(loss, abs=1e-12)
    np.testing.assert_allclose(padded_gradient, gradient, atol=1e-12)


@pytest.mark.ledger("T-6.1-nopadmask")
def test_packing_is_the_masked_layout() -> None:
    """Without pads a short source in a batch with a long one still counts only itself."""
    network = small_transformer()
    alone, _ = loss_and_gradient(network, 0, 0)
    batch = Batch.pairs([SOURCE, [4, 4, 1, 1, 3, 2]], [REFERENCE, [2, 1, 3]])
    weights = np.repeat([1.0, 0.0], batch.lengths)  # only the first pair is counted
    together = error_of(network, Batch(batch.labels, batch.offsets, batch.targets, weights, batch.source))
    assert float(together) == pytest.approx(alone, abs=1e-12)
