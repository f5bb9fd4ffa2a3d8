"""Which columns of a table hold the text and the label, where the user does not say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dragoman.data.labelled_texts import as_number
from dragoman.data.readers import Format, ReadErrors
from dragoman.data.readers.parquet import parquet_head
from dragoman.data.readers.table import csv_rows, list_names, tsv_rows
from dragoman.data.source import Source
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.classification.settings import TextData

LOOKED_AT = 1000  # rows from which columns are guessed
TEXT: tuple[str, ...] = ("text", "texts", "sentence", "review", "body", "content", "comment", "message", "document")
TEXT += ("description", "tweet", "snippet", "question", "query", "utterance", "title", "headline", "summary")
CLASS: tuple[str, ...] = ("label", "labels", "class", "classes", "category", "categories", "sentiment", "target")
CLASS += ("topic", "topics", "tag", "tags", "intent", "emotion", "genre", "type", "polarity", "y", "stars", "rating")
NUMBER = ("score", "rating", "stars", "number", "value", "target", "label", "y", "price", "amount", "grade")


@dataclass(frozen=True)
class Columns:
    """The columns of label and text, by number from 1 or by name, and whether the first line is a header."""

    label: int | str
    text: tuple[int | str, ...]
    header: bool | None = None
    chosen: bool = False  # whether something had to be chosen

    def layout(self) -> tuple[int | str, ...]:
        """As `Layout` counts them, from 0."""
        return tuple(c - 1 if isinstance(c, int) else c for c in (self.label, *self.text))

    def __str__(self) -> str:
        return f"text from {_listed(self.text)}, labels from {_listed([self.label])}"


def _listed(columns: Sequence[int | str]) -> str:
    names = " and ".join(str(column) if isinstance(column, int) else f"'{column}'" for column in columns)
    return f"column{'s' if len(columns) > 1 else ''} {names}"


@dataclass(frozen=True)
class Head:
    """The first rows of a file; names of its columns where they are known."""

    file: str
    names: list[str] | None
    rows: list[list[str]]
    header: bool | None = None


def find_columns(source: Source, format: Format, settings: TextData, number: bool) -> Columns | None:
    """The columns of a file as they are given, by their names, or by what they hold; None if it has none.

    number  the target is a number, not a class
    """
    if format.name == "labelled":
        return None
    names = NUMBER + CLASS if number else CLASS
    head = _head(source, format, settings)
    _check_given(head, settings)
    label, text = settings.label, settings.text
    if label is not None and text is not None:
        return Columns(label, text, head.header)
    taken = [label] if label is not None else list(text or ())
    if label is None:
        label = _named(head, names, taken)
    if text is None:
        found = _named(head, TEXT, [label] if label is not None else [])
        text = None if found is None else (found,)
    if label is None or text is None:
        label, text = _by_content(head, label, text, number)
    return Columns(label, text, head.header, chosen=True)


def _head(source: Source, format: Format, settings: TextData) -> Head:
    if format.name == "parquet":
        columns, rows = parquet_head(source, LOOKED_AT)
        return Head(source.shown, columns, [["" if v is None else str(v) for v in row] for row in rows])
    problems = ReadErrors("skip")
    if format.name == "jsonl":
        objects = [_object(line) for _, line in islice(source.lines(problems), LOOKED_AT)]
        found = [each for each in objects if each]
        keys = list(found[0]) if found else []
        return Head(source.shown, keys, [["" if (v := o.get(key)) is None else str(v) for key in keys] for o in found])
    read = csv_rows if format.name == "csv" else tsv_rows
    rows = [row for _, row in islice(read(source, problems), LOOKED_AT) if "".join(row).strip()]
    if not rows:
        raise DataError(f"{source.shown} is empty; expected a text and its label in every row")
    first = [name.strip() for name in rows[0]]
    header = settings.header
    if header is None:
        header = any(isinstance(column, str) for column in (settings.label, *(settings.text or ())))
        header = header or _looks_like_header(first, rows[1:], settings)
    return Head(source.shown, first if header else None, rows[1:] if header else rows, header)


def _object(line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _looks_like_header(first: Sequence[str], rows: Sequence[Sequence[str]], settings: TextData) -> bool:
    """Whether it names a text, and a label: by a known name, or by words that no other row has."""
    known = {name.lower() for name in first}
    text = settings.text is not None or not known.isdisjoint(TEXT)
    label = settings.label is not None or not known.isdisjoint({*CLASS, *NUMBER})
    if text and label:
        return not known.isdisjoint({*TEXT, *CLASS, *NUMBER})
    values = {value.strip() for row in rows for value in row}
    return text and bool(rows) and values.isdisjoint(first) and all(as_number(name) is None for name in first)


def _width(head: Head) -> int:
    return len(head.names) if head.names is not None else len(head.rows[0])


def _check_given(head: Head, settings: TextData) -> None:
    """Columns that are not there."""
    for option, columns in (("--label", [settings.label]), ("--text", settings.text or ())):
        for column in columns:
            if isinstance(column, int) and column > _width(head):
                raise DataError(f"{head.file} has {_width(head)} columns, so there is no column {column} ({option})")
            if isinstance(column, str) and head.names is not None and not _has(head.names, column):
                raise DataError(f"{head.file} has no column '{column}' ({option}); it has {list_names(head.names)}")
    if settings.label is not None and settings.label in (settings.text or ()):
        raise ConfigurationError(f"column {settings.label!r} is named as text and as label; name two different ones")


def _has(names: Sequence[str], column: str) -> bool:
    return column in names or column.partition(".")[0] in names


def _named(head: Head, known: Sequence[str], taken: Sequence[int | str]) -> str | None:
    """The first column that goes by a known name and is not taken."""
    numbers = {column - 1 for column in taken if isinstance(column, int)}
    free = [name for i, name in enumerate(head.names or ()) if i not in numbers and name not in taken]
    return next((name for wanted in known for name in free if name.lower() == wanted), None)


def _by_content(
    head: Head, label: int | str | None, text: tuple[int | str, ...] | None, number: bool
) -> tuple[int | str, tuple[int | str, ...]]:
    """Of two columns: the one that is left, or the one with fewer different values is the label."""
    width = _width(head)
    if width == 1:
        raise DataError(f"{head.file} has one column, so there is no label beside the text; add a column of labels")
    names: Sequence[int | str] = head.names or [i + 1 for i in range(width)]
    if width != 2:
        missing = "--label" if text is not None else "--text" if label is not None else "--text and --label"
        shown = "" if head.names is None else f" ({list_names(head.names)})"
        raise DataError(f"{head.file} has {width} columns{shown}; say which to use with {missing}, such as --label 1")
    if label is not None or text is not None:
        taken = label if label is not None else (text or (1,))[0]
        place = taken - 1 if isinstance(taken, int) else list(names).index(taken)
        other = names[1 - place]
        return (label, (other,)) if label is not None else (other, text or (1,))
    columns = [[row[i] for row in head.rows if len(row) == 2] for i in range(2)]
    first = _is_label(columns, number)
    if first is None:
        raise DataError(
            f"{head.file}: neither of its two columns holds numbers; choose with --text and --label, "
            "or learn classes with --task classification"
        )
    return names[first], (names[1 - first],)


def _is_label(columns: Sequence[Sequence[str]], number: bool) -> int | None:
    """Which of two columns is the label."""
    letters = [sum(map(len, column)) for column in columns]
    if number:
        shares = [sum(as_number(value) is not None for value in column) / max(1, len(column)) for column in columns]
        return None if max(shares) < 0.5 else int(shares[1] > shares[0])
    different = [len(set(column)) for column in columns]
    return int((different[1], letters[1]) < (different[0], letters[0]))
