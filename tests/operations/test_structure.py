"""Sums, columns, rows and shapes between the equations."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import LabelError, ShapeError
from dragoman.graph import Tensor, backpropagate, gradient_check
from dragoman.operations import (
    add,
    append_row,
    appended_offsets,
    appended_rows,
    concatenate_columns,
    reshape,
    take_rows,
    transpose,
)
from tests.strategies import arrays, generators, offsets, sizes, to_offsets


@pytest.mark.ledger("T-3.2-III", "T-4.3.12-13")
@given(st.lists(sizes(), max_size=3).map(tuple), generators())
def test_add_passes_its_delta_to_both(shape, rng):
    x1, x2, dy = (rng.standard_normal(shape) for _ in range(3))
    leaves = [Tensor(x1), Tensor(x2)]
    y = add(*leaves)
    np.testing.assert_array_equal(y.value, x1 + x2)
    for derivative in backpropagate(y, leaves, [dy]):
        np.testing.assert_array_equal(derivative, dy)
    gradient_check(add, x1, x2).require()


@given(generators(), sizes(), sizes(), sizes())
def test_concatenate_columns(rng, n, a, b):
    x1, x2 = rng.standard_normal((n, a)), rng.standard_normal((n, b))
    y = concatenate_columns(x1, x2)
    np.testing.assert_array_equal(y[:, :a], x1)
    np.testing.assert_array_equal(y[:, a:], x2)
    gradient_check(concatenate_columns, x1, x2).require()


@given(offsets(), generators())
def test_append_row_ends_every_sequence(starts, rng):
    x, row = rng.standard_normal((starts[-1], 2)), rng.standard_normal(2)
    expected = [np.vstack((x[a:b], row)) for a, b in pairwise(starts)]
    y = append_row(x, row, offsets=starts)
    np.testing.assert_array_equal(y, np.concatenate(expected))
    np.testing.assert_array_equal(appended_offsets(starts), to_offsets([len(sequence) for sequence in expected]))
    np.testing.assert_array_equal(y[appended_rows(starts)], [row] * (len(starts) - 1))
    gradient_check(append_row, x, row, offsets=starts).require()


@given(generators(), st.permutations(range(5)), sizes(0, 5))
def test_take_rows(rng, order, count):
    x, rows = rng.standard_normal((5, 2)), np.array(order[:count], int)
    np.testing.assert_array_equal(take_rows(x, rows=rows), x[rows])
    gradient_check(take_rows, x, rows=rows).require()


@pytest.mark.parametrize("row", [5, -1])
def test_take_rows_refuses_a_row_that_is_not_there(row):
    with pytest.raises(LabelError, match=f"take_rows.* {row} "):
        take_rows(np.ones((5, 2)), rows=np.array([0, row]))


@pytest.mark.ledger("N-2.1-vec", "N-2.1-matderiv")
@given(arrays(2, 3), arrays(2, 3))
def test_vect_reads_row_by_row_and_folds_back(w, c):
    np.testing.assert_array_equal(reshape(np.array([[1, 2], [3, 4]]), shape=(4,)), [1, 2, 3, 4])
    np.testing.assert_array_equal(reshape(reshape(w, shape=(6,)), shape=(2, 3)), w)
    leaf = Tensor(w)
    (dw,) = backpropagate(reshape(leaf, shape=(6,)), [leaf], [c.ravel()])  # sum(W * C), by vect W, folded
    np.testing.assert_array_equal(dw, c)
    gradient_check(reshape, w, shape=(3, 2)).require()


@given(st.permutations(range(3)), generators())
def test_transpose(axes, rng):
    x = rng.standard_normal((2, 3, 4))
    y = transpose(x, axes=tuple(axes))
    for index in np.ndindex(x.shape):
        assert y[tuple(index[axis] for axis in axes)] == x[index]
    gradient_check(transpose, x, axes=tuple(axes)).require()


def test_a_row_taken_twice_collects_both_deltas():
    gradient_check(take_rows, np.random.default_rng(0).standard_normal((4, 3)), rows=np.array([2, 0, 2])).require()


def test_sequences_cover_the_rows_exactly():
    with pytest.raises(ShapeError, match=r"x has shape \(3, 2\), but the offsets end at 1"):
        append_row(np.ones((3, 2)), np.ones(2), offsets=np.array([0, 1]))
