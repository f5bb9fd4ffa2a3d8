"""Read gettext PO catalogues with translate-toolkit: msgid is the source, msgstr the reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.data.extras import require_extra
from dragoman.data.readers.layout import Format, Layout
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Source
from dragoman.errors import DataError

LARGEST = 16 << 20  # characters, about 150,000 entries; translate-toolkit reads a whole catalogue into memory


def read_po(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read the entries; each plural form is a pair: msgstr[0] with msgid, the others with msgid_plural.

    Untranslated, fuzzy and obsolete entries are skipped and counted.
    """
    return (record for _, records in po_units(source, layout, problems) for record in records)


def po_units(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[tuple[Any, list[Record]]]:
    """Everything in the file, in order, with the pairs of each entry."""
    entries = 0
    for unit in _units(source):
        records: list[Record] = []
        if unit.isheader() or (unit.isblank() and not unit.isobsolete()):  # blank: comments without an entry
            yield unit, records
            continue
        entries += 1
        for texts in _forms(unit):
            kind = "obsolete" if unit.isobsolete() else "" if texts[1].strip() else "untranslated"
            if kind := kind or ("fuzzy" if unit.isfuzzy() else ""):
                problems.skip(kind, source.shown, unit.line_number, texts[0])
            elif record := make_record(texts, layout.fields, source.shown, unit.line_number, problems):
                records.append(record)
        yield unit, records
    if not entries:
        raise DataError(f"{source.shown} is empty; expected at least one entry msgid, msgstr")


def _forms(unit: Any) -> list[list[str]]:
    """Return [source, reference] for each plural form of an entry."""
    sources, references = (list(getattr(text, "strings", [text])) or [""] for text in (unit.source, unit.target))
    return [[str(sources[min(k, len(sources) - 1)]), str(reference)] for k, reference in enumerate(references)]


def _units(source: Source) -> list[Any]:
    """Parse the file; decoded here because translate-toolkit silently reads bytes that are not UTF-8 as Latin-1."""
    poparser = require_extra("translate.storage.poparser", source.shown, "PO")
    store = require_extra("translate.storage.pypo", source.shown, "PO").pofile(noheader=True)
    lines = _lines(source)
    try:
        poparser.parse_units(poparser.PoParseState(lines, store.create_unit), store)
        units: list[Any] = store.units
    except Exception as error:  # the parser does not document how it fails
        raise DataError(f"{source.shown} is not a PO catalogue: {str(error)[:200]}") from None
    return units


def _lines(source: Source) -> list[str]:
    """Read all lines; a bad one is an error, because the end of its entry is unknown."""
    lines, size = [], 0
    for number, text, fault in source.physical_lines():
        if fault:
            raise DataError(f"{source.shown}, line {number}: {fault} (use --encoding to set the encoding)")
        lines.append(text + "\n")
        size += len(text) + 1
        if size > LARGEST:
            raise DataError(f"{source.shown} has more than {LARGEST:,} characters; split the catalogue")
    return lines


PO = Format("po", ("po", "pot"), ("pairs",), read_po)
