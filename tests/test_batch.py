"""Batch: packed sequences, and what is refused before a network sees it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, DragomanError, LabelError, NonFiniteError, ShapeError
from tests.strategies import offsets


@given(offsets())
def test_lengths_and_positions(starts):
    batch = Batch(np.arange(starts[-1]), starts)
    assert len(batch) == len(starts) - 1
    np.testing.assert_array_equal(batch.lengths, [b - a for a, b in pairwise(starts)])
    np.testing.assert_array_equal(batch.positions, [j for length in batch.lengths for j in range(length)])


@pytest.mark.parametrize(
    ("sequences", "labels", "starts"),
    [
        ([[5, 6], [7]], [5, 6, 7], [0, 2, 3]),
        ([[], [5], []], [5], [0, 0, 1, 1]),
        ([], [], [0]),
        ([[]], [], [0, 0]),
        ([np.ones((2, 3)), np.zeros((1, 3))], [[1, 1, 1], [1, 1, 1], [0, 0, 0]], [0, 2, 3]),
    ],
)
def test_pack(sequences, labels, starts):
    batch = Batch.pack(sequences)
    np.testing.assert_array_equal(batch.labels, labels)
    np.testing.assert_array_equal(batch.offsets, starts)
    assert batch.targets is None


@pytest.mark.ledger("T-2.2-shift", "T-2.2.2-inputspace")
def test_pairs_read_all_but_the_last_label_and_answer_with_the_next():
    batch = Batch.pairs([[2, 5, 3], [2, 3]], [[2, 7, 8, 9, 3, 0, 0], [2, 3]])
    np.testing.assert_array_equal(batch.labels, [2, 7, 8, 9, 3, 0, 2])
    np.testing.assert_array_equal(batch.targets, [7, 8, 9, 3, 0, 0, 3])
    np.testing.assert_array_equal(batch.loss_weights, [1, 1, 1, 1, 0, 0, 1])  # pad targets weigh nothing
    np.testing.assert_array_equal(batch.offsets, [0, 6, 7])
    np.testing.assert_array_equal(batch.source.labels, [2, 5, 3, 2, 3])
    np.testing.assert_array_equal(batch.source.offsets, [0, 3, 5])


ROWS, TWO = np.arange(2), np.array([0, 2])


@pytest.mark.parametrize(
    ("error", "message", "build"),
    [
        (ShapeError, "rise from 0", lambda: Batch(ROWS, np.array([1, 2]))),
        (ShapeError, "rise from 0", lambda: Batch(ROWS, np.array([0, 2, 1, 2]))),
        (ShapeError, "rise from 0", lambda: Batch(ROWS, np.array([], int))),
        (ShapeError, "rise from 0", lambda: Batch(ROWS, np.array([[0, 2]]))),
        (ShapeError, "offsets end at 3, but there are 2 rows", lambda: Batch(ROWS, np.array([0, 3]))),
        (ShapeError, r"loss_weights \(1,\) .* 2 rows", lambda: Batch(ROWS, TWO, loss_weights=np.ones(1))),
        (NonFiniteError, "not negative", lambda: Batch(ROWS, TWO, loss_weights=np.array([1.0, -1.0]))),
        (NonFiniteError, "finite", lambda: Batch(ROWS, TWO, loss_weights=np.array([1.0, np.nan]))),
        (NonFiniteError, "row 1 .* NaN or infinity", lambda: Batch(np.array([[1.0], [np.inf]]), TWO)),
        (NonFiniteError, "row 0 ", lambda: Batch(np.array([[np.nan], [1.0]]), TWO)),
        (ShapeError, "2 sources but 1 references", lambda: Batch(ROWS, TWO, source=Batch.pack([[1], [2]]))),
        (ShapeError, "1 sources but 2 references", lambda: Batch.pairs([[1]], [[2, 3], [2, 3]])),
        (LabelError, "reference 1 has 1 labels.*start and its end", lambda: Batch.pairs([[1], [1]], [[2, 3], [2]])),
    ],
)
def test_what_does_not_fit_is_refused(error, message, build):
    assert issubclass(error, DragomanError)
    with pytest.raises(error, match=message):
        build()


def test_a_batch_cannot_be_rearranged():
    batch = Batch.pack([[1, 2]])
    with pytest.raises(AttributeError):
        batch.offsets = np.array([0, 1])


@pytest.mark.parametrize("per", ["samples", "row", "", 3])
def test_what_targets_belong_to_is_refused_by_name(per):
    with pytest.raises(ConfigurationError, match=rf"per is 'position' or 'sample', got {per!r}"):
        Batch(np.arange(3), np.array([0, 2, 3]), targets=np.zeros(3), per=per)


def test_shards_know_where_their_rows_and_sequences_stood():
    labels, starts = np.arange(15), np.array([0, 5, 6, 6, 9, 15])
    batch = Batch(labels, starts, source=Batch.pack([[1]] * 5))
    for count in (1, 2, 3, 5):
        for part in batch.shards(count):
            sequences = slice(part.first_sequence, part.first_sequence + len(part))
            np.testing.assert_array_equal(part.lengths, batch.lengths[sequences])
            assert part.first_row == starts[part.first_sequence]
            assert part.source.first_sequence == part.first_sequence
    again = batch.shards(2)[1].shards(2)[1]  # a shard of a shard
    assert (again.first_sequence, again.first_row) == (4, 9)
