"""The task to recall a label: what is shown, what is asked, what counts."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.data import recall_batch
from dragoman.errors import ConfigurationError


def test_labels_gaps_and_questions() -> None:
    batch = recall_batch(50, 3, 4, np.random.default_rng(0), questions=2)
    assert batch.offsets.tolist() == [12 * i for i in range(51)]
    assert batch.targets is not None
    assert batch.loss_weights is not None
    labels, targets, weights = (array.reshape(50, 2, 6) for array in (batch.labels, batch.targets, batch.loss_weights))
    assert set(labels[:, :, 0].ravel()) == {0, 1, 2}
    assert set(labels[:, :, 1:-1].ravel()) == {3, 4, 5}
    assert set(labels[:, :, -1].ravel()) == {6}
    np.testing.assert_array_equal(targets[:, :, -1], labels[:, :, 0])
    np.testing.assert_array_equal(weights[:, :, -1], 1)
    np.testing.assert_array_equal(weights[:, :, :-1], 0)
    assert batch.weight == 100
    assert (labels[:, 0, 0] != labels[:, 1, 0]).any(), "each question has a label of its own"


def test_without_a_gap_the_question_follows_at_once() -> None:
    batch = recall_batch(2, 1, 0, np.random.default_rng(0))
    assert batch.labels.tolist() == [0, 2, 0, 2]


def test_a_seed_repeats_it() -> None:
    first, again, other = (recall_batch(9, 4, 2, np.random.default_rng(seed)).labels.tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("sizes", [(0, 1, 1, 1), (1, 0, 1, 1), (1, 1, -1, 1), (1, 1, 1, 0)])
def test_what_cannot_be_is_refused(sizes: tuple[int, int, int, int]) -> None:
    samples, symbols, gap, questions = sizes
    with pytest.raises(ConfigurationError, match=f"got {samples} samples, {symbols} symbols, a gap of {gap}"):
        recall_batch(samples, symbols, gap, np.random.default_rng(0), questions)
