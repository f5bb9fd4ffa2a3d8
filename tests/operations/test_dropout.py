"""Dropout: the right share, the same mask wherever it is computed, and no pattern between masks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Tensor, backpropagate, gradient_check
from dragoman.operations import Dropout, DropoutKey, drop
from tests.strategies import arrays, sizes

FLOAT = np.dtype(np.float64)
SHAPE = (200, 100)


def kept(seed=1, step=1, site=1, rate=0.3, first_row=0, shape=SHAPE):
    return DropoutKey(seed, step).dropout(rate, site, first_row).mask(shape, FLOAT) > 0


def correlation(a, b):
    return abs(np.corrcoef(a.ravel(), b.ravel())[0, 1])


def noise_level(a):
    """Five deviations of the correlation of independent masks."""
    return 5 / np.sqrt(a.size)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_kept_share_and_mean(rate, seed):
    mask = DropoutKey(seed, 3).dropout(rate, 2).mask(SHAPE, FLOAT)
    assert set(np.unique(mask)) == {0, 1 / (1 - rate)}
    deviation = np.sqrt(rate * (1 - rate) / mask.size)
    assert abs((mask > 0).mean() - (1 - rate)) < 5 * deviation
    assert abs(mask.mean() - 1) < 5 * deviation / (1 - rate)
    shares = (mask > 0).mean(axis=0), (mask > 0).mean(axis=1)  # no row and no column is favoured
    for share, size in zip(shares, SHAPE, strict=True):
        assert abs(share - (1 - rate)).max() < 6 * np.sqrt(rate * (1 - rate) / size) + 1 / size


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"seed": 1 + 2**32},
        {"seed": -1},
        {"step": 2},
        {"step": 1 + 2**32},
        {"site": 2},
        {"site": 0},
        {"first_row": 200},
        {"seed": 2, "step": 0},
    ],
    ids=str,
)
def test_masks_of_other_seeds_steps_sites_and_rows_are_unrelated(change):
    assert correlation(kept(), kept(**change)) < noise_level(kept())


@pytest.mark.parametrize("distance", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("axis", [0, 1])
def test_neighbouring_rows_and_columns_are_unrelated(distance, axis):
    mask = kept().swapaxes(0, axis)
    assert correlation(mask[distance:], mask[:-distance]) < noise_level(mask[distance:])


def lowbias32(h):
    """The published finaliser in plain integers."""
    h = ((h ^ h >> 16) * 0x7FEB352D) % 2**32
    h = ((h ^ h >> 15) * 0x846CA68B) % 2**32
    return h ^ h >> 16


@given(
    st.integers(0, 2**64 - 1), st.integers(0, 2**33), st.integers(0, 100), st.sampled_from((0.1, 0.5)), sizes(0, 10**6)
)
def test_a_mask_is_the_hash_it_claims_to_be(seed, step, site, rate, first_row):
    key = 0
    for word in (seed, seed >> 32, step, step >> 32, site):
        key = lowbias32((key + word % 2**32 + 0x9E3779B9) % 2**32)
    expected = np.empty((3, 4), bool)
    for row in range(3):
        for column in range(4):
            row_key = lowbias32((row + first_row) ^ key)
            expected[row, column] = lowbias32((row_key + column * 0x9E3779B9) % 2**32) >= int(rate * 2**32)
    np.testing.assert_array_equal(kept(seed, step, site, rate, first_row, (3, 4)), expected)


@given(sizes(1, 6), sizes(0, 6), sizes(1, 5), sizes(0, 1000))
def test_shards_see_the_masks_of_the_whole_batch(rows, cut, columns, first_row):
    whole = kept(first_row=first_row, shape=(rows + cut, columns + 3))
    shard = kept(first_row=first_row + cut, shape=(rows, columns))
    np.testing.assert_array_equal(whole[cut:, :columns], shard)


@given(arrays(4, 3))
def test_gradient(x):
    gradient_check(drop, x, dropout=Dropout(0.5, key=11)).require()
    gradient_check(drop, x, dropout=None).require()


def test_drop_multiplies_forwards_and_backwards_by_one_mask():
    dropout, x = DropoutKey(1, 2).dropout(0.5, 3), Tensor(np.full((6, 5), 3.0, np.float32))
    mask = dropout.mask((6, 5), np.dtype(np.float32))
    assert 0 < (mask > 0).sum() < 30
    y = drop(x, dropout=dropout)
    np.testing.assert_array_equal(y.value, 3 * mask)
    np.testing.assert_array_equal(backpropagate(y, [x], [np.full((6, 5), 7, np.float32)])[0], 7 * mask)


def test_rate_zero_drops_nothing():
    assert DropoutKey(1, 1).dropout(0.0, 1) is None
    x = np.random.default_rng(0).standard_normal((3, 2))
    np.testing.assert_array_equal(drop(x, dropout=None), x)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, np.nan])
def test_a_rate_has_its_range(rate):
    with pytest.raises(ConfigurationError, match="at least 0 and below 1"):
        DropoutKey(1, 1).dropout(rate, 1)


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4)])
def test_only_rows_are_dropped_from(shape):
    with pytest.raises(ShapeError, match="expected"):
        drop(np.ones(shape), dropout=Dropout(0.5, 1))
