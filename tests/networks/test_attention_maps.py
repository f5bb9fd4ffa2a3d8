"""Attention weights on request: one map for every layer, sample and head."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.graph import Array
from tests.networks.small_networks import RAGGED, logits_of, small_transformer

SOURCE_LENGTHS, LENGTHS = [2, 4, 1], [4, 2, 3]


def real(maps: Array, rows: list[int], columns: list[int]) -> list[Array]:
    """Each sample's own rows and columns, after checking that there is nothing outside of them."""
    found = []
    for i, (m, n) in enumerate(zip(rows, columns, strict=True)):
        assert np.abs(maps[i]).sum() == pytest.approx(np.abs(maps[i, :, :m, :n]).sum(), abs=1e-12)
        found.append(maps[i, :, :m, :n])
    return found


@pytest.mark.ledger("L-15-Anorm", "L-28-Ah", "B-7.25eq", "B-7.33eq")
@pytest.mark.parametrize("positions", ["half_sinusoid", "relative"])
@pytest.mark.parametrize("block", ["post", "pre"])
def test_maps_are_distributions_over_the_keys(block: str, positions: Any) -> None:
    maps = small_transformer(block=block, layers=2, positions=positions).attention(RAGGED)
    assert list(maps) == [
        "encoder.0.self_attention",
        "encoder.1.self_attention",
        "decoder.0.self_attention",
        "decoder.0.cross_attention",
        "decoder.1.self_attention",
        "decoder.1.cross_attention",
    ]
    for name, weights in maps.items():
        rows = SOURCE_LENGTHS if name.startswith("encoder") else LENGTHS
        columns = LENGTHS if name.startswith("decoder") and "self" in name else SOURCE_LENGTHS
        assert weights.shape == (3, 2, max(rows), max(columns))
        assert (weights >= 0).all()
        for own in real(weights, rows, columns):
            np.testing.assert_allclose(own.sum(axis=2), 1, atol=1e-14)


@pytest.mark.ledger("L-59-upper")
def test_only_the_decoders_own_maps_are_causal() -> None:
    maps = small_transformer().attention(RAGGED)
    assert (np.triu(maps["decoder.0.self_attention"], 1) == 0).all()
    assert (np.tril(maps["decoder.0.self_attention"])[0] > 0).sum() == 2 * (4 * 5 // 2)  # two heads, length 4
    assert np.triu(maps["encoder.0.self_attention"], 1).max() > 0.01


@pytest.mark.ledger("L-18-dynfilter")
def test_maps_are_made_anew_from_each_input_one_for_each_head() -> None:
    network = small_transformer()
    one = network.attention(Batch.pairs([[4, 3, 1]], [[2, 4, 3]]))["encoder.0.self_attention"][0]
    two = network.attention(Batch.pairs([[1, 1, 4]], [[2, 4, 3]]))["encoder.0.self_attention"][0]
    assert np.abs(one - two).max() > 1e-3
    assert np.abs(one[0] - one[1]).max() > 1e-3


def test_asking_for_maps_changes_nothing() -> None:
    network = small_transformer()
    before = logits_of(network, RAGGED)
    network.attention(RAGGED)
    np.testing.assert_array_equal(logits_of(network, RAGGED), before)
