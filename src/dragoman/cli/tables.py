"""Tables that `dragoman translate` and `predict` read: the texts of a column, and the same rows with their results."""

from __future__ import annotations

import csv
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from dragoman.data.output import cell
from dragoman.data.readers.header import named_sides
from dragoman.data.readers.jsonl import parse_object
from dragoman.data.readers.layout import Layout, Unusable, as_text, get_nested
from dragoman.data.readers.parquet import parquet_rows
from dragoman.data.readers.table import csv_rows, find_columns, header_note, tsv_rows
from dragoman.data.records import ReadErrors, clean, fault_of
from dragoman.data.source import Source
from dragoman.errors import ConfigurationError

DELIMITED = {"tsv": "\t", "csv": ","}
Row = list[str] | Mapping[str, Any] | None  # the cells, or the object; None of a line that cannot be read


class Table:
    """The texts of one column. A row waits until its result is written.

    column  by number from 0 or by name; None: the one that the header calls `key` or the source, else the first
    header  whether the first line is a header; None: if the column is given by name, or the line names columns
    """

    def __init__(
        self, source: Source, format: str, column: int | str | None, header: bool | None, key: str, problems: ReadErrors
    ) -> None:
        self.source, self.format, self.column, self.key = source, format, column, key
        self.header, self.problems = header, problems
        self.names: list[str] | None = None  # of the header
        self.waiting: deque[Row] = deque()
        self._width = 0

    def texts(self) -> Iterator[str]:
        """The text of each row as it stands there; "" of an empty cell, and of a line that is skipped."""
        bad = len(self.problems)
        for row, text in self._rows():
            for _ in range(len(self.problems) - bad):
                self.waiting.append(None)
                yield ""
            bad = len(self.problems)
            if row is not None:
                self.waiting.append(row)
                yield text

    def _rows(self) -> Iterator[tuple[Row, str]]:
        """Rows with their texts; a last one without either, after which all bad lines are counted."""
        yield from {"jsonl": self._objects, "parquet": self._records}.get(self.format, self._cells)()
        yield None, ""

    def _cells(self) -> Iterator[tuple[Row, str]]:
        read = csv_rows if self.format == "csv" else tsv_rows
        place: int | None = None
        for line, row in read(self.source, self.problems):
            blank = not "".join(row).strip()
            if place is None and (self.header or not blank):
                place, is_header = self._first(line, row)
                self._width = len(row)
                if is_header:
                    self.names = row
                    continue
            if blank:
                yield row, ""
                continue
            place = place or 0
            if place >= len(row):
                what = f"{len(row)}, expected at least {place + 1}"
                self.problems.add("wrong number of columns", self.source.shown, line, "\t".join(row), what)
            elif self._usable(text := row[place], line):
                yield row, text

    def _first(self, line: int, row: list[str]) -> tuple[int, bool]:
        """The column that is read, by the first row, and whether that is a header."""
        by_name = isinstance(self.column, str)
        named = None if by_name or line != 1 or self.header is False else self._named([clean(name) for name in row])
        header = self.header if self.header is not None else by_name or named is not None
        found = find_columns(None if self.column is None else [self.column], line, row, header, self.source)
        place = found[0] if found else named or 0
        if self.header is None and named is not None and place < len(row):
            self.problems.note(header_note(self.source.shown, row, [place]))
        return place, header

    def _named(self, names: list[str]) -> int | None:
        """The column of the texts, if these are names of columns."""
        if self.key in names:
            return names.index(self.key)
        sides = named_sides(names)
        return None if sides is None else sides[0]

    def _objects(self) -> Iterator[tuple[Row, str]]:
        key = self.key if self.column is None else self.column
        if isinstance(key, int):
            raise ConfigurationError(f"{self.source.shown}: JSON has no column numbers; give the keys instead")
        for line, text in self.source.lines(self.problems):
            try:
                found = parse_object(text)
                value = as_text(get_nested(found, key), "text")
            except KeyError:
                self.problems.add(f"no key '{key}'", self.source.shown, line, text)
            except Unusable as why:
                self.problems.add(why.reason, self.source.shown, line, text, why.detail)
            else:
                if self._usable(value, line):
                    yield found, value

    def _records(self) -> Iterator[tuple[Row, str]]:
        layout = Layout("text", None if self.column is None else (self.column,))
        for line, (value,) in enumerate(parquet_rows(self.source, layout), start=1):
            try:
                text = as_text(value, "text")
            except Unusable as why:
                self.problems.add(why.reason, self.source.shown, line, repr(value), why.detail)
                continue
            if self._usable(text, line):
                yield [text], text

    def _usable(self, text: str, line: int) -> bool:
        if fault := fault_of(text):
            self.problems.add(fault, self.source.shown, line, text)
        return not fault

    # The rows again

    def writes(self, format: str) -> bool:
        """Whether the rows can be written in a format with columns more."""
        return self.format == format or {self.format, format} <= DELIMITED.keys()

    def writer(self, file: TextIO, format: str, names: Sequence[str]) -> Callable[[Sequence[str]], None]:
        """A function that writes the next row with values in new columns, of these names if there is a header."""
        begun = False

        def write(values: Sequence[str]) -> None:
            nonlocal begun
            row = self.waiting.popleft()
            if not begun and self.names is not None:
                taken = {clean(name) for name in self.names}
                self._write(file, format, [*self.names, *(_free(name, taken) for name in names)])
            begun = True
            added = [*values, *[""] * len(names)][: len(names)]
            if isinstance(row, Mapping):
                fresh = [_free(name, set(row)) for name in names]
                file.write(json.dumps({**row, **dict(zip(fresh, added, strict=True))}, ensure_ascii=False) + "\n")
            elif row is not None:
                self._write(file, format, [*row, *[""] * (self._width - len(row)), *added])

        return write

    def _write(self, file: TextIO, format: str, cells: list[str]) -> None:
        if format == "csv":
            csv.writer(file, lineterminator="\n").writerow(cells)
        else:
            file.write("\t".join(map(cell, cells)) + "\n")


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_new"
    return name
