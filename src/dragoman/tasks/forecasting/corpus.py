"""From a table to a series without gaps, and to the prepared windows of a training."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.data.cache import file_digest
from dragoman.data.readers import Series, read_series
from dragoman.data.readers.series import AUTOMATIC, SeriesLayout
from dragoman.data.schema import Encoders
from dragoman.data.seasons import fill_missing, find_period
from dragoman.data.series_windows import RegularSeries, SeriesDataset, SeriesSchema, cached_series
from dragoman.data.source import STANDARD_INPUT, Source
from dragoman.data.timeline import Timeline, regular
from dragoman.errors import ConfigurationError, DataError
from dragoman.graph import Array
from dragoman.tasks.forecasting.settings import NO_TIME, Column, SeriesData
from dragoman.wording import counted

READING = {"columns", "time", "decimal", "fill", "header", "encoding", "on_bad_line"}


@dataclass(frozen=True)
class SeriesCorpus:
    """The series of a training."""

    settings: SeriesData
    digest: str  # of the contents and of how they are read
    series: RegularSeries
    columns: tuple[Column, ...]  # where its variables are in the table
    time: Column
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return ", ".join(self.settings.files)

    def left_out(self) -> list[str]:
        return self.notes

    def check_formats(self, saved: Any) -> None:
        """Tables are read alike, whatever they are called."""

    def dataset(self, encoders: Encoders | None = None) -> SeriesDataset:
        s = self.settings
        period = s.period
        schema = SeriesSchema(s.context, s.horizon, s.strategy, s.level, period, s.shares)
        if period is None:
            training = self.series.values[: schema.bounds(len(self.series.values))[1]]
            schema = replace(schema, period=find_period(training) or 1)
        return cached_series(self.series, self.digest, schema, encoders)


def open_corpus(settings: SeriesData) -> SeriesCorpus:
    """Read the series of the settings."""
    if not settings.files:
        raise ConfigurationError("data.files names no file; give a table of numbers, such as series.csv")
    if len(settings.files) > 1:
        raise ConfigurationError(
            f"a forecaster learns one series, got {len(settings.files)} files; make them columns of one file"
        )
    (name,) = settings.files
    if name == STANDARD_INPUT:
        raise DataError("a training reads its series more than once, so not from standard input; save it to a file")
    Source(name)
    if not Path(name).exists():
        raise DataError(f"{name} does not exist; check the path")
    if Path(name).is_dir():
        raise DataError(f"{name} is a directory; name the file in it")
    read = read_table(settings)
    how = settings.model_dump(mode="json", include=READING)
    digest = hashlib.sha256(f"{file_digest(Path(name))}\n{json.dumps(how, sort_keys=True)}".encode()).hexdigest()
    series, notes = make_regular(read, settings)
    columns: tuple[Column, ...] = read.names if read.named else tuple(place + 1 for place in read.places)
    time: Column = NO_TIME if read.time is None else read.time if read.named else (read.time_place or 0) + 1
    return SeriesCorpus(settings, digest, series, columns, time, notes)


def read_table(settings: SeriesData) -> Series:
    """The rows of the file, with NaN where a value is missing."""
    layout = SeriesLayout(
        None if settings.columns is None else tuple(map(_zero_based, settings.columns)),
        None if settings.time == NO_TIME else AUTOMATIC if settings.time == AUTOMATIC else _zero_based(settings.time),
        settings.header,
        missing=True,
        decimal=settings.decimal,
    )
    name = settings.files[0]
    found = read_series(name, encoding=settings.encoding, on_bad_line=settings.on_bad_line, layout=layout)
    if found.problems and found.time is None:
        raise DataError(
            f"{found.problems.lines()[1].strip()}; without times a line cannot be skipped: it would be a gap"
        )
    return found


def _zero_based(column: Column) -> Column:
    return column - 1 if isinstance(column, int) else column


def make_regular(read: Series, settings: SeriesData) -> tuple[RegularSeries, list[str]]:
    """A row for every moment and a value in every cell, and what was done for it; an error where nothing may be."""
    file, notes = Source(settings.files[0]).shown, list(read.problems.lines())
    for name, column in zip(read.names, read.values.T, strict=True):
        if np.isnan(column).all():
            raise DataError(f"{file}: column '{name}' has no value; name the other columns with --columns")
    place = [f"{file}, line {line}" for line in read.lines]
    timeline, numbers = Timeline(), np.arange(len(read.values))
    if read.time is not None:
        timeline, numbers = regular(read.moments, read.style, place)
    values, absent = _on_grid(read.values, numbers, place, timeline, settings)
    missing = np.isnan(values)
    if missing.any():
        if settings.fill is None:
            raise _missing_value(read, place, timeline, numbers)
        period = settings.period
        if settings.fill == "seasonal" and period is None:
            period = find_period(fill_missing(values, "linear"))
            if period is None:
                raise DataError(
                    f"{file}: no season was found to fill with; use --fill linear, or --set data.period=..."
                )
        values = fill_missing(values, settings.fill, period)
        rows = f"; {counted(absent, 'whole row')} among them" if absent else ""
        notes.append(f"{counted(int(missing.sum()), 'missing value')} filled ({settings.fill}{rows})")
    return RegularSeries(read.names, values, timeline, read.time, int(missing.sum())), notes


def _on_grid(
    values: Array, numbers: Array, place: list[str], timeline: Timeline, settings: SeriesData
) -> tuple[Array, int]:
    """The rows at their moments, NaN at moments without a row, and how many such moments there are."""
    absent = int(numbers[-1]) + 1 - len(numbers)
    if not absent:
        return values, 0
    i = int(np.argmax(np.diff(numbers) > 1)) + 1
    gap, before = int(numbers[i] - numbers[i - 1]) - 1, timeline.label(int(numbers[i - 1]))
    if settings.fill is None:
        others = f" ({absent:,} in all)" if absent > gap else ""
        raise DataError(
            f"{place[i]}: {timeline.label(int(numbers[i]))} comes after {before}, so {counted(gap, 'row')} "
            f"{'is' if gap == 1 else 'are'} missing between them{others}: rows are {timeline.spacing()}. Add them, or "
            "fill them with --fill linear (or previous, seasonal)"
        )
    if absent > len(numbers):
        raise DataError(
            f"{place[i]}: {absent:,} rows are missing and {len(numbers):,} are there, too few to fill the gaps; is the "
            "time column right?"
        )
    grid = np.full((len(numbers) + absent, values.shape[1]), np.nan)
    grid[numbers] = values
    return grid, absent


def _missing_value(read: Series, place: list[str], timeline: Timeline, numbers: Array) -> DataError:
    rows, columns = np.nonzero(np.isnan(read.values))
    row, count = int(rows[0]), len(rows)
    when = f" ({timeline.label(int(numbers[row]))})" if read.time is not None else ""
    others = f", and {counted(count - 1, 'other')} in the file" if count > 1 else ""
    return DataError(
        f"{place[row]}{when}: column '{read.names[int(columns[0])]}' has no value{others}; fill missing values with "
        "--fill linear (or previous, seasonal), or complete the file"
    )
