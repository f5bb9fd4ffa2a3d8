"""Seasons that are found, and missing values that are filled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman.data.seasons import fill_missing, find_period
from dragoman.errors import DataError

T = np.arange(300)
NOISE = np.random.default_rng(0).standard_normal((300, 2))


@pytest.mark.parametrize("period", [2, 7, 11, 24, 52])
def test_a_season_is_found_in_noise_and_on_a_trend(period: int) -> None:
    season = np.sin(2 * np.pi * T / period + 0.5)[:, None]
    assert find_period(season + 0.1 * NOISE + 0.05 * T[:, None]) == period


def test_what_has_no_season() -> None:
    assert find_period(NOISE) is None
    assert find_period(NOISE.cumsum(axis=0)) is None
    assert find_period(T[:, None] * 1.0) is None
    assert find_period(np.ones((300, 1))) is None
    assert find_period(NOISE[:5]) is None


def gap(values: Any) -> Any:
    return np.array([[v] for v in values], float)


N = np.nan


@pytest.mark.parametrize(
    ("how", "given", "filled"),
    [
        ("linear", [N, 1, N, N, 4, N], [1, 1, 2, 3, 4, 4]),
        ("previous", [N, 1, N, N, 4, N], [1, 1, 1, 1, 4, 4]),
        ("seasonal", [0, 9, 0, 9, 0, 9, 0, N, 0, 9, 0, 9], [0, 9, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9]),
    ],
)
def test_filled(how: Any, given: list[float], filled: list[float]) -> None:
    x = gap(given)
    np.testing.assert_allclose(fill_missing(x, how, 2), gap(filled), atol=0.5)
    np.testing.assert_array_equal(x, gap(given), "the series itself is not changed")


def test_the_season_fills_a_gap_better_than_a_line() -> None:
    truth = np.sin(2 * np.pi * T / 24)[:, None] + 0.02 * T[:, None]
    holes = truth.copy()
    holes[100:112] = np.nan
    errors = {how: np.abs(fill_missing(holes, how, 24) - truth).max() for how in ("linear", "previous", "seasonal")}  # type: ignore[arg-type]
    assert errors["seasonal"] < 0.2 * errors["linear"] < errors["previous"]


def test_a_column_without_a_value() -> None:
    with pytest.raises(DataError, match="without any value"):
        fill_missing(gap([N, N]), "linear")
