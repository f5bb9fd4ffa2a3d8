"""Decoding one position at a time gives what one pass over the whole reference gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.errors import LabelError, ShapeError
from tests.networks.small_networks import POSITIONS, VOCABULARY, logits_of, small_transformer

SOURCES = [[4, 3], [1, 4, 2, 4], [3]]
REFERENCES = np.array([[2, 4, 1, 4], [2, 1, 3, 3], [2, 2, 4, 0]])


def at_once(network: Any, sources: list[list[int]], references: np.ndarray) -> np.ndarray:
    """[B, T, V]: the logits of one pass."""
    logits = logits_of(network, Batch.pack(list(references), Batch.pack(sources)))
    return logits.reshape(*references.shape, -1)


@pytest.mark.ledger("B-7.5-teacherpar", "L-21-masktrain", "L-56-cache")
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-4)])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("block", ["post", "pre"])
def test_steps_equal_the_parallel_pass(block: str, positions: Any, dtype: Any, tolerance: float) -> None:
    network = small_transformer(dtype, block=block, positions=positions, layers=2)
    expected = at_once(network, SOURCES, REFERENCES)
    state = network.encode(Batch.pack(SOURCES))
    for t, labels in enumerate(REFERENCES.T):
        assert (len(state), state.position) == (3, t)
        logits, state = network.step(state, labels)
        assert type(logits) is np.ndarray
        assert logits.dtype == dtype
        np.testing.assert_allclose(logits, expected[:, t], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("block", ["post", "pre"])
def test_a_state_can_be_selected_with_repetition(block: str) -> None:
    """As beams do: after two positions, sequences 2, 0 and 0 go on, each with a label of its own."""
    network = small_transformer(block=block, layers=2, positions="relative")
    state = network.encode(Batch.pack(SOURCES))
    for labels in REFERENCES.T[:2]:
        _, state = network.step(state, labels)
    rows, new = np.array([2, 0, 0]), np.array([4, 3, 1])
    logits, after = network.step(state.select(rows), new)
    references = np.column_stack((REFERENCES[rows, :2], new))
    expected = at_once(network, [SOURCES[row] for row in rows], references)
    np.testing.assert_allclose(logits, expected[:, 2], atol=1e-12)
    assert len(after) == 3


def test_steps_after_empty_sources() -> None:
    network = small_transformer()
    logits, _ = network.step(network.encode(Batch.pack([[], []])), REFERENCES[:2, 0])
    np.testing.assert_allclose(logits, at_once(network, [[], []], REFERENCES[:2])[:, 0], atol=1e-12)


def test_a_state_is_not_changed_by_a_step() -> None:
    network = small_transformer()
    state = network.encode(Batch.pack(SOURCES))
    first, _ = network.step(state, REFERENCES[:, 0])
    network.step(state, np.array([1, 1, 1]))
    again, _ = network.step(state, REFERENCES[:, 0])
    np.testing.assert_array_equal(first, again)


def test_decoding_follows_the_parameters() -> None:
    """The twin without gradients lives on theta's memory: no copy goes stale after an update."""
    network = small_transformer()
    network.encode(Batch.pack(SOURCES))
    network.theta.values *= 0.5
    logits, _ = network.step(network.encode(Batch.pack(SOURCES)), REFERENCES[:, 0])
    np.testing.assert_allclose(logits, at_once(network, SOURCES, REFERENCES)[:, 0], atol=1e-12)


@pytest.mark.parametrize("positions", ["learned", "one_hot", "joint"])
def test_decoding_past_the_last_position_is_refused(positions: Any) -> None:
    network = small_transformer(positions=positions, maximum_length=2)
    state = network.encode(Batch.pack([[4], [3]]))
    for _ in range(2):
        _, state = network.step(state, np.array([2, 2]))
    with pytest.raises(LabelError, match=r"3 positions.*built for 2"):
        network.step(state, np.array([2, 2]))


@pytest.mark.parametrize("labels", [[2], [2, 2, 2]])
def test_a_label_for_every_sequence_is_expected(labels: list[int]) -> None:
    network = small_transformer()
    with pytest.raises(ShapeError, match=f"{len(labels)} labels.*2 sequences"):
        network.step(network.encode(Batch.pack([[4], [3]])), np.array(labels))


def test_an_impossible_label_is_refused() -> None:
    network = small_transformer()
    with pytest.raises(LabelError, match=f"label {VOCABULARY} at row 1"):
        network.step(network.encode(Batch.pack([[4], [3]])), np.array([2, VOCABULARY]))


def test_encoding_pairs_reads_their_sources() -> None:
    network = small_transformer()
    pairs = Batch.pairs([[4, 1, 4]], [[2, 1, 3]])
    assert pairs.source is not None
    for ours, theirs in zip(network.encode(pairs).remembered, network.encode(pairs.source).remembered, strict=True):
        np.testing.assert_array_equal(ours.rows, theirs.rows)
