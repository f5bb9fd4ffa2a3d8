"""Read labelled text: a label, a tab, and the text, for classification."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.data.readers.layout import Format, Layout
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Source


def read_labelled(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Split each line at its first tab; other tabs belong to the text. (The format tsv has columns.)"""
    for line, whole in source.lines(problems):
        label, tab, text = whole.partition("\t")
        if not whole.strip():
            problems.add("an empty line", source.shown, line)
        elif not tab:
            problems.add("no tab between label and text", source.shown, line, whole)
        elif record := make_record([label, text], layout.fields, source.shown, line, problems):
            yield record


LABELLED = Format("labelled", ("labelled",), ("labelled",), read_labelled)
