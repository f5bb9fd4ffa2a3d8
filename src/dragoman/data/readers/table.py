"""Read TSV and CSV tables: one record per row."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from dragoman.data.readers.header import named_sides
from dragoman.data.readers.layout import Format, Layout, named_like
from dragoman.data.records import ReadErrors, Record, clean, make_record
from dragoman.data.source import LONGEST_LINE, Line, Source
from dragoman.errors import DataError

ROW_LINES = 1000  # lines of one CSV row; more mean that a quote was never closed

Row = tuple[int, list[str]]


class NamedRow(NamedTuple):
    """A row of a table, the columns of its fields, and its record; without one it is the header or a bad row."""

    cells: list[str]
    columns: list[int]
    header: bool
    record: Record | None


Columns = Sequence[int | str] | None


def read_tsv(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read fields separated by tabs, without quoting: sentences contain commas and quotes, but no tabs."""
    return (row.record for row in named_rows(tsv_rows(source, problems), source, layout, problems) if row.record)


def read_csv(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read fields separated by commas; a quoted field may contain commas, doubled quotes and line breaks."""
    return (row.record for row in named_rows(csv_rows(source, problems), source, layout, problems) if row.record)


def tsv_rows(source: Source, problems: ReadErrors) -> Iterator[Row]:
    return ((number, text.split("\t")) for number, text in source.lines(problems))


def csv_rows(source: Source, problems: ReadErrors, delimiter: str | None = ",") -> Iterator[Row]:
    """Yield rows with the line they begin on. After a broken row, continue at the line below its first.

    delimiter  between the fields; None: a tab, else a semicolon, else a comma, as the first line has it
    """
    lines = source.physical_lines()
    if delimiter is None:
        first = next(lines)
        delimiter = next((mark for mark in "\t;" if mark in first.text), ",")
        lines = chain([first], lines)
    feed = _RowFeed(lines)
    reader = csv.reader(feed, strict=True, delimiter=delimiter)
    while True:
        feed.begin_row()
        broken = ""
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            broken, reader = str(error), csv.reader(feed, strict=True, delimiter=delimiter)
        start, *others = feed.taken
        bad = start if start.fault else next((line for line in others if line.fault), None)
        if broken and not start.fault:
            problems.add("broken quoting", source.shown, start.number, start.text, broken)
        elif bad is not None:
            problems.add(bad.fault, source.shown, bad.number, bad.text, bad.advice)
        else:
            yield start.number, row
        if broken:
            feed.repeat(others)


class _RowFeed:
    """Feed lines to csv.reader and remember those of the current row."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._again: deque[Line] = deque()
        self.taken: list[Line] = []
        self._size = 0

    def begin_row(self) -> None:
        self.taken, self._size = [], 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if len(self.taken) == ROW_LINES or self._size > LONGEST_LINE:
            raise StopIteration  # in the middle of a row: an error of csv.reader
        line = self._again.popleft() if self._again else next(self._lines)
        self.taken.append(line)
        self._size += len(line.text)
        return line.text.replace("\0", "\ufffd") + "\n"

    def repeat(self, lines: Sequence[Line]) -> None:
        self._again.extendleft(reversed(lines))


def named_rows(rows: Iterator[Row], source: Source, layout: Layout, problems: ReadErrors) -> Iterator[NamedRow]:
    """Make records of rows, and yield them with their rows.

    Without chosen columns, the first row sets the number of columns.
    """
    file, fields, header = source.shown, layout.fields, layout.has_header
    columns: list[int] = []
    needed = width = rows_below = 0
    for line, row in rows:
        blank = len(row) < 2 and not "".join(row).strip()
        if not columns and (header or not blank):
            found = _named_columns(line, row, layout)
            if found and not header:
                header = True
                problems.note(header_note(file, row, found))
            columns = found or find_columns(layout.columns, line, row, header, source) or list(range(len(fields)))
            needed, width = max(columns) + 1, len(row)
            if header:
                yield NamedRow(row, columns, True, None)
                continue
        rows_below += 1
        if blank:
            problems.add("an empty line", file, line)
            continue
        if len(row) < needed or (len(row) != width and layout.columns is None):
            problems.add("wrong number of columns", file, line, "\t".join(row), _expected(row, needed, width))
            continue
        values = layout.joined([row[column] for column in columns])
        yield NamedRow(row, columns, False, make_record(values, fields, file, line, problems))
    if header and not rows_below and not problems:
        raise DataError(f"{file} has a header but no rows; expected at least one")


def _named_columns(line: int, row: Sequence[str], layout: Layout) -> list[int] | None:
    """The columns of the fields that the first line names, if it is a header or may be one."""
    names = [clean(name) for name in row]
    by_number = [column for column in layout.columns or () if isinstance(column, int)]
    if by_number != list(layout.columns or ()) or line != 1 or layout.header is False:
        return None
    if layout.kind == "pairs":
        return named_sides(names, by_number or None)
    named = named_like(layout.fields, names) if layout.header and not by_number else None
    return None if named is None else [names.index(name) for name in named]


def header_note(file: str, row: Sequence[str], columns: Sequence[int]) -> str:
    """What to tell of a header that was recognised."""
    named = " and ".join(f"'{clean(row[column])}'" for column in columns)
    are = "is the column" if len(columns) == 1 else "are the columns"
    return f"{file}: the first line is a header, so {named} {are} read (--no-header reads it as a row)"


def _expected(row: Sequence[str], needed: int, width: int) -> str:
    if len(row) < needed:
        return f"{len(row)}, expected at least {needed}"
    return f"{len(row)}, but the first line has {width}; choose columns to ignore the others"


def find_columns(columns: Columns, line: int, first: Sequence[str], header: bool, source: Source) -> list[int] | None:
    """Return column numbers, looking up names in the header; None if no columns were chosen."""
    if header and line != 1:
        raise DataError(f"{source.shown}, line 1: the header cannot be read, so the columns have no names")
    if columns is None:
        return None
    names = [clean(name) for name in first]
    return [column if isinstance(column, int) else _named(clean(column), names, header, source) for column in columns]


def _named(column: str, names: Sequence[str], header: bool, source: Source) -> int:
    if not header:
        raise DataError(f"{source.shown}: column '{column}' is given by name, but there is no header")
    if names.count(column) != 1:
        many = "several columns" if column in names else "no column"
        raise DataError(f"{source.shown} has {many} '{column}'; its header names {list_names(names)}")
    return names.index(column)


def list_names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown


TSV = Format("tsv", ("tsv", "tab", "txt"), ("pairs", "text", "labelled", "captions"), read_tsv)
CSV = Format("csv", ("csv",), ("pairs", "text", "labelled"), read_csv)
