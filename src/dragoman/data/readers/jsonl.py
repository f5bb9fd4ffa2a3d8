"""Read JSON Lines: one object per line, the fields under their keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dragoman.data.readers.conll import MOST_WORDS, SEPARATOR
from dragoman.data.readers.layout import Format, Layout, Unusable, as_text, get_nested, named_like
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Source
from dragoman.errors import ConfigurationError


def read_jsonl(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read the chosen keys, by default those named like the fields: {"source": "Go.", "target": "Ve."}."""
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
        raise ConfigurationError(f"{source.shown}: JSON has no column numbers; give the keys instead")
    return keys


def _values(text: str, keys: Sequence[str], layout: Layout) -> list[str]:
    if not text.strip():
        raise Unusable("an empty line")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also for numbers with too many digits
        raise Unusable("not JSON", str(error)) from None
    if not isinstance(found, dict):
        raise Unusable("not a JSON object")
    if layout.columns is None:
        keys = named_like(keys, found) or keys
    try:
        if layout.kind == "tagged":
            return _tagged(*(get_nested(found, key) for key in keys))
        return [
            as_text(get_nested(found, key), field) for key, field in zip(keys, layout.fields_of_columns, strict=True)
        ]
    except KeyError as missing:
        raise Unusable(f"no key {missing}", f"expected {', '.join(keys)}") from None


def _tagged(words: object, tags: object) -> list[str]:
    """The words of a sentence and their tags: two lists of as many strings."""
    for name, values in (("words", words), ("tags", tags)):
        if not isinstance(values, list) or not all(isinstance(value, str) and value.split() for value in values):
            raise Unusable(f"{name} are not a list of strings", "each with at least one letter or mark")
    assert isinstance(words, list)
    assert isinstance(tags, list)
    if len(words) != len(tags):
        raise Unusable("not as many words as tags", f"{len(words)} words, {len(tags)} tags")
    if len(words) > MOST_WORDS:
        raise Unusable(f"a sentence of more than {MOST_WORDS:,} words")
    return [SEPARATOR.join(" ".join(value.split()) for value in values) for values in (words, tags)]


JSONL = Format("jsonl", ("jsonl", "ndjson"), ("pairs", "text", "labelled", "tagged"), read_jsonl)
