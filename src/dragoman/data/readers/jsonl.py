"""Read JSON Lines: one object per line, the fields under their keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dragoman.data.readers.conll import MOST_WORDS, SEPARATOR
from dragoman.data.readers.layout import Format, Layout, Unusable, as_text, get_nested, named_like
from dragoman.data.readers.suggestions import Suggestions, directions, languages_under
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Source
from dragoman.errors import ConfigurationError


def read_jsonl(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read the chosen keys, by default those named like the fields: {"source": "Go.", "target": "Ve."}.

    Suggestions that a server has stored are recognised, unless keys are chosen.
    """
    return (row.record for row in named_objects(source, layout, problems) if row.record)


class NamedObject(NamedTuple):
    """An object as it is written, the keys of its fields, and its record, if it has one."""

    text: str
    found: Mapping[str, Any]
    keys: Sequence[str]
    record: Record | None


def named_objects(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[NamedObject]:
    """Make records of the lines, and yield them with their objects."""
    keys = _keys(layout, source)
    by_default = layout.kind == "pairs" and layout.columns is None
    suggestions = Suggestions(layout.languages)
    own: Sequence[str]
    for line, text in source.lines(problems):
        try:
            found = parse_object(text)
            if by_default and (languages := directions(found)):
                pair = suggestions.pair(found, languages)
                if pair is None:
                    problems.skip("other languages", source.shown, line, found["q"])
                    continue
                values, own = pair, ["q", "s"] if pair[0] is found["q"] else ["s", "q"]
            else:
                if by_default:
                    _refuse_codes(found)
                values, own = _values(found, keys, layout)
        except Unusable as why:
            problems.add(why.reason, source.shown, line, text, why.detail)
            continue
        record = make_record(layout.joined(values), layout.fields, source.shown, line, problems)
        yield NamedObject(text, found, own, record)
    if note := suggestions.note(source.shown):
        problems.note(note)


def suggested_languages(source: Source) -> tuple[str, str] | None:
    """The languages of the first line, if it is a suggestion."""
    for _, text in source.lines(ReadErrors("skip")):
        try:
            return directions(parse_object(text))
        except Unusable:
            return None
    return None


def _refuse_codes(found: Mapping[str, Any]) -> None:
    """Refuse languages where texts are expected, beside other texts."""
    others = [key for key, value in found.items() if key not in ("source", "target") and isinstance(value, str)]
    if len(others) > 1 and languages_under(found):
        detail = f"there are {', '.join(map(repr, others[:6]))}; name the keys of the texts with --columns"
        raise Unusable("source and target are codes of languages", detail)


def _keys(layout: Layout, source: Source) -> list[str]:
    keys = [key for key in layout.columns or layout.fields if isinstance(key, str)]
    if len(keys) != len(layout.fields_of_columns):
        raise ConfigurationError(f"{source.shown}: JSON has no column numbers; give the keys instead")
    return keys


def parse_object(text: str) -> Mapping[str, Any]:
    if not text.strip():
        raise Unusable("an empty line")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also for numbers with too many digits
        raise Unusable("not JSON", str(error)) from None
    if not isinstance(found, dict):
        raise Unusable("not a JSON object")
    return found


def _values(found: Mapping[str, Any], keys: Sequence[str], layout: Layout) -> tuple[list[str], Sequence[str]]:
    """The values of the fields, and the keys they stand under."""
    if layout.columns is None:
        keys = named_like(keys, found) or keys
    try:
        if layout.kind == "tagged":
            return _tagged(*(get_nested(found, key) for key in keys)), keys
        fields = zip(keys, layout.fields_of_columns, strict=True)
        return [as_text(get_nested(found, key), field) for key, field in fields], keys
    except KeyError as missing:
        raise Unusable(f"no key {missing}", f"expected {', '.join(keys)}{_advice(found, layout)}") from None


def _advice(found: Mapping[str, Any], layout: Layout) -> str:
    """How to choose other keys, where none were chosen."""
    keys = ",".join(list(found)[: len(layout.fields)])
    return f"; name others with --columns {keys}" if layout.kind == "pairs" and layout.columns is None and keys else ""


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


JSONL = Format("jsonl", ("jsonl", "ndjson"), ("pairs", "text", "labelled", "tagged"), read_jsonl, suggested_languages)
