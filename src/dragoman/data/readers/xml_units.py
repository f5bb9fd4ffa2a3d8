"""Read the units of an XML translation file in bounded memory, safely for untrusted files.

translate-toolkit reads such files whole. Its parser does not expand entities, but its text extraction does (XPath
string()). So lxml, which it is built on, parses the file here as a stream with the same safe options; a file that
declares entities is refused; each finished element is passed to translate-toolkit's class for one unit, and then freed.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from dragoman.data.extras import require_extra
from dragoman.data.source import LONGEST_LINE, Source
from dragoman.errors import DataError


class _LimitedStream:
    """A stream that limits the size of an XML unit; converts to UTF-8 if the user gave an encoding."""

    def __init__(self, stream: BinaryIO, source: Source) -> None:
        self._stream, self._source, self._unfinished = stream, source, 0
        self._decoder = codecs.getincrementaldecoder(source.encoding)() if _is_named(source) else None
        self.touched = False

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.touched = self.touched or bool(data)
        self._unfinished += len(data)
        if self._unfinished > LONGEST_LINE:
            raise DataError(
                f"{self._source.shown}: a unit or header of more than {LONGEST_LINE:,} bytes; is it damaged?"
            )
        return self._decoder.decode(data, final=not data).encode() if self._decoder else data

    def finished(self) -> None:
        self._unfinished = 0


def _is_named(source: Source) -> bool:
    """Return whether the user gave an encoding; otherwise XML declares its own."""
    return codecs.lookup(source.encoding).name != "utf-8"


def xml_units(source: Source, root: str, units: Sequence[str], context: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield (local name, element) when one of `context` begins and when one of `units` is complete."""
    etree = require_extra("lxml.etree", source.shown, root.upper())
    with source.open() as stream:
        limited = _LimitedStream(stream, source)
        try:
            yield from _events(etree, limited, source, root, units, context)
        except (etree.LxmlError, UnicodeError) as error:
            if not limited.touched:
                raise DataError(f"{source.shown} is empty; expected a document <{root}>") from None
            raise DataError(f"{source.shown} is not well-formed XML: {str(error)[:200]}") from None


def _events(
    etree: Any, limited: _LimitedStream, source: Source, root: str, units: Sequence[str], context: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    inside: Any = None
    for event, element in etree.iterparse(limited, events=("start", "end"), **_safe_options(source)):
        name = element.tag.rpartition("}")[2]
        if event == "start":
            if element.getparent() is None:
                _check_root(element, name, root, source)
            if inside is None:
                limited.finished()
                if name in context:
                    yield name, element
                inside = element if name in units else None
        elif inside is None or element is inside:
            if element is inside:
                yield name, element
            inside = None
            limited.finished()
            _free(element)


def _safe_options(source: Source) -> dict[str, Any]:
    options: dict[str, Any] = dict.fromkeys(("resolve_entities", "load_dtd", "dtd_validation", "huge_tree"), False)
    encoding = "utf-8" if _is_named(source) else None
    return options | {"no_network": True, "remove_comments": True, "remove_pis": True, "encoding": encoding}


def _check_root(element: Any, name: str, root: str, source: Source) -> None:
    if name != root:
        raise DataError(f"{source.shown} is a document <{name}>; expected <{root}>")
    dtd = element.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        raise DataError(f"{source.shown} declares XML entities, which are not supported; replace them by their text")


def _free(element: Any) -> None:
    """Free what was read. The element itself stays until its parent ends, because the text behind it follows."""
    element.clear(keep_tail=False)
    parent = element.getparent()
    if parent is not None:
        while parent[0] is not element:
            del parent[0]


def has_entities(element: Any) -> bool:
    """Return whether the text has an unexpanded entity, which would be lost."""
    return any(True for _ in element.iter(require_extra("lxml.etree", "", "XML").Entity))
