"""JSON Lines: one object a line, the fields under their keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dragoman.data.readers.layout import Format, Layout, Unusable, as_text, dig, named_like
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Source
from dragoman.errors import ConfigurationError


def read_jsonl(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """The keys are the chosen columns, or called like the fields: {"source": "Go.", "target": "Ve."}."""
    keys = _keys(layout, source)
    for line, text in source.lines(problems):
        try:
            values = _values(text, keys, layout)
        except Unusable as why:
            problems.add(why.reason, source.shown, line, text, why.detail)
            continue
        if record := make_record(layout.joined(values), layout.fields, source.shown, line, problems):
            yield record


def _keys(layout: Layout, source: Source) -> list[str]:
    keys = [key for key in layout.columns or layout.fields if isinstance(key, str)]
    if len(keys) != len(layout.fields_of_columns):
        raise ConfigurationError(f"{source.shown}: JSON has no column numbers; name the keys instead")
    return keys


def _values(text: str, keys: Sequence[str], layout: Layout) -> list[str]:
    if not text.strip():
        raise Unusable("an empty line")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of too many digits
        raise Unusable("not JSON", str(error)) from None
    if not isinstance(found, dict):
        raise Unusable("not a JSON object")
    if layout.columns is None:
        keys = named_like(keys, found) or keys
    try:
        return [as_text(dig(found, key), field) for key, field in zip(keys, layout.fields_of_columns, strict=True)]
    except KeyError as missing:
        raise Unusable(f"no key {missing}", f"expected {', '.join(keys)}") from None


JSONL = Format("jsonl", ("jsonl", "ndjson"), ("pairs", "text", "labelled"), read_jsonl)
