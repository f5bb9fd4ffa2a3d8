"""Pooling: the mean, the maximum and the attended mean of each sequence, and what comes back to its rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from dragoman.errors import ShapeError
from dragoman.graph import Tensor, backpropagate, gradient_check
from dragoman.operations import attention_pool, last_rows, max_rows, mean_rows
from tests.strategies import generators, offsets, sizes


def by_sequence(function, x, starts):
    return [function(x[a:b]) if b > a else np.zeros(x.shape[1]) for a, b in pairwise(starts)]


@given(offsets(), generators())
def test_mean_rows_of_each_sequence(starts, rng):
    x = rng.standard_normal((starts[-1], 3))
    expected = by_sequence(lambda rows: rows.mean(axis=0), x, starts)
    np.testing.assert_allclose(mean_rows(x, offsets=starts), expected, rtol=1e-12, atol=1e-14)
    gradient_check(mean_rows, x, offsets=starts).require()


@given(offsets(), generators())
def test_last_rows_of_each_sequence(starts, rng):
    x = rng.standard_normal((starts[-1], 3))
    np.testing.assert_array_equal(last_rows(x, offsets=starts), by_sequence(lambda rows: rows[-1], x, starts))
    gradient_check(last_rows, x, offsets=starts).require()


@given(offsets(), generators())
def test_max_rows_of_each_sequence(starts, rng):
    x = rng.standard_normal((starts[-1], 3))
    expected = by_sequence(lambda rows: rows.max(axis=0), x, starts)
    np.testing.assert_array_equal(max_rows(x, offsets=starts), expected)
    report = gradient_check(max_rows, x, offsets=starts).require()
    assert report.applied == report.comparisons


@given(offsets(), generators(), sizes())
def test_attention_pool_of_each_sequence(starts, rng, d):
    x, query = rng.standard_normal((starts[-1], d)), rng.standard_normal(d)

    def attended(rows):
        e = np.exp(rows @ query)
        return e / e.sum() @ rows

    found = attention_pool(x, query, offsets=starts)
    np.testing.assert_allclose(found, by_sequence(attended, x, starts), rtol=1e-12, atol=1e-14)
    report = gradient_check(attention_pool, x, query, offsets=starts).require()
    assert report.applied == report.comparisons


def test_of_equal_maxima_the_first_gets_the_delta():
    x = Tensor(np.array([[1.0, 5.0], [3.0, 5.0], [3.0, 2.0], [0.0, 0.0], [0.0, -1.0]]))
    y = max_rows(x, offsets=np.array([0, 3, 3, 5]))
    np.testing.assert_array_equal(y.value, [[3, 5], [0, 0], [0, 0]])
    (dx,) = backpropagate(y, [x], [np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])])
    np.testing.assert_array_equal(dx, [[0, 2], [1, 0], [0, 0], [5, 6], [0, 0]])


def test_a_maximum_passes_on_what_is_not_a_number():
    y = max_rows(np.array([[1.0, 2.0], [np.nan, 1.0]]), offsets=np.array([0, 2]))
    np.testing.assert_array_equal(y, [[np.nan, 2]])


def test_a_query_of_zero_gives_the_mean():
    x, starts = np.random.default_rng(0).standard_normal((6, 3)), np.array([0, 4, 4, 6])
    np.testing.assert_allclose(attention_pool(x, np.zeros(3), offsets=starts), mean_rows(x, offsets=starts), rtol=1e-14)


def test_large_scores_stay_finite():
    x = np.array([[1.0, 0.0], [2.0, 1.0]])
    np.testing.assert_array_equal(attention_pool(x, np.array([1e4, 0.0]), offsets=np.array([0, 2])), [[2, 1]])


@pytest.mark.parametrize("call", [mean_rows, max_rows, lambda x, offsets: attention_pool(x, x[0], offsets=offsets)])
def test_sequences_cover_the_rows_exactly(call):
    with pytest.raises(ShapeError, match=r"x has shape \(3, 2\), but the offsets end at 1"):
        call(np.ones((3, 2)), offsets=np.array([0, 1]))
