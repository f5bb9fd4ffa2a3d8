"""Read XLIFF 1 and 2: units with a source and its target."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.data.extras import require_extra
from dragoman.data.readers.layout import Format, Layout, Unusable
from dragoman.data.readers.xml_units import has_entities, xml_units
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Source
from dragoman.errors import DataError
from dragoman.text.language_codes import languages_agree

UNFINISHED = ("new", "needs-", "initial")


def read_xliff(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read the units; if the languages are given in reverse, the sides of every pair are swapped.

    Units without a translation, or with an unfinished one, are skipped and counted.
    """
    return (record for record in xliff_units(source, layout, problems) if record)


def xliff_units(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record | None]:
    """The pair of every unit, in order; None of a unit that is skipped."""
    first = require_extra("translate.storage.xliff", source.shown, "XLIFF").Xliff1Unit
    second = require_extra("translate.storage.xliff2", source.shown, "XLIFF").Xliff2Unit
    swapped, units = False, 0
    for name, element in xml_units(source, "xliff", units=("trans-unit", "segment"), context=("xliff", "file")):
        if name in ("xliff", "file"):
            found = _languages(element)
            swapped = _are_swapped(found, element.sourceline, layout, source) if found else swapped
            continue
        units += 1
        unit = (first if name == "trans-unit" else second).createfromxmlElement(element)
        unit.namespace = element.nsmap.get(element.prefix)
        if not has_entities(element) and not (unit.target or "").strip():
            problems.skip("untranslated", source.shown, element.sourceline, unit.source or "")
            yield None
            continue
        # XLIFF 1 has it on the target, XLIFF 2 on the segment
        state = getattr(unit.target_dom, "attrib", {}).get("state") or element.get("state") or ""
        if state.startswith(UNFINISHED):
            problems.skip("unfinished", source.shown, element.sourceline, unit.source or "")
            yield None
            continue
        try:
            texts = _texts(unit, element)
        except Unusable as why:
            problems.add(why.reason, source.shown, element.sourceline, unit.source or "", why.detail)
            yield None
            continue
        ordered = texts[::-1] if swapped else texts
        yield make_record(ordered, layout.fields, source.shown, element.sourceline, problems)
    if not units:
        raise DataError(f"{source.shown} is empty; expected at least one <trans-unit> or <segment>")


def xliff_languages(source: Source) -> tuple[str, str] | None:
    """The languages of the first <file> (XLIFF 1) or of the root (XLIFF 2); None if the target has none."""
    for _, element in xml_units(source, "xliff", units=(), context=("xliff", "file")):
        if found := _languages(element):
            return found if found[1] else None
    return None


def _texts(unit: Any, element: Any) -> list[str]:
    if has_entities(element):
        raise Unusable("an XML entity that is not defined")
    return [unit.source or "", unit.target]


def _languages(element: Any) -> tuple[str, str] | None:
    """Return the languages of a <file> (XLIFF 1) or of the root (XLIFF 2)."""
    source = element.get("source-language") or element.get("srcLang")
    target = element.get("target-language") or element.get("trgLang")
    return (source, target or "") if source else None


def _are_swapped(found: tuple[str, str], line: int, layout: Layout, source: Source) -> bool:
    """Return whether the source language asked for is the target language of the file."""
    if layout.languages is None:
        return False
    for there, swapped in ((found, False), (found[::-1], True)):
        if all(not has or languages_agree(has, wanted) for has, wanted in zip(there, layout.languages, strict=True)):
            return swapped
    wanted = " and ".join(layout.languages)
    raise DataError(f"{source.shown}, line {line}: the languages are {' and '.join(found)}, not {wanted}")


XLIFF = Format("xliff", ("xlf", "xliff"), ("pairs",), read_xliff, xliff_languages)
