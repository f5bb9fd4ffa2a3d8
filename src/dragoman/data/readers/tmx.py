"""Read TMX translation memories: units of one sentence in several languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from dragoman.data.extras import require_extra
from dragoman.data.readers.layout import Format, Layout
from dragoman.data.readers.xml_units import has_entities, xml_units
from dragoman.data.records import ReadErrors, Record, make_record
from dragoman.data.source import Source
from dragoman.errors import DataError
from dragoman.text.language_codes import closest_languages, languages_agree
from dragoman.wording import counted

Languages = tuple[str, str]
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def read_tmx(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[Record]:
    """Read the units; several variants of a language give a pair each. Inline codes are kept as text.

    Units without a text, or with an empty one, in one of the languages are skipped and counted.
    """
    return (record for unit in tmx_units(source, layout, problems) for record in unit.records)


class TmxUnit(NamedTuple):
    """The languages of the texts that were read on each side, and the pairs of a unit; skipped units have none."""

    sides: tuple[frozenset[str], ...]
    records: list[Record]


def tmx_units(source: Source, layout: Layout, problems: ReadErrors) -> Iterator[TmxUnit]:
    """All units of a file, in order."""
    unit_class = require_extra("translate.storage.tmx", source.shown, "TMX").tmxunit
    languages, header_language, units = layout.languages, "", 0
    tags: Counter[str] = Counter()  # of all texts
    read: tuple[Counter[str], Counter[str]] = (Counter(), Counter())  # of the texts of each side
    for name, element in xml_units(source, "tmx", units=("tu",), context=("header",)):
        if name == "header":
            header_language = element.get("srclang", "")
            continue
        units += 1
        line = element.sourceline
        unit = unit_class.createfromxmlElement(element)
        unit.namespace = element.nsmap.get(element.prefix)
        texts = [(language_of(node), unit.getNodeText(node) or "") for node in unit.getlanguageNodes()]
        tags.update(language for language, _ in texts)
        languages = languages or _first_languages([language for language, _ in texts], header_language)
        if has_entities(element):
            problems.add("an XML entity that is not defined", source.shown, line)
            yield TmxUnit((), [])
            continue
        sides = [_texts_in(wanted, texts) for wanted in languages or ()]
        if not all(sides) or not sides:
            problems.skip("missing language", source.shown, line, next((text for _, text in texts), ""))
            yield TmxUnit((), [])
            continue
        for count, side in zip(read, sides, strict=True):
            count.update({language for language, _ in side})
        records = []
        for (_, first), (_, second) in product(*sides):
            if not first.strip() or not second.strip():
                problems.skip("untranslated", source.shown, line, first if first.strip() else second)
            elif record := make_record([first, second], layout.fields, source.shown, line, problems):
                records.append(record)
        yield TmxUnit(tuple(frozenset(language for language, _ in side) for side in sides), records)
    if not units:
        raise DataError(f"{source.shown} is empty; expected at least one unit <tu>")
    _tell_languages(source, languages, tags, read, problems)


def _tell_languages(
    source: Source,
    languages: Languages | None,
    tags: Counter[str],
    read: tuple[Counter[str], Counter[str]],
    problems: ReadErrors,
) -> None:
    """Refuse a file in other languages; note where several variants were read as one language."""
    if languages is None or not any(read):
        if problems:
            return
        wanted = "two languages" if languages is None else " and ".join(languages)
        there = ", ".join(f"{tag or 'none'} ({counted(count, 'text')})" for tag, count in tags.most_common())
        advice = f"; choose with --languages {','.join([*tags][:2])}" if len(tags) > 1 else ""
        raise DataError(f"{source.shown} has no unit in {wanted}; its languages are {there or 'none'}{advice}")
    for wanted, count in zip(languages, read, strict=True):
        if len({tag.lower().replace("_", "-") for tag in count}) > 1:
            each = " and ".join(f"{tag} ({counted(n, 'unit')})" for tag, n in count.most_common())
            problems.note(f"{source.shown}: {each} were read as {wanted}; --languages chooses one of them")


def tmx_languages(source: Source) -> Languages | None:
    """The languages of the first unit that has two."""
    header_language = ""
    for name, element in xml_units(source, "tmx", units=("tu",), context=("header",)):
        if name == "header":
            header_language = element.get("srclang", "")
            continue
        variants = (node for node in element if isinstance(node.tag, str) and node.tag.rpartition("}")[2] == "tuv")
        if found := _first_languages([language_of(node) for node in variants], header_language):
            return found
    return None


def language_of(node: Any) -> str:
    return str(node.get(XML_LANG) or node.get("lang") or "")


def _first_languages(found: list[str], source_language: str) -> Languages | None:
    """Return the source language of the header (else the first of the unit) and the first other one.

    Another region of the same language counts if there is nothing else.
    """
    first = next((language for language in found if languages_agree(language, source_language)), *found[:1] or [""])
    others = [language for language in found if language != first]
    second = next((language for language in others if not closest_languages(first, [language])), *others[:1] or [""])
    return (first, second) if first and second else None


def _texts_in(wanted: str, texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The texts of a unit in the closest language that does not contradict the one wanted."""
    closest = closest_languages(wanted, [language for language, _ in texts if languages_agree(language, wanted)])
    return [(language, text) for language, text in texts if language in closest]


TMX = Format("tmx", ("tmx",), ("pairs",), read_tmx, tmx_languages)
