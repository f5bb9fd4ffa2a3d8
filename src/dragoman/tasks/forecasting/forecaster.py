"""Forecaster: a series in, its next rows out, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.data.autoregression import Autoregression
from dragoman.data.series_encoding import SeriesEncoding
from dragoman.data.series_windows import RegularSeries, SeriesWindows
from dragoman.data.timeline import Timeline
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError, DataError
from dragoman.graph import Array, value_of
from dragoman.tasks.forecasting.corpus import make_regular, read_table
from dragoman.tasks.forecasting.settings import ForecasterMetadata, SeriesData
from dragoman.tasks.trained_model import TrainedModel

if TYPE_CHECKING:
    from dragoman.analysis.task_report import TaskReport

TOGETHER = 256  # windows that go through the network at once
MOST_STEPS = 100_000
LEVEL = 0.9  # of the intervals that are shown unless another is asked for


@dataclass(frozen=True)
class Forecast:
    """The next rows of a series.

    times   [steps] when they will be
    values  [steps, p]
    low, high  [steps, p] the interval of the level; NaN beyond the steps that it is known for
    series  what was known
    """

    columns: tuple[str, ...]
    time: str
    times: tuple[str, ...]
    values: Array
    low: Array
    high: Array
    level: float
    series: RegularSeries

    def header(self) -> list[str]:
        return [self.time, *(name + part for name in self.columns for part in ("", "_low", "_high"))]

    def lines(self) -> list[list[str]]:
        """The cells of a table, without its header; an interval that is not known is an empty cell."""
        cells = np.stack((self.values, self.low, self.high), axis=2).reshape(len(self.times), -1)
        return [[time, *map(_shown, row)] for time, row in zip(self.times, cells, strict=True)]

    def as_dict(self) -> dict[str, Any]:
        steps = []
        for i, time in enumerate(self.times):
            row: dict[str, Any] = {"time": time}
            for j, name in enumerate(self.columns):
                found = (self.values[i, j], self.low[i, j], self.high[i, j])
                shown = [None if np.isnan(number) else float(f"{number:.8g}") for number in found]
                row[name] = dict(zip(("value", "low", "high"), shown, strict=True))
            steps.append(row)
        return {"level": self.level, "columns": list(self.columns), "forecast": steps}


def _shown(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.8g}"


class Forecaster(TrainedModel):
    """A network with the scale of its series, and how far its forecasts were off."""

    task = "forecasting"
    metadata: ForecasterMetadata

    @property
    def encoding(self) -> SeriesEncoding:
        found: SeriesEncoding = self.encoders["series"]
        return found

    @property
    def linear(self) -> Autoregression:
        found: Autoregression = self.encoders["linear"]
        return found

    # A series in, its next rows out

    def forecast(
        self,
        series: str | Path | Array | Sequence[Any],
        horizon: int | None = None,
        level: float = LEVEL,
        **reading: Any,
    ) -> Forecast:
        """The rows after a series: a file, or an array [T] or [T, p] whose columns are those of the training.

        horizon  rows; None: as many as were forecast at once in training
        level    of the intervals: 0.5, 0.8, 0.9 or 0.95
        reading  settings of the section `data`, such as fill="linear"
        """
        steps = self.encoding.horizon if horizon is None else horizon
        if not 1 <= steps <= MOST_STEPS:
            raise ConfigurationError(f"a forecast has 1 to {MOST_STEPS:,} steps, got {steps}")
        known = self.read(series, **reading) if isinstance(series, str | Path) else self._array(series)
        context = self.encoding.context
        if len(known.values) < context:
            raise DataError(
                f"the series has {len(known.values):,} rows, the model reads {context:,} to make a forecast; give it "
                "at least so many"
            )
        values = self.predict(known.values[None, -context:], steps)[0]
        half = self._half_widths(steps, level)
        count = len(known.values)
        times = tuple(known.timeline.label(count + i) for i in range(steps))
        return Forecast(
            self.encoding.names, known.time or "row", times, values, values - half, values + half, level, known
        )

    def _half_widths(self, steps: int, level: float) -> Array:
        """[steps, p] half the width of the intervals; NaN where it is not known."""
        found = np.full((steps, self.encoding.size), np.nan)
        intervals = self.metadata.intervals
        if intervals is None:
            return found
        if level not in intervals.levels:
            known = ", ".join(f"{each:g}" for each in intervals.levels)
            raise ConfigurationError(f"the model knows intervals of the levels {known}, not {level:g}")
        half = intervals.half_width(level)
        if half is not None:
            found[: len(half)] = half[:steps]
        return found

    def read(self, name: str | Path, **reading: Any) -> RegularSeries:
        """The series of a file, with the columns of the training."""
        m = self.metadata
        given = {"columns": m.columns, "time": m.time, "decimal": m.decimal, **reading, "files": (str(name),)}
        if self.encoding.period is not None:
            given.setdefault("period", self.encoding.period)
        settings = SeriesData(**given)
        found, _ = make_regular(read_table(settings), settings)
        trained = Timeline.from_dict(m.timeline) if m.timeline else Timeline()
        if not trained.same_spacing(found.timeline):
            raise DataError(
                f"{name}: its rows are {found.timeline.spacing()}, the model was trained on rows "
                f"{trained.spacing()}; bring the series to that spacing, or train a model on it"
            )
        if found.values.shape[1] != self.encoding.size:
            raise DataError(f"{found.values.shape[1]} columns given, the model has {self.encoding.size}")
        return found

    def _array(self, series: Any) -> RegularSeries:
        try:
            values = np.asarray(list(series) if isinstance(series, Iterator) else series, np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"expected an array of numbers, or a file: {error}") from None
        values = values[:, None] if values.ndim == 1 else values
        size = self.encoding.size
        if values.ndim != 2 or values.shape[1] != size:
            raise DataError(f"expected an array of rows of {size} numbers, got one of shape {values.shape}")
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0]
            raise DataError(f"row {row} of '{self.encoding.names[column]}' is {values[row, column]}; fill it before")
        return RegularSeries(self.encoding.names, values, Timeline())

    def predict(self, contexts: Array, steps: int) -> Array:
        """[B, C, p] -> [B, steps, p]. Beyond the horizon of the training, forecasts are read as if they were known."""
        found = [self._predict(contexts[i : i + TOGETHER], steps) for i in range(0, len(contexts), TOGETHER)]
        return np.concatenate(found) if found else np.zeros((0, steps, self.encoding.size))

    def _predict(self, contexts: Array, steps: int) -> Array:
        e, known = self.encoding, contexts
        with fast_compute():
            while known.shape[1] < contexts.shape[1] + steps:
                read = known[:, -e.context :]
                ahead = min(e.horizon, contexts.shape[1] + steps - known.shape[1])
                if e.strategy == "direct":
                    outputs = value_of(self.network.plain(e.contexts(read)))
                    scaled = outputs.reshape(len(read), e.horizon, e.size)[:, :ahead]
                else:
                    scaled = self.network.forecast(e.encode(read), ahead)
                known = np.concatenate((known, e.decode(scaled, read)), axis=1)
        return known[:, contexts.shape[1] :]

    def errors(self, windows: SeriesWindows) -> Array:
        """[n, H, p] forecast minus truth of every window."""
        rows = windows.rows()
        found: Array = self.predict(rows[:, : self.encoding.context], self.encoding.horizon)
        return found - rows[:, self.encoding.context :]

    # Testing analysis

    def evaluate(self, windows: SeriesWindows) -> TaskReport:
        """What can be measured on windows of a series."""
        from dragoman.tasks.forecasting.evaluation import evaluate

        return evaluate(self, windows)
