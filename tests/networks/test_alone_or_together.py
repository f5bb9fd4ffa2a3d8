"""A sentence gives the same logits alone and in any batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.batch import Batch
from dragoman.networks import Transformer, preset
from tests.nearness import SINGLE
from tests.networks.small_networks import POSITIONS, logits_of, small_transformer, split

PAIR = st.tuples(
    st.lists(st.integers(0, 4), min_size=1, max_size=5),
    st.lists(st.integers(0, 4), min_size=2, max_size=6),
)


def compare(network: Any, pairs: list[tuple[list[int], list[int]]], tolerance: float) -> None:
    batch = Batch.pairs([source for source, _ in pairs], [reference for _, reference in pairs])
    together = split(logits_of(network, batch), batch)
    for (source, reference), rows in zip(pairs, together, strict=True):
        alone = logits_of(network, Batch.pairs([source], [reference]))
        assert np.isfinite(alone).all()
        np.testing.assert_allclose(rows, alone, atol=tolerance, rtol=0)


@pytest.mark.ledger("T-3.1-nn")
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("block", ["post", "pre"])
@settings(max_examples=6)
@given(pairs=st.lists(PAIR, min_size=2, max_size=4))
def test_in_double_precision(block: str, positions: Any, pairs: list[tuple[list[int], list[int]]]) -> None:
    compare(small_transformer(block=block, positions=positions), pairs, 1e-12)


@pytest.mark.parametrize("block", ["post", "pre"])
def test_an_empty_source_gives_its_cross_attention_nothing(block: str) -> None:
    compare(small_transformer(block=block), [([], [2, 4, 3]), ([4, 1], [2, 1, 1, 3])], 1e-12)


@pytest.mark.ledger("T-3.1-nn")
def test_at_a_working_size_in_single_precision() -> None:
    rng = np.random.default_rng(0)
    pairs = [tuple(rng.integers(1, 300, rng.integers(2, 30)).tolist() for _ in range(2)) for _ in range(24)]
    compare(Transformer(preset("small", 300, 300)), pairs, SINGLE)


@pytest.mark.ledger("T-3.1-nn")
def test_the_order_of_a_batch_does_not_matter() -> None:
    network = small_transformer()
    sources, references = [[4, 3], [1, 4, 2, 4], [3]], [[2, 4, 1, 3], [2, 3], [2, 4, 3]]
    batch, turned = Batch.pairs(sources, references), Batch.pairs(sources[::-1], references[::-1])
    for one, other in zip(
        split(logits_of(network, batch), batch), split(logits_of(network, turned), turned)[::-1], strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)
