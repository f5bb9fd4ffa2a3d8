"""Read plain text: one text per line, for language modelling."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.data.readers.layout import Format, Layout
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Source


def read_plain(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read the lines of a file; blank lines are skipped."""
    for line, text in source.lines(problems):
        if text.strip() and (record := make_record([text], layout.fields, source.shown, line, problems)):
            yield record


PLAIN = Format("plain", ("txt", "text"), ("text",), read_plain)
