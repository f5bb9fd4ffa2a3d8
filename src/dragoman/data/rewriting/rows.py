"""Rewrite tables and JSON Lines row by row; several files become one."""

from __future__ import annotations

import copy
import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from dragoman.data.readers.jsonl import named_objects
from dragoman.data.readers.layout import Layout
from dragoman.data.readers.table import NamedRow, csv_rows, named_rows, tsv_rows
from dragoman.data.records import ReadErrors
from dragoman.data.rewriting.edits import Edits
from dragoman.data.source import Source


def rewrite_tsv(sources: Sequence[Source], layout: Layout, edits: Edits, out: BinaryIO) -> None:
    for source in sources:
        problems = ReadErrors("skip")
        rows = named_rows(tsv_rows(source, problems), source, layout, problems)
        for cells in _kept(rows, source, source is sources[0], edits):
            out.write(("\t".join(cells) + "\n").encode())


def rewrite_csv(sources: Sequence[Source], layout: Layout, edits: Edits, out: BinaryIO) -> None:
    text = io.TextIOWrapper(out, "utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    for source in sources:
        problems = ReadErrors("skip")
        rows = named_rows(csv_rows(source, problems), source, layout, problems)
        writer.writerows(_kept(rows, source, source is sources[0], edits))
    text.detach()


def _kept(rows: Iterator[NamedRow], source: Source, first: bool, edits: Edits) -> Iterator[list[str]]:
    """The rows that are kept, mended, below the header of the first file."""
    for row in rows:
        if row.header and first:
            yield row.cells
        if row.record is None or not edits.keep(1):
            continue
        cells = list(row.cells)
        mended = edits.mend_sides([cells[column] for column in row.columns])
        for column, text in zip(row.columns, mended, strict=True):
            cells[column] = text
        edits.done()
        yield cells


def rewrite_jsonl(sources: Sequence[Source], layout: Layout, edits: Edits, out: BinaryIO) -> None:
    for source in sources:
        for row in named_objects(source, layout, ReadErrors("skip")):
            if row.record is None or not edits.keep(1):
                continue
            places = [_place(row.found, key) for key in row.keys]
            mended = edits.mend_sides([get() for get, _ in places])
            text = row.text
            if edits.done():
                found = copy.deepcopy(dict(row.found))
                for key, value in zip(row.keys, mended, strict=True):
                    _place(found, key)[1](value)
                text = json.dumps(found, ensure_ascii=False)
            out.write((text + "\n").encode())


def _place(found: Mapping[str, Any], path: str) -> tuple[Callable[[], str], Callable[[str], None]]:
    """Read and write the value under a name, or a dotted name in nested objects."""
    inside: Any = found
    while path not in inside:
        name, _, path = path.partition(".")
        inside = inside[name]

    def put(value: str) -> None:
        inside[path] = value

    return lambda: inside[path], put
