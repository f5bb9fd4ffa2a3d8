"""Read TMX translation memories: units of one sentence in several languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.data.extras import require_extra
from dragoman.data.readers.layout import Format, Layout
from dragoman.data.readers.xml_units import has_entities, xml_units
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Source
from dragoman.errors import DataError
from dragoman.text.language_codes import closest_languages, languages_agree

Languages = tuple[str, str]
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def read_tmx(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read the units; several variants of a language give a pair each. Inline codes are kept as text.

    Units with an empty translation are skipped and counted.
    """
    unit_class = require_extra("translate.storage.tmx", source.shown, "TMX").tmxunit
    languages, header_language, units = layout.languages, "", 0
    for name, element in xml_units(source, "tmx", units=("tu",), context=("header",)):
        if name == "header":
            header_language = element.get("srclang", "")
            continue
        units += 1
        unit = unit_class.createfromxmlElement(element)
        unit.namespace = element.nsmap.get(element.prefix)
        texts = [(_language(node), unit.getNodeText(node) or "") for node in unit.getlanguageNodes()]
        languages = languages or _first_languages([language for language, _ in texts], header_language)
        if has_entities(element):
            problems.add("an XML entity that is not defined", source.shown, element.sourceline)
        elif languages is None:
            problems.add("not two languages in the unit", source.shown, element.sourceline)
        else:
            yield from _pairs(texts, languages, source, element.sourceline, layout, problems)
    if not units:
        raise DataError(f"{source.shown} is empty; expected at least one unit <tu>")


def tmx_languages(source: Source) -> Languages | None:
    """The languages of the first unit that has two."""
    header_language = ""
    for name, element in xml_units(source, "tmx", units=("tu",), context=("header",)):
        if name == "header":
            header_language = element.get("srclang", "")
            continue
        variants = (node for node in element if isinstance(node.tag, str) and node.tag.rpartition("}")[2] == "tuv")
        if found := _first_languages([_language(node) for node in variants], header_language):
            return found
    return None


def _language(node: Any) -> str:
    return str(node.get(XML_LANG) or node.get("lang") or "")


def _first_languages(found: list[str], source_language: str) -> Languages | None:
    """Return the source language of the header (else the first of the unit) and the first other one."""
    first = next((language for language in found if languages_agree(language, source_language)), *found[:1] or [""])
    second = next((language for language in found if language != first), "")
    return (first, second) if first and second else None


def _pairs(
    texts: list[tuple[str, str]], languages: Languages, source: Source, line: int, layout: Layout, problems: ReadErrors
) -> Iterator[Record]:
    sides = [_texts_in(wanted, texts) for wanted in languages]
    for wanted, side in zip(languages, sides, strict=True):
        if not side:
            there = ", ".join(sorted({language for language, _ in texts}))
            return problems.add(
                f"no text in language '{wanted}'", source.shown, line, detail=f"found: {there or 'none'}"
            )
    for first in sides[0]:
        for second in sides[1]:
            if first.strip() and not second.strip():
                problems.skip_untranslated(source.shown, line, first)
            elif record := make_record([first, second], layout.fields, source.shown, line, problems):
                yield record


def _texts_in(wanted: str, texts: list[tuple[str, str]]) -> list[str]:
    """The texts of a unit in the closest language that does not contradict the one wanted."""
    closest = closest_languages(wanted, [language for language, _ in texts if languages_agree(language, wanted)])
    return [text for language, text in texts if language in closest]


TMX = Format("tmx", ("tmx",), ("pairs",), read_tmx, tmx_languages)
