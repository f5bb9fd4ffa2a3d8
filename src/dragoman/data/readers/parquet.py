"""Read Parquet files with pyarrow: one record per row, in bounded memory."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from dragoman.data.extras import require_extra
from dragoman.data.readers.layout import Format, Layout, Unusable, as_text, get_nested, named_like
from dragoman.data.readers.table import list_names
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import STANDARD_INPUT, Source
from dragoman.errors import DataError

BATCH_ROWS = 1024


@dataclass(frozen=True)
class RowGroups(Source):
    """Some row groups of a Parquet file, and the number of rows before them."""

    groups: tuple[int, ...] = ()
    before: int = 0


def row_groups(source: Source, rows: int) -> list[RowGroups]:
    """Cut a file at its row groups into pieces of at least so many rows; an empty one is one piece."""
    parquet = require_extra("pyarrow.parquet", source.shown, "Parquet")
    pyarrow = require_extra("pyarrow", source.shown, "Parquet")
    with source.open() as stream:
        try:
            about = parquet.ParquetFile(stream).metadata
            sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
        except (pyarrow.ArrowException, OSError, MemoryError) as error:
            raise DataError(f"{source.shown} cannot be read as Parquet: {str(error)[:200]}") from None
    found, first, before, inside = [], 0, 0, 0
    for i, size in enumerate(sizes):
        inside += size
        if inside >= rows or i + 1 == len(sizes):
            found.append(RowGroups(source.name, source.encoding, tuple(range(first, i + 1)), before))
            first, before, inside = i + 1, before + inside, 0
    return found or [RowGroups(source.name, source.encoding)]


def read_parquet(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read the chosen columns, by name or position. The line of a record is its row, counted from 1."""
    first = row = source.before if isinstance(source, RowGroups) else 0
    for values in parquet_rows(source, layout):
        row += 1
        try:
            texts = [as_text(value, field) for value, field in zip(values, layout.fields_of_columns, strict=True)]
        except Unusable as why:
            problems.add(why.reason, source.shown, row, repr(values), why.detail)
            continue
        if record := make_record(layout.joined(texts), layout.fields, source.shown, row, problems):
            yield record
    if row == first:
        raise DataError(f"{source.shown} is empty; expected at least one row")


def parquet_head(source: Source, rows: int) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns, and the values of the first rows."""
    parquet = require_extra("pyarrow.parquet", source.shown, "Parquet")
    pyarrow = require_extra("pyarrow", source.shown, "Parquet")
    with source.open() as stream:
        try:
            file = parquet.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 16)
            names = list(file.schema_arrow.names)
            batch = next(file.iter_batches(rows, use_threads=False), None)
        except (pyarrow.ArrowException, OSError, UnicodeError, MemoryError) as error:
            raise DataError(f"{source.shown} cannot be read as Parquet: {str(error)[:200]}") from None
    return names, [] if batch is None else [[row[name] for name in names] for row in batch.to_pylist()]


def parquet_rows(source: Source, layout: Layout) -> Iterator[tuple[Any, ...]]:
    """Yield the values of the chosen columns; errors of pyarrow become a DataError."""
    if source.name == STANDARD_INPUT or source.compression:
        raise DataError(f"{source.shown}: Parquet needs random access; give an uncompressed file by name")
    pyarrow = require_extra("pyarrow", source.shown, "Parquet")
    parquet = require_extra("pyarrow.parquet", source.shown, "Parquet")
    with source.open() as stream:
        if not stream.seek(0, io.SEEK_END):
            raise DataError(f"{source.shown} is empty; expected a Parquet file")
        try:
            file = parquet.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 16)
            names = _find_columns(file.schema_arrow.names, source, layout)
            groups = source.groups if isinstance(source, RowGroups) else range(file.num_row_groups)
            for batch in file.iter_batches(BATCH_ROWS, list(groups), sorted(set(names)), use_threads=False):
                yield from zip(*[_column(batch, name) for name in names], strict=True)
        except (pyarrow.ArrowException, OSError, UnicodeError, KeyError, MemoryError) as error:
            raise DataError(f"{source.shown} cannot be read as Parquet: {str(error)[:200]}") from None


def _column(batch: Any, name: str) -> list[Any]:
    if name in batch.schema.names:
        return cast(list[Any], batch.column(name).to_pylist())
    top, _, rest = name.partition(".")
    return [None if value is None else get_nested(value, rest) for value in batch.column(top).to_pylist()]


def _find_columns(names: Sequence[str], source: Source, layout: Layout) -> list[str]:
    """Return the names of the chosen columns; by default those named like the fields, or the first ones."""
    chosen: Sequence[int | str] = layout.columns or named_like(layout.fields, names) or range(len(layout.fields))
    found = []
    for column in chosen:
        name = names[column] if isinstance(column, int) and column < len(names) else column
        if isinstance(name, int) or (name not in names and name.partition(".")[0] not in names):
            raise DataError(f"{source.shown} has no column {column!r}; its columns are {list_names(names)}")
        found.append(name)
    return found


PARQUET = Format("parquet", ("parquet", "pq"), ("pairs", "text", "labelled"), read_parquet)
