"""Linear autoregression of each column, fitted by least squares: the baseline of forecasts, kept with a model."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.errors import FileFormatError
from dragoman.graph import Array

ORDERS = (1, 2, 3, 4, 6, 8, 9, 10, 12, 16, 24, 32, 48)  # that are tried, besides those of the period
FIT_ROWS = 100_000  # the last rows of a long training part are enough


@dataclass(frozen=True)
class Autoregression:
    """x[t] = c + a_1 x[t - 1] + ... + a_q x[t - q] of each column.

    coefficients  c, a_q, ..., a_1 of each column; the columns may have different orders q
    scales        of MASE: the mean absolute error of the seasonal-naive forecast one season ahead (without a season: of
                  the naive forecast one row ahead) in the training part, by column
    """

    coefficients: tuple[tuple[float, ...], ...]
    scales: tuple[float, ...]

    file: ClassVar[str] = "autoregression"

    @property
    def size(self) -> int:
        return len(self.scales)

    @property
    def orders(self) -> tuple[int, ...]:
        return tuple(len(row) - 1 for row in self.coefficients)

    @classmethod
    def learn(cls, training: Array, later: Array, context: int, horizon: int, period: int | None) -> Autoregression:
        """Fit to the training part [n, p]; the order is the one with the least error in the validation part (`later`).

        A forecast reads `context` rows at most, as a network does.
        """
        season = period or 1
        lag = season if season < len(training) else 1
        scales = np.abs(training[lag:] - training[:-lag]).mean(axis=0)
        whole, start = np.concatenate((training, later)), len(training)
        origins = np.arange(start, len(whole) - horizon + 1)
        origins = origins[:: max(1, len(origins) // 500)]
        coefficients = tuple(
            _best(training[-FIT_ROWS:, column], whole[:, column], origins, context, horizon, season)
            for column in range(training.shape[1])
        )
        return cls(coefficients, tuple(float(f"{scale:.12g}") for scale in scales))

    def forecast(self, contexts: Array, steps: int) -> Array:
        """[B, C, p] -> [B, steps, p], feeding predictions back."""
        columns = [run(np.array(row), contexts[:, :, i], steps) for i, row in enumerate(self.coefficients)]
        return np.stack(columns, axis=2)

    def to_json(self) -> str:
        return json.dumps({"coefficients": self.coefficients, "scales": self.scales}, indent=2)

    @classmethod
    def load(cls, path: Path) -> Autoregression:
        try:
            found: Any = json.loads(path.read_text(encoding="utf-8"))
            made = cls(
                tuple(tuple(map(float, row)) for row in found["coefficients"]), tuple(map(float, found["scales"]))
            )
            numbers = [*made.scales, *(number for row in made.coefficients for number in row)]
            if len(made.coefficients) != len(made.scales) or min(map(len, made.coefficients)) < 2:
                raise ValueError("coefficients and scales are of the same columns")
            if not all(map(math.isfinite, numbers)):
                raise ValueError("all numbers are finite")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"{path} cannot be read as an autoregression: {error!r}") from None
        return made


def _best(training: Array, whole: Array, origins: Array, context: int, horizon: int, season: int) -> tuple[float, ...]:
    most = min(context, (len(training) - 1) // 3)
    orders = sorted({q for q in (*ORDERS, season, season + 1, 2 * season) if q <= most} | {1})
    fitted = [fit(training, q) for q in orders]
    if not len(origins):
        return _rounded(fitted[-1])
    contexts = whole[origins[:, None] + np.arange(-context, 0)]
    truth = whole[origins[:, None] + np.arange(horizon)]
    errors = [np.abs(run(row, contexts, horizon) - truth).mean() for row in fitted]
    return _rounded(fitted[int(np.nanargmin(np.where(np.isfinite(errors), errors, np.inf)))])


def _rounded(row: Array) -> tuple[float, ...]:
    """The last digits of a least-squares solution depend on the machine."""
    return tuple(float(f"{value:.9g}") for value in row)


def fit(x: Array, order: int) -> Array:
    """c, a_q, ..., a_1 by least squares."""
    center, spread = x.mean(), x.std() or 1.0
    z = (x - center) / spread
    windows = np.lib.stride_tricks.sliding_window_view(z[:-1], order)
    design = np.concatenate((np.ones((len(windows), 1)), windows), axis=1)
    found = np.linalg.lstsq(design, z[order:], rcond=None)[0]
    constant = spread * found[0] + center * (1 - found[1:].sum())
    return np.concatenate(([constant], found[1:]))


def run(row: Array, contexts: Array, steps: int) -> Array:
    """[B, C] -> [B, steps], feeding predictions back."""
    order = len(row) - 1
    known = np.empty((len(contexts), order + steps))
    known[:, :order] = contexts[:, contexts.shape[1] - order :]
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(steps):
            known[:, order + t] = row[0] + known[:, t : t + order] @ row[1:]
    return known[:, order:]
