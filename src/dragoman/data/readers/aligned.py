"""Read two line-aligned files as one corpus: line n of one is the translation of line n of the other.

They are given as one name, source first: "train.en,train.es". Each may be compressed; one may be standard input.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from dragoman.data.readers.layout import Format, Layout
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Line, Source
from dragoman.errors import DataError
from dragoman.text.language_codes import languages_of_extensions


def is_two_files(name: str) -> bool:
    """Return whether a name is two names with a comma between, and not an existing file with a comma in its name."""
    return name.count(",") == 1 and not name.startswith(",") and not name.endswith(",") and not _exists(name)


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def parts(source: Source) -> list[Source]:
    """Return the files of a source: two for an aligned corpus, otherwise one."""
    names = source.name.split(",") if is_two_files(source.name) else [source.name]
    return [Source(name.strip(), source.encoding) for name in names]


def read_aligned(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read pairs of lines; a bad line is skipped with its counterpart, so that the others stay aligned."""
    two = parts(source)
    if len(two) != 2:
        raise DataError(f"{source.shown} is one file; give two line-aligned files as train.en,train.es")
    for first, second in zip_longest(two[0].physical_lines(), two[1].physical_lines()):
        if first is None or second is None:
            _different_length(two, first, second, problems)
        elif first.fault:
            problems.add(first.fault, two[0].shown, first.number, first.text, first.advice)
        elif second.fault:
            problems.add(second.fault, two[1].shown, second.number, second.text, second.advice)
        elif record := make_record([first.text, second.text], layout.fields, two[0].shown, first.number, problems):
            yield record


def _different_length(two: list[Source], first: Line | None, second: Line | None, problems: ReadErrors) -> None:
    """Skip a line without a counterpart, or raise an error with the lengths of both files."""
    longer, shorter, line = (two[0], two[1], first) if first else (two[1], two[0], second)
    assert line is not None
    if problems.on_bad_line == "skip":
        return problems.add(f"no such line in {shorter.shown}", longer.shown, line.number, line.text)
    counted = "more" if longer.is_single_pass else f"{sum(1 for _ in longer.physical_lines()):,}"
    raise DataError(
        f"{longer.shown} has {counted} lines, {shorter.shown} has {line.number - 1:,}; line-aligned files must have "
        "the same number of lines (if the others are aligned, --on-bad-line skip skips lines without a counterpart)"
    )


def aligned_languages(source: Source) -> tuple[str, str] | None:
    """en and es of train.en,train.es; None for other extensions."""
    two = parts(source)
    return languages_of_extensions(two[0].extension, two[1].extension) if len(two) == 2 else None


ALIGNED = Format("aligned", (), ("pairs", "labelled"), read_aligned, aligned_languages)
