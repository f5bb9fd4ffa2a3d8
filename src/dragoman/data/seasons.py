"""The season of a series, and missing values filled with what is around them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dragoman.errors import DataError
from dragoman.graph import Array

Fill = Literal["linear", "previous", "seasonal"]
CLEAR = 0.3  # the least autocorrelation of a season ...
RISES = 0.15  # ... and how far it stands above the lowest one at shorter lags
NEARLY = 0.9  # of the highest peak: a shorter period is preferred to its multiples
PASSES = 3  # each finds the season with gaps that the one before filled
LONGEST = 5000  # rows that are looked at; the last ones


def find_period(x: Array) -> int | None:
    """Rows after which a series repeats itself: the first high peak of its autocorrelation; None if there is none.

    x [T, p], without missing values; its linear trend is taken out first
    """
    x = x[-LONGEST:]
    longest = len(x) // 3
    if longest < 3:
        return None
    lags = _autocorrelation(x, longest + 1)
    inner = np.arange(2, longest + 1)
    peaks = inner[(lags[inner] >= lags[inner - 1]) & (lags[inner] > lags[inner + 1]) & (lags[inner] > CLEAR)]
    lowest = np.minimum.accumulate(lags)
    peaks = peaks[lags[peaks] - lowest[peaks] > RISES]
    if not len(peaks):
        return None
    high: Array = peaks[lags[peaks] >= NEARLY * lags[peaks].max()]
    return int(high[0])


def _autocorrelation(x: Array, longest: int) -> Array:
    """[longest + 1] of the columns together, each without its linear trend."""
    time = np.arange(len(x)) - (len(x) - 1) / 2
    left = x - x.mean(axis=0)
    left = left - np.outer(time, time @ left / (time @ time))
    deviation = left.std(axis=0)
    left = left[:, deviation > 0] / deviation[deviation > 0]
    if not left.size:
        return np.zeros(longest + 1)
    transformed = np.fft.rfft(left, 2 * len(x), axis=0)
    covariance = np.fft.irfft(np.abs(transformed) ** 2, axis=0)[: longest + 1].mean(axis=1)
    found: Array = covariance / (len(x) - np.arange(longest + 1))
    return found


def fill_missing(x: Array, how: Fill, period: int | None = None) -> Array:
    """Fill the NaN of x [T, p], whose columns have at least one value each.

    linear    on the line between the values before and after; at an end, the nearest value
    previous  the last value before; at the beginning, the first one
    seasonal  on that line once the mean season is taken out; it is put back afterwards
    """
    filled = x.copy()
    for column in filled.T:
        known = ~np.isnan(column)
        if known.all():
            continue
        if not known.any():
            raise DataError("a column without any value cannot be filled")
        if how == "previous":
            last = np.maximum.accumulate(np.where(known, np.arange(len(column)), -1))
            column[:] = column[np.where(last < 0, int(np.argmax(known)), last)]
        else:
            season = np.zeros(len(column))
            for _ in range(PASSES if how == "seasonal" and period else 0):
                season = _season(_interpolated(column - season, known) + season, known, period or 1)
            column[:] = np.where(known, column, _interpolated(column - season, known) + season)
    return filled


def _interpolated(column: Array, known: Array) -> Array:
    rows = np.arange(len(column))
    found: Array = np.interp(rows, rows[known], column[known])
    return found


def _season(line: Array, known: Array, period: int) -> Array:
    """[T] how far each row of the season lies above the mean of the period around it, on average of what is known."""
    padded = np.concatenate((np.full(period, line[:period].mean()), line, np.full(period, line[-period:].mean())))
    sums = np.cumsum(np.concatenate(([0.0], padded)))
    level = ((sums[period:] - sums[:-period]) / period)[period - period // 2 :][: len(line)]
    phase = np.arange(len(line)) % period
    above = np.where(known, line - level, 0.0)
    counts = np.bincount(phase, known, period)
    means = np.bincount(phase, above, period) / np.maximum(counts, 1)
    found: Array = (means - means.mean())[phase]
    return found
