"""Rewrite TMX and XLIFF: units that change are written again, all other bytes are copied."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO
from xml.sax.saxutils import quoteattr

from dragoman.data.extras import require_extra
from dragoman.data.readers.layout import Layout
from dragoman.data.readers.tmx import TmxUnit, language_of, tmx_units
from dragoman.data.readers.xliff import xliff_units
from dragoman.data.records import ReadErrors
from dragoman.data.rewriting.edits import Edits
from dragoman.data.rewriting.slices import Slicer
from dragoman.data.source import Source
from dragoman.errors import DataError

Change = Callable[[Any], bool]  # changes an element; whether it has to be written even if nothing was mended


def rewrite_tmx(sources: Sequence[Source], layout: Layout, edits: Edits, out: BinaryIO) -> None:
    """Units whose pairs are dropped go; the units of later files follow those of the first."""
    end = b""
    for source in sources:
        changes = (_of_tmx(unit, edits) for unit in tmx_units(source, layout, ReadErrors("skip")))
        first = source is sources[0]
        pieces = _rewritten(source, ("tu",), changes, edits)
        begin, rest = next(pieces), b""
        if first:
            out.write(begin)
        for piece in pieces:
            out.write(rest)
            rest = piece
        end = rest if first else end
    out.write(end)


def rewrite_xliff(sources: Sequence[Source], layout: Layout, edits: Edits, out: BinaryIO) -> None:
    """Targets are mended, or removed if the pair is dropped: the segment is then one without a translation."""
    (source,) = sources
    records = xliff_units(source, layout, ReadErrors("skip"))
    changes = (_of_xliff(record is not None, edits) for record in records)
    for piece in _rewritten(source, ("trans-unit", "segment"), changes, edits):
        out.write(piece)


def _of_tmx(unit: TmxUnit, edits: Edits) -> Change | bool:
    """What to do with a unit: True keeps it, False drops it."""
    if not edits.keep(len(unit.records)):
        return False
    if not unit.records:
        return True

    def change(element: Any) -> bool:
        segments = [
            [
                child
                for node in _children(element, "tuv")
                if language_of(node) in side
                for child in _children(node, "seg")
            ]
            for side in unit.sides
        ]
        for side in segments:
            for segment in side:
                _mend(segment, edits)
        if edits.swap:
            (first, *_), (second, *_) = segments
            _exchange(first, second)
        return False

    return change


def _of_xliff(is_pair: bool, edits: Edits) -> Change | bool:
    keep = edits.keep(int(is_pair))
    if not is_pair:
        return True

    def change(element: Any) -> bool:
        for target in _children(element, "target"):
            if keep:
                _mend(target, edits)
            else:
                element.remove(target)
                for state in ("state", "approved"):
                    element.attrib.pop(state, None)
        return not keep

    return change


def _children(element: Any, name: str) -> list[Any]:
    return [child for child in element if isinstance(child.tag, str) and child.tag.rpartition("}")[2] == name]


def _mend(element: Any, edits: Edits) -> None:
    """Mend the text of an element, and that around the codes in it."""
    for node in element.iter():
        if node.text and isinstance(node.tag, str):
            node.text = edits.mend(node.text)
        if node.tail and node is not element:
            node.tail = edits.mend(node.tail)


def _exchange(first: Any, second: Any) -> None:
    text, children = first.text, list(first)
    first.text, second.text, others = second.text, text, list(second)
    first[:], second[:] = others, children


def _rewritten(source: Source, units: Sequence[str], changes: Iterator[Change | bool], edits: Edits) -> Iterator[bytes]:
    """The bytes of a document, with what becomes of its units; the white space before one that is dropped goes too."""
    with source.open() as stream:
        wide = b"\0" in stream.read(4)
    if wide or codecs.lookup(source.encoding).name != "utf-8":
        raise DataError(f"{source.shown}: a document in UTF-16, or with --encoding, cannot be written again; use .tsv")
    with source.open() as stream:
        slicer, between = Slicer(units), b""
        for data, is_unit in slicer.slices(stream):
            if not is_unit:
                between = data
                continue
            change = next(changes)
            if change is False:
                yield between if between.strip() else b""
            else:
                yield between
                yield data if change is True else _changed(data, change, slicer, edits)
            between = b""
        yield between


def _changed(data: bytes, change: Change, slicer: Slicer, edits: Edits) -> bytes:
    """A unit after a change; the same bytes if nothing had to be changed."""
    etree = require_extra("lxml.etree", "", "XML")
    declared = [f" {name}={quoteattr(uri)}" for name, uri in slicer.declarations.items()]
    whole = f"<unit{''.join(declared)}>{data.decode(slicer.encoding)}</unit>"
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    element = etree.fromstring(whole, parser)[0]
    must = change(element)
    if not edits.done() and not must:
        return data
    text = etree.tostring(element, encoding="unicode", with_tail=False)
    head, sign, rest = text.partition(">")
    for declaration in declared:
        head = head.replace(declaration, "")
    changed: str = head + sign + rest
    if b"\r\n" in data:
        changed = changed.replace("\n", "\r\n")  # the parser has made them \n
    return changed.encode(slicer.encoding, "xmlcharrefreplace")
