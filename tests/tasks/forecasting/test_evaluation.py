"""The report of a forecaster, beside sums written out."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dragoman.tasks.forecasting.evaluation import LINEAR, MODEL, NAIVE, SEASONAL, compare, evaluate

WINDOWS, CONTEXT, HORIZON, PERIOD = 4, 7, 5, 3
ROWS = np.random.default_rng(3).normal(size=(WINDOWS, CONTEXT + HORIZON, 2))


class Windows:
    """Windows that are all there is."""

    def __init__(self, rows: Any = ROWS) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> Any:
        return self._rows


def forecaster(scales: tuple[float, ...], columns: int = 2, period: int = PERIOD) -> Any:
    """Forecasts ones, and twos by autoregression."""
    names, orders = ("x", "y")[:columns], (1,) * columns

    def always(value: float) -> Any:
        return lambda known, steps: np.full((len(known), steps, columns), value)

    return SimpleNamespace(
        encoding=SimpleNamespace(context=CONTEXT, horizon=HORIZON, period=period, names=names),
        linear=SimpleNamespace(scales=scales, orders=orders, forecast=always(2.0)),
        metadata=SimpleNamespace(intervals=None),
        predict=always(1.0),
    )


@pytest.mark.parametrize("period", [PERIOD, CONTEXT])
def test_errors_are_means_over_windows_and_steps(period: int) -> None:
    found = compare(forecaster((0.5, 2.0), period=period), Windows())  # type: ignore[arg-type]
    forecast = {
        MODEL: lambda window, k, j: 1.0,
        NAIVE: lambda window, k, j: window[CONTEXT - 1, j],
        SEASONAL: lambda window, k, j: window[CONTEXT - period + k % period, j],
        LINEAR: lambda window, k, j: 2.0,
    }
    for name, of in forecast.items():
        for j, scale in enumerate((0.5, 2.0)):
            off = [of(window, k, j) - window[CONTEXT + k, j] for window in ROWS for k in range(HORIZON)]
            mean = sum(map(abs, off)) / len(off)
            assert found.mae(name)[j] == pytest.approx(mean)
            assert found.rmse(name)[j] == pytest.approx(math.sqrt(sum(each**2 for each in off) / len(off)))
            assert found.mase(name)[j] == pytest.approx(mean / scale)


@pytest.mark.parametrize(
    ("scales", "size", "defined", "headline"),
    [
        ((0.5, 0.0), 1.0, [0], "mean MASE "),
        ((0.0, 0.0), 0.0, [], "mean MAE "),
        ((1e-8, 2.0), 1000.0, [1], "mean MASE "),  # the last digits of a season that was computed
        ((0.0, 0.0), 1.0, [], "mean MAE "),
        ((0.0,), 1.0, [], "MAE "),
    ],
)
def test_a_season_that_repeats_exactly_has_no_mase(scales: Any, size: float, defined: list[int], headline: str) -> None:
    columns, values = len(scales), size * ROWS
    report = evaluate(forecaster(scales, columns), Windows(values[:, :, :columns]))  # type: ignore[arg-type]
    errors = np.abs(1.0 - values[:, CONTEXT:]).mean(axis=(0, 1))
    expected = [errors[j] / scales[j] for j in defined]
    assert report.headline.startswith(headline)
    beside, by_step, _ = report.tables
    ours = [row[4] for row in beside.rows if row[1] == MODEL]
    assert [not np.isnan(value) for value in ours] == [j in defined for j in range(columns)]
    undefined = [name for j, name in enumerate("xy"[:columns]) if j not in defined]
    assert f"MASE is not defined for {' and '.join(undefined)}: the season repeats exactly" in beside.note
    assert np.isfinite([value for row in by_step.rows for value in row]).all()
    if defined:
        assert report.metrics["mase"] == pytest.approx(np.mean(expected))
        assert f"MASE {np.mean(expected):.4g} over" in report.headline
    else:
        assert math.isnan(report.metrics["mase"])
    json.dumps(report.as_dict(), allow_nan=False)
