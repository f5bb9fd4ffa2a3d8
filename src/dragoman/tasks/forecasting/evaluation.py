"""The testing analysis of a forecaster: errors by column and step beside simple forecasts, coverage of intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis.task_report import Cell, ReportTable, TaskReport
from dragoman.data.series_windows import SeriesWindows
from dragoman.errors import DataError
from dragoman.graph import Array
from dragoman.ranks import current
from dragoman.tasks.forecasting.intervals import fewest_windows
from dragoman.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dragoman.tasks.forecasting.forecaster import Forecaster

MODEL, NAIVE, SEASONAL, LINEAR = "this model", "naive", "seasonal-naive", "linear autoregression"
FEW = 10  # independent windows below which a measured coverage says little
REPEATED = 1e-9  # of the largest value: a smaller scale of MASE is rounding, the season repeats exactly
MOST_STEPS = 12  # rows of the table by step; the figure has all


@dataclass(frozen=True)
class Tested:
    """Forecasts beside the truth, all [n, H, p]; scales [p] are those of MASE, NaN where it is not defined."""

    truth: Array
    forecasts: Mapping[str, Array]
    scales: Array

    def mae(self, name: str) -> Array:
        """[p]"""
        found: Array = np.abs(self.forecasts[name] - self.truth).mean(axis=(0, 1))
        return found

    def rmse(self, name: str) -> Array:
        """[p]"""
        found: Array = np.sqrt(np.square(self.forecasts[name] - self.truth).mean(axis=(0, 1)))
        return found

    def mase(self, name: str) -> Array:
        """[p]"""
        found: Array = self.mae(name) / self.scales
        return found

    @property
    def defined(self) -> Array:
        """[p] whether a column has a MASE."""
        found: Array = np.isfinite(self.scales)
        return found

    @property
    def unit(self) -> str:
        """What makes errors of all columns comparable; MAE where there is one column, or none has a MASE."""
        return "MASE" if self.truth.shape[2] > 1 and self.defined.any() else "MAE"

    def mean_mase(self, name: str) -> float:
        """Of the columns that have one; NaN where none has."""
        return float(self.mase(name)[self.defined].mean()) if self.defined.any() else float("nan")

    def error(self, name: str) -> float:
        """In the unit, the mean of all columns that have it."""
        return self.mean_mase(name) if self.unit == "MASE" else float(self.mae(name).mean())

    def in_unit(self, errors: Array) -> Array:
        """[..., p] -> [...], the mean of all columns that have it."""
        each = (errors / self.scales)[..., self.defined] if self.unit == "MASE" else errors
        found: Array = each.mean(axis=-1)
        return found

    def by_step(self, name: str) -> Array:
        """[H] in the unit."""
        return self.in_unit(np.abs(self.forecasts[name] - self.truth).mean(axis=0))


def evaluate(forecaster: Forecaster, windows: SeriesWindows) -> TaskReport:
    """Forecast every window, and compare."""
    if not len(windows):
        raise DataError("there is no window to evaluate on")
    tested = compare(forecaster, windows)
    names = forecaster.encoding.names
    metrics = {"mase": tested.mean_mase(MODEL)}
    metrics |= {name: float(getattr(tested, name)(MODEL).mean()) for name in ("mae", "rmse")}
    for name in tested.forecasts:
        if name != MODEL:
            metrics[f"{name.replace('-', '_').replace(' ', '_')}_mase"] = tested.mean_mase(name)
    coverage, covered = _coverage(forecaster, tested)
    figures = {
        "Forecasts against the truth": partial(_truth_figure, forecaster, windows, tested),
        f"Error by step ({tested.unit})": partial(_step_figure, tested),
    }
    tables = [_beside(tested, names, forecaster), _by_step(tested), coverage]
    return TaskReport(_headline(tested, covered), {**metrics, **covered, "windows": len(windows)}, tables, figures)


def compare(forecaster: Forecaster, windows: SeriesWindows) -> Tested:
    """The forecasts of the model and of the baselines."""
    e, rows = forecaster.encoding, windows.rows()
    known, truth = rows[:, : e.context], rows[:, e.context :]
    predicted = current().spread_rows(lambda some: forecaster.predict(some, e.horizon), known)
    forecasts = {MODEL: predicted, NAIVE: np.repeat(known[:, -1:], e.horizon, axis=1)}
    if e.period is not None and e.period <= e.context:
        forecasts[SEASONAL] = known[:, e.context - e.period + np.arange(e.horizon) % e.period]
    forecasts[LINEAR] = forecaster.linear.forecast(known, e.horizon)
    scales, largest = np.array(forecaster.linear.scales), np.abs(truth).max(axis=(0, 1))
    return Tested(truth, forecasts, np.where(scales > REPEATED * largest, scales, np.nan))


def _headline(tested: Tested, covered: Mapping[str, float]) -> str:
    """The error beside that of the best baseline."""
    count, steps, columns = tested.truth.shape
    unit = tested.unit if columns == 1 else f"mean {tested.unit}"
    others = {name: tested.error(name) for name in tested.forecasts if name != MODEL}
    ours, best = tested.error(MODEL), min(others, key=lambda name: others[name])
    listed = ", ".join(f"{name} {error:.4g}" for name, error in others.items())
    verdict = "better than all of them" if ours < others[best] else f"not better than {best}"
    held = f"; 90 % intervals held {covered['coverage_90']:.1%}" if "coverage_90" in covered else ""
    return f"{unit} {ours:.4g} over {counted(count, 'window')} of {counted(steps, 'step')} ({listed}): {verdict}{held}"


def _beside(tested: Tested, names: tuple[str, ...], forecaster: Forecaster) -> ReportTable:
    rows: list[tuple[Cell, ...]] = []
    for i, column in enumerate(names):
        for name in tested.forecasts:
            measured = (tested.mae(name)[i], tested.rmse(name)[i], tested.mase(name)[i])
            rows.append((column, name, *map(float, measured)))
    e, orders = forecaster.encoding, forecaster.linear.orders
    listed = ", ".join(map(str, orders)) if len(orders) <= 6 else f"{min(orders)} to {max(orders)}"
    lag = "one row" if e.period is None else f"one season ({e.period} rows)"
    season = f"Seasonal-naive: the value {lag} before. " if SEASONAL in tested.forecasts else ""
    note = (
        f"Naive: the last value. {season}Linear autoregression: least squares on the training part, order {listed} by "
        f"the validation part. MASE: MAE in units of the error of the value {lag} before, in the training part."
    )
    if repeated := [name for name, defined in zip(names, tested.defined, strict=True) if not defined]:
        what = "the season repeats exactly" if e.period else "the values never change"
        note += f" MASE is not defined for {' and '.join(repeated)}: {what}, so that error is 0."
    return ReportTable("Beside simple forecasts", ("column", "forecast", "MAE", "RMSE", "MASE"), rows, note)


def _by_step(tested: Tested) -> ReportTable:
    steps = tested.truth.shape[1]
    shown = np.unique(np.linspace(1, steps, min(steps, MOST_STEPS)).round().astype(int))
    errors = {name: tested.by_step(name) for name in tested.forecasts}
    rows: list[tuple[Cell, ...]] = [(int(k), *(float(errors[name][k - 1]) for name in errors)) for k in shown]
    mean = "" if tested.truth.shape[2] == 1 else ", mean of all columns"
    return ReportTable("Error by step", ("step", *errors), rows, f"{tested.unit}{mean}, of the step alone.")


def _coverage(forecaster: Forecaster, tested: Tested) -> tuple[ReportTable, dict[str, float]]:
    """How often the truth lay in the intervals, and how wide they are."""
    intervals, columns = forecaster.metadata.intervals, ("level", "held", "mean width", "last step held")
    if intervals is None:
        return ReportTable("Intervals", columns, [], "Intervals are measured when a training finishes."), {}
    rows: list[tuple[Cell, ...]] = []
    covered, off = {}, np.abs(tested.forecasts[MODEL] - tested.truth)
    for level in intervals.levels:
        half = intervals.half_width(level)
        if half is None:
            rows.append((f"{level:.0%}", f"needs {fewest_windows(level)} validation windows", "", ""))
            continue
        held = off <= half
        width = float(tested.in_unit(2 * half).mean())
        rows.append((f"{level:.0%}", f"{held.mean():.1%}", f"{width:.4g}", f"{held[:, -1].mean():.1%}"))
        covered[f"coverage_{level * 100:.0f}"] = float(held.mean())
    count, steps = tested.truth.shape[:2]
    apart = max(1, count // steps)
    few = " That is too few to say more than roughly what an interval holds." if apart < FEW else ""
    note = (
        f"Widths from the errors of {counted(intervals.windows, 'validation window')}, measured here on "
        f"{counted(count, 'window')}, of which about {apart:,} do not overlap.{few} Width in "
        f"{'units of MASE' if tested.unit == 'MASE' else 'units of the column'}."
    )
    return ReportTable("Intervals", columns, rows, note), covered


def _truth_figure(forecaster: Forecaster, windows: SeriesWindows, tested: Tested) -> Figure:
    from dragoman.analysis.figures.series import Piece, truth_figure

    chosen = range(0, len(windows), forecaster.encoding.horizon)
    half, level = _shown_half_width(forecaster)
    pieces = [Piece(windows[i], tested.forecasts[MODEL][i], half) for i in chosen]
    return truth_figure(windows.values, windows.timeline.label, forecaster.encoding.names, pieces, level)


def _shown_half_width(forecaster: Forecaster) -> tuple[Array | None, float | None]:
    """Those of the level 0.9, or of the highest that is known."""
    intervals = forecaster.metadata.intervals
    if intervals is None or not intervals.usable:
        return None, None
    level = 0.9 if 0.9 in intervals.usable else intervals.usable[-1]
    return intervals.half_width(level), level


def _step_figure(tested: Tested) -> Figure:
    from dragoman.analysis.figures.series import step_figure

    return step_figure({name: tested.by_step(name) for name in tested.forecasts}, tested.unit)
