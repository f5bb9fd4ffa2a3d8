"""Read time series: a CSV file of numbers, a row per moment and a column per variable."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.data.readers.layout import Unusable, check_columns
from dragoman.data.readers.table import Row, csv_rows, find_columns
from dragoman.data.records import OnBadLine, ReadErrors, clean
from dragoman.data.source import Source
from dragoman.errors import DataError
from dragoman.graph import Array


@dataclass(frozen=True)
class Series:
    """p variables at T moments: their names, values float64 [T, p], and the rows that were skipped."""

    names: tuple[str, ...]
    values: Array
    problems: ReadErrors


def read_series(
    name: str,
    columns: Sequence[int | str] | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    on_bad_line: OnBadLine = "error",
) -> Series:
    """Read the numbers of a CSV file.

    columns  the variables, by number from 0 or by name in the header; None: all columns
    header   whether the first line is a header; None: it is if it has no number
    A row with a cell that is not a finite number is bad; if bad lines are skipped, the series does not show the gap.
    """
    chosen = None if columns is None else tuple(columns)
    check_columns(chosen)
    source, problems = Source(str(name), encoding), ReadErrors(on_bad_line)
    rows = csv_rows(source, problems)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{source.shown} has no usable row; {'; '.join(problems.lines()[:2])}")
    names, places = _variables(first, chosen, header, source)
    numbers = array("d")
    for line, row in _below(first, rows, named=names is not None):
        try:
            numbers.extend(_numbers(row, places, names, len(first[1])))
        except Unusable as why:
            problems.add(why.reason, source.shown, line, ",".join(row), why.detail)
    if not numbers and not problems:
        raise DataError(f"{source.shown} has a header and nothing below it; expected at least one row of numbers")
    values = np.frombuffer(numbers, dtype=np.float64).reshape(-1, len(places)).copy()
    return Series(names or tuple(f"column {place}" for place in places), values, problems)


def _variables(
    first: Row, columns: tuple[int | str, ...] | None, header: bool | None, source: Source
) -> tuple[tuple[str, ...] | None, list[int]]:
    """Return the names of the variables, if the first line is a header, and their columns."""
    line, row = first
    named = not any(_is_number(cell) for cell in row) if header is None else header
    places = find_columns(columns, line, row, named, source) or list(range(len(row)))
    if not places or max(places) >= len(row):
        raise DataError(
            f"{source.shown}, line {line}: {len(row)} columns, expected at least {max(places, default=0) + 1}"
        )
    return (tuple(clean(row[place]) for place in places) if named else None), places


def _below(first: Row, rows: Iterator[Row], named: bool) -> Iterator[Row]:
    if not named:
        yield first
    yield from rows


def _numbers(row: Sequence[str], places: Sequence[int], names: Sequence[str] | None, width: int) -> list[float]:
    if not row or row == [""]:
        raise Unusable("an empty line")
    if len(row) != width:
        raise Unusable("wrong number of columns", f"{len(row)}, but the first line has {width}")
    numbers = []
    for i, place in enumerate(places):
        where = f"column {place}" + (f", {names[i]}" if names else "")
        if not _is_number(row[place]):
            raise Unusable("not a number", f"{where}: {row[place][:40]!r}")
        number = float(row[place])
        if not math.isfinite(number):
            raise Unusable("not a finite number", f"{where}: {row[place][:40]!r}")
        numbers.append(number)
    return numbers


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number: 1, -2.5, 3e-4; also nan and inf, which get their own error."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
