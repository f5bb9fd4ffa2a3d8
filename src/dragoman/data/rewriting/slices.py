"""Cut the bytes of an XML document at its units, so that what does not change is copied as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

CHUNK = 1 << 16


class Slice(NamedTuple):
    """A unit with all of its bytes, or what is between two units."""

    data: bytes
    is_unit: bool


class Slicer:
    """Yields a document slice by slice, in bounded memory for bounded units.

    encoding      that of the document
    declarations  of name spaces, outside of units: xmlns:x to its URI
    """

    def __init__(self, units: Collection[str]) -> None:
        self._units = units
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = False
        self._parser.XmlDeclHandler = self._declared
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.DefaultHandler = lambda data: self._mark()
        self._depth = 0  # inside a unit: elements that are open, the unit included
        self._closed = False  # a unit has ended with the event before
        self._cuts: list[int] = []
        self.encoding = "utf-8"
        self.declarations: dict[str, str] = {}

    def slices(self, stream: BinaryIO) -> Iterator[Slice]:
        pending, begin, unit = bytearray(), 0, False
        while True:
            data = stream.read(CHUNK)
            pending += data
            self._parser.Parse(data, not data)
            for cut in self._cuts:
                yield Slice(bytes(pending[: cut - begin]), unit)
                del pending[: cut - begin]
                begin, unit = cut, not unit
            self._cuts.clear()
            if not data:
                yield Slice(bytes(pending), False)
                return

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        self.encoding = encoding or self.encoding

    def _mark(self) -> None:
        """Where an event begins, the unit before it has ended."""
        if self._closed:
            self._cuts.append(self._parser.CurrentByteIndex)
            self._closed = False

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._mark()
        if self._depth:
            self._depth += 1
            return
        if name.rpartition(":")[2] in self._units:
            self._cuts.append(self._parser.CurrentByteIndex)
            self._depth = 1
        else:
            self.declarations |= {key: value for key, value in attributes.items() if key.startswith("xmlns")}

    def _end(self, name: str) -> None:
        self._mark()
        if self._depth:
            self._depth -= 1
            self._closed = self._depth == 0
