"""The layout of a file, as the user describes it, and the interface of readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dragoman.data.records import ReadErrors, Record
from dragoman.data.source import LONGEST_LINE, Source
from dragoman.errors import ConfigurationError

Kind = Literal["pairs", "text", "labelled", "tagged", "captions"]
FIELDS: dict[Kind, tuple[str, ...]] = {
    "pairs": ("source", "target"),
    "text": ("text",),
    "labelled": ("label", "text"),
    "tagged": ("words", "tags"),  # each between tabs
    "captions": ("image", "caption"),
}
ALSO_CALLED = {"target": "reference"}  # as evaluation sets name it; read if no columns are chosen


@dataclass(frozen=True)
class Layout:
    """The fields of a record and their columns.

    kind       pairs (source, target), text alone, labelled text (label, text), sentences (words, tags), or
               captions (image, caption)
    columns    TSV, CSV and Parquet: the columns of the fields, by number from 0 or by the name in the header; JSON
               Lines: the keys. None: those named like the fields, in JSON Lines, Parquet and tables with a header
               (`reference` is read as `target`); otherwise the first ones. In JSON Lines and Parquet a dotted name
               such as "translation.en" refers to nested objects.
               Of labelled texts the first column is the label, the others are the text, joined by spaces.
               Other columns, such as an attribution, are ignored. If no columns are chosen, every row must have as
               many columns as the first, because an extra tab would shift a sentence unnoticed.
    header     whether the first line of a table is a header; None: it is if columns are given by name, or if it names
               the two sides of pairs, such as "english, spanish"
    languages  TMX and XLIFF: the languages of source and target ("en" also matches "en-US"); None: in TMX the source
               language of the header and the other one of the first unit, in XLIFF source and target
    """

    kind: Kind = "pairs"
    columns: tuple[int | str, ...] | None = None
    header: bool | None = None
    languages: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if self.kind not in FIELDS:
            raise ConfigurationError(f"unknown kind of record '{self.kind}'; available: {', '.join(FIELDS)}")
        several = self.kind == "labelled" and self.columns is not None and len(self.columns) > len(self.fields)
        if self.columns is not None and len(self.columns) != len(self.fields) and not several:
            raise ConfigurationError(
                f"{len(self.columns)} columns given; {self.kind} need {len(self.fields)}: {', '.join(self.fields)}"
            )
        check_columns(self.columns)
        if self.languages is not None and (len(self.languages) != 2 or not all(self.languages)):
            raise ConfigurationError(f"give two languages, of source and target, not {self.languages!r}")

    @property
    def fields(self) -> tuple[str, ...]:
        return FIELDS[self.kind]

    @property
    def fields_of_columns(self) -> tuple[str, ...]:
        """The field that each chosen column belongs to: of labelled texts, the last one may have several."""
        more = 0 if self.columns is None else len(self.columns) - len(self.fields)
        return self.fields + self.fields[-1:] * more

    def joined(self, values: Sequence[str]) -> list[str]:
        """The value of each field from those of the columns."""
        last = len(self.fields) - 1
        if len(values) <= last + 1:
            return list(values)
        return [*values[:last], " ".join(value.strip() for value in values[last:] if value.strip())]

    @property
    def has_header(self) -> bool:
        if self.header is None:
            return any(isinstance(column, str) for column in self.columns or ())
        return self.header


def named_like(fields: Sequence[str], names: Collection[str]) -> list[str] | None:
    """Return the names of the fields in a file; None if one is missing."""
    found = [field if field in names else ALSO_CALLED.get(field, field) for field in fields]
    return found if set(found) <= set(names) else None


def zero_based(columns: tuple[int | str, ...] | None) -> tuple[int | str, ...] | None:
    """Convert column numbers from 1, as users count, to numbers from 0; names stay."""
    return None if columns is None else tuple(c - 1 if isinstance(c, int) else c for c in columns)


def check_columns(columns: tuple[int | str, ...] | None) -> None:
    for column in columns or ():
        if not isinstance(column, int | str) or isinstance(column, bool) or column == "":
            raise ConfigurationError(f"a column is a number from 0 or a name, not {column!r}")
        if isinstance(column, int) and column < 0:
            raise ConfigurationError(f"columns are counted from 0; there is no column {column}")


Reader = Callable[[Source, Layout, ReadErrors], Iterator[Record]]


@dataclass(frozen=True)
class Format:
    """A file format: its extensions, the kinds of record it can hold, and its reader.

    languages  finds the languages of the first pair, in formats that name them
    """

    name: str
    extensions: tuple[str, ...]
    kinds: tuple[Kind, ...]
    read: Reader
    languages: Callable[[Source], tuple[str, str] | None] | None = None


class Unusable(Exception):
    """Raised and caught inside readers: why a line gives no record."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason, self.detail = reason, detail


def get_nested(value: Any, path: str) -> Any:
    """Look up a name, or a dotted name in nested objects; raise KeyError if it is missing."""
    if isinstance(value, Mapping) and path in value:
        return value[path]
    name, dot, rest = path.partition(".")
    if not dot or not isinstance(value, Mapping):
        raise KeyError(path)
    return get_nested(value[name], rest)


def as_text(value: Any, field: str) -> str:
    """Convert a value to text: None becomes empty.

    A label may also be a number, true or false, or a list of labels, which stays JSON.
    """
    if value is None:
        return ""
    if field == "label" and isinstance(value, bool):
        return str(value).lower()
    if field == "label" and isinstance(value, int | float):
        return str(value)
    if field == "label" and isinstance(value, list):
        if not all(isinstance(each, str | int) for each in value):
            raise Unusable("not a list of labels", "every label is a string or a whole number")
        return json.dumps([as_text(each, field) for each in value], ensure_ascii=False)
    if not isinstance(value, str):
        raise Unusable("not a string", f"the {field} is a {type(value).__name__}")
    if len(value) > LONGEST_LINE:
        raise Unusable(f"longer than {LONGEST_LINE:,} characters", f"the {field}")
    return value
