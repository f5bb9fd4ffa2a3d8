"""Attention by the additive score, and rows dealt to steps and joined again."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.errors import LabelError, ShapeError
from dragoman.graph import gradient_check
from dragoman.operations import additive_weights, attend_additive, join_rows, split_rows
from tests.strategies import to_offsets

RNG = np.random.default_rng(3)
QUERIES, KEYS = to_offsets([1, 0, 1, 2]), to_offsets([3, 1, 0, 4])  # one, none or several; nothing to look at
INPUTS = (RNG.standard_normal((4, 3)), RNG.standard_normal((8, 3)), RNG.standard_normal(3), RNG.standard_normal((8, 2)))


@pytest.mark.ledger("B-7.4-additive", "B-7.20eq", "B-7.21eq-nc")
def test_additive_attention_by_loops() -> None:
    q, k, w, v = INPUTS
    y = attend_additive(*INPUTS, offsets=QUERIES, memory_offsets=KEYS)
    for s in range(4):
        rows = slice(KEYS[s], KEYS[s + 1])
        for i in range(QUERIES[s], QUERIES[s + 1]):
            scores = np.array([w @ np.tanh(q[i] + key) for key in k[rows]])
            alpha = np.exp(scores) / np.exp(scores).sum()
            np.testing.assert_allclose(y[i], alpha @ v[rows] if len(alpha) else np.zeros(2), atol=1e-14)


def test_its_gradient() -> None:
    gradient_check(attend_additive, *INPUTS, offsets=QUERIES, memory_offsets=KEYS).require()


def test_its_weights_sum_to_1_where_there_is_something_to_look_at() -> None:
    weights = additive_weights(*INPUTS[:3], QUERIES, KEYS)
    assert weights.shape == (4, 2, 4)
    sums = weights.sum(axis=2)
    np.testing.assert_allclose(sums[[0, 3, 3], [0, 0, 1]], 1)
    assert (sums[[0, 1, 1, 2, 2], [1, 0, 1, 0, 1]] == 0).all()


def test_a_score_needs_equal_widths() -> None:
    with pytest.raises(ShapeError, match="attend_additive"):
        attend_additive(INPUTS[0], INPUTS[1][:, :2], *INPUTS[2:], offsets=QUERIES, memory_offsets=KEYS)


def test_rows_are_dealt_and_joined() -> None:
    x, rows = RNG.standard_normal((5, 2)), (np.array([4, 0]), np.zeros(0, int), np.array([1, 3, 2]))
    dealt = split_rows(x, rows=rows)
    np.testing.assert_array_equal(dealt[0], x[[4, 0]])
    np.testing.assert_array_equal(join_rows(*dealt, rows=rows), x)
    gradient_check(split_rows, x, rows=rows).require()
    gradient_check(join_rows, *(np.asarray(part) for part in dealt), rows=rows).require()


def test_rows_that_are_not_there() -> None:
    with pytest.raises(LabelError, match="split_rows: row 5"):
        split_rows(np.zeros((5, 2)), rows=(np.array([5]),))
    with pytest.raises(ShapeError, match=r"arrays of \[2, 1\] rows go to \[2, 2\] places"):
        join_rows(np.zeros((2, 2)), np.zeros((1, 2)), rows=(np.array([0, 1]), np.array([2, 3])))
