"""Read time series: a table of numbers, a row per moment and a column per variable, with or without its times."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dragoman.data.readers.layout import Unusable, check_columns
from dragoman.data.readers.table import Row, csv_rows, find_columns
from dragoman.data.records import OnBadLine, ReadErrors, clean
from dragoman.data.source import Source
from dragoman.data.timeline import NUMBER, Moment, find_style, parse_moment
from dragoman.errors import DataError
from dragoman.graph import Array

MISSING = ("", "na", "n/a", "nan", "null", "none", "?")  # cells without a value, in any case
TIMES = (
    "",
    "time",
    "date",
    "datetime",
    "timestamp",
    "day",
    "week",
    "month",
    "quarter",
    "year",
)  # what times are called
AUTOMATIC = "automatic"
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass(frozen=True)
class SeriesLayout:
    """Where the numbers of a table are.

    columns  the variables, by number from 0 or by name in the header; None: all columns but that of the times
    time     the column of the times; None: there is none; "automatic": the first one if it is named like one (date,
             year ...) or holds dates
    header   whether the first line is a header; None: it is if it has no number and no date
    missing  whether empty cells (also NA, nan, null, ?) are read as NaN; otherwise they are errors
    decimal  the mark of decimals, "." or ","
    """

    columns: tuple[int | str, ...] | None = None
    time: int | str | None = None
    header: bool | None = None
    missing: bool = False
    decimal: str = "."


@dataclass(frozen=True)
class Series:
    """p variables at T moments.

    names, values  of the variables, float64 [T, p]; NaN where a value is missing, if that was allowed
    problems       the rows that were skipped
    lines          [T] the line of each row
    time, moments  the name of the time column and its values, written in `style`; None without one
    named, places, time_place  whether a header names the columns, and their numbers from 0
    """

    names: tuple[str, ...]
    values: Array
    problems: ReadErrors
    lines: Sequence[int] = ()
    time: str | None = None
    moments: list[Moment] = field(default_factory=list)
    style: str = NUMBER
    named: bool = False
    places: Sequence[int] = ()
    time_place: int | None = None


def read_series(
    name: str,
    columns: Sequence[int | str] | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    on_bad_line: OnBadLine = "error",
    layout: SeriesLayout | None = None,
) -> Series:
    """Read the numbers of a table, between commas, semicolons or tabs.

    columns, header  as in `SeriesLayout`, which says more
    A row with a cell that is not a finite number is bad; if bad lines are skipped, the series does not show the gap.
    """
    layout = layout or SeriesLayout(None if columns is None else tuple(columns), header=header)
    check_columns(layout.columns)
    source, problems = Source(str(name), encoding), ReadErrors(on_bad_line)
    rows = csv_rows(source, problems, None)
    first, second = next(rows, None), next(rows, None)
    if first is None:
        raise DataError(f"{source.shown} has no usable row; {'; '.join(problems.lines()[:2])}")
    table = _Table.find(layout, first, second, source)
    if second is not None:
        rows = _before(second, rows)
    return table.read(rows if table.named else _before(first, rows), problems)


def _before(row: Row, rows: Iterator[Row]) -> Iterator[Row]:
    yield row
    yield from rows


@dataclass
class _Table:
    """A table whose columns are found; `width` cells in each row."""

    source: Source
    layout: SeriesLayout
    width: int
    named: bool
    names: tuple[str, ...]
    places: list[int]
    time: int | None
    time_name: str | None
    style: str | None = None

    @classmethod
    def find(cls, layout: SeriesLayout, first: Row, second: Row | None, source: Source) -> _Table:
        """Find the columns by the first line, and what their cells hold by the first line below the header."""
        line, row = first
        named = not any(_holds_value(cell, layout) for cell in row) if layout.header is None else layout.header
        below = second[1] if named and second is not None else [] if named else row
        time = _find_time(layout, line, row, below, named, source)
        places = find_columns(layout.columns, line, row, named, source)
        places = [place for place in range(len(row)) if place != time] if places is None else places
        if not places or max(places) >= len(row):
            raise DataError(
                f"{source.shown}, line {line}: {len(row)} columns, expected at least {max(places, default=1) + 1}"
            )
        names = tuple(clean(row[place]) if named else f"column {place}" for place in places)
        time_name = None if time is None else clean(row[time]) if named else f"column {time}"
        return cls(source, layout, len(row), named, names, places, time, time_name)

    def read(self, rows: Iterator[Row], problems: ReadErrors) -> Series:
        numbers, lines, moments = array("d"), array("q"), list[Moment]()
        for line, row in rows:
            try:
                if not row or row == [""]:
                    raise Unusable("an empty line")
                if len(row) != self.width:
                    raise Unusable("wrong number of columns", f"{len(row)}, but the first line has {self.width}")
                found = [self._number(row, i) for i in range(len(self.places))]
                if self.time is not None:
                    moments.append(self._moment(row[self.time].strip()))
                numbers.extend(found)
                lines.append(line)
            except Unusable as why:
                problems.add(why.reason, self.source.shown, line, ",".join(row), why.detail)
        if not numbers and not problems:
            raise DataError(
                f"{self.source.shown} has a header and nothing below it; expected at least one row of numbers"
            )
        values = np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(self.places)).copy()
        style, places = self.style or NUMBER, self.places
        return Series(
            self.names, values, problems, lines, self.time_name, moments, style, self.named, places, self.time
        )

    def _number(self, row: Sequence[str], i: int) -> float:
        place, cell = self.places[i], row[self.places[i]].strip()
        if self.layout.missing and cell.lower() in MISSING:
            return math.nan
        where = f"column {place}" + (f", {self.names[i]}" if self.named else "")
        number = _number(cell, self.layout.decimal)
        if number is None:
            everything = self.layout.time is not None and self.layout.columns is None
            advice = "; leave out columns without numbers: --columns" if everything else ""
            if DECIMAL_COMMA.fullmatch(cell) and self.layout.decimal == ".":
                advice = "; is its comma a decimal comma? then --set data.decimal=,"
            raise Unusable("not a number", f"{where}: {row[place][:40]!r}{advice}")
        if not math.isfinite(number):
            raise Unusable("not a finite number", f"{where}: {row[place][:40]!r}")
        return number

    def _moment(self, cell: str) -> Moment:
        if self.style is None:
            self.style = find_style(cell)
        found = None if self.style is None else parse_moment(cell, self.style)
        if found is None:
            detail = f"{self.time_name}: {cell[:40]!r}; "
            raise Unusable(
                "not a time that can be read",
                f"{detail}write it as the one in the first row"
                if self.style is not None
                else f"{detail}write dates as 2001-02-28 and times as 2001-02-28 13:00, or numbers",
            )
        return found


def _find_time(
    layout: SeriesLayout, line: int, row: Sequence[str], below: Sequence[str], named: bool, source: Source
) -> int | None:
    if layout.time is None:
        return None
    if layout.time != AUTOMATIC:
        (place,) = find_columns((layout.time,), line, row, named, source) or [0]
        if place >= len(row):
            raise DataError(
                f"{source.shown}, line {line}: {len(row)} columns, so there is no column {place + 1} for times"
            )
        return place
    chosen = find_columns(layout.columns, line, row, named, source) or []
    if 0 in chosen or len(row) < 2:
        return None
    called = named and clean(row[0]).lower() in TIMES
    style = find_style(below[0].strip()) if below else None
    return 0 if called or style not in (None, NUMBER) else None


def _holds_value(cell: str, layout: SeriesLayout) -> bool:
    """Whether a cell of the first line is data: a number or, where times are looked for, a date."""
    if _number(cell.strip(), layout.decimal) is not None:
        return True
    return layout.time is not None and find_style(cell.strip()) is not None


def _number(cell: str, decimal: str) -> float | None:
    """1, -2.5, 3e-4; also nan and inf, which get their own error."""
    if decimal == ",":
        cell = cell.replace(",", ".") if "." not in cell else "1.000,5 has two marks"
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None
