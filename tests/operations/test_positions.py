"""Positional tables: reference values and the property they were invented for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from dragoman.errors import ConfigurationError
from dragoman.operations.positions import half_sinusoid, interleaved_sinusoid, one_hot
from tests.strategies import sizes


@pytest.mark.ledger("T-3.2-I-PE")
def test_half_sinusoid_counts_from_zero():
    rows = [
        [0, 0, 1, 1],
        [0.841470985, 0.009999833, 0.540302306, 0.99995],
        [0.909297427, 0.019998667, -0.416146837, 0.999800007],
    ]
    np.testing.assert_allclose(half_sinusoid(3, 4), rows, atol=1e-9)


@pytest.mark.ledger("T-3.2-I-PE")
@given(sizes(1, 6), sizes(1, 4))
def test_half_sinusoid_element_by_element(length, half):
    table, d = half_sinusoid(length, 2 * half), 2 * half
    for j in range(length):
        for k in range(half):
            angle = j / 10000 ** (2 * k / d)
            assert table[j, k] == pytest.approx(np.sin(angle), abs=1e-14)
            assert table[j, k + half] == pytest.approx(np.cos(angle), abs=1e-14)


@pytest.mark.ledger("T-3.2-I-PElinear")
@pytest.mark.parametrize("offset", [1, 5, -3])
def test_moving_by_an_offset_is_one_matrix(offset):
    table = half_sinusoid(40, 8)
    here = np.arange(5, 30)
    matrix, *_ = np.linalg.lstsq(table[here], table[here + offset], rcond=None)
    np.testing.assert_allclose(table[here] @ matrix, table[here + offset], atol=1e-12)
    assert len(np.unique(table.round(9), axis=0)) == 40  # and every position has its own code


@pytest.mark.ledger("B-7.29eq")
def test_interleaved_sinusoid_from_one():
    table = interleaved_sinusoid(50, 6, first=1)
    np.testing.assert_allclose([table[0, 0], table[0, 1], table[49, 0]], [0.841471, 0.540302, -0.262375], atol=1e-6)
    pairs = table[:, 0::2] ** 2 + table[:, 1::2] ** 2
    np.testing.assert_allclose(pairs, 1)  # a sine and a cosine of one frequency
    np.testing.assert_allclose(table[6, 4:6], [np.sin(7 / 10000 ** (4 / 6)), np.cos(7 / 10000 ** (4 / 6))])


@pytest.mark.ledger("B-7.29eq", "T-3.2-I-PE")
def test_thesis_and_book_differ_in_order_and_start_only():
    book = interleaved_sinusoid(9, 8, first=1)
    np.testing.assert_array_equal(half_sinusoid(10, 8)[1:], np.concatenate((book[:, 0::2], book[:, 1::2]), axis=1))
    np.testing.assert_array_equal(interleaved_sinusoid(10, 8)[1:], book)


@pytest.mark.parametrize("table", [half_sinusoid, interleaved_sinusoid])
def test_an_odd_depth_is_refused(table):
    with pytest.raises(ConfigurationError, match="even depth, got 5"):
        table(3, 5)


@pytest.mark.ledger("T-1.3-vertices")
def test_one_hot():
    np.testing.assert_array_equal(one_hot(3), [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
