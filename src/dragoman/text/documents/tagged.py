"""A sentence with inline tags: short tags for the translator, the tags of the document in what it wrote.

The translator reads <1>big</1> for <b class="x">big</b>, and <2/> for what is kept whole. It places pairs of tags by
its network. Whatever it writes, the document gets each of its tags once, nested as before: if the translation has
others, they all go about where the source has them. Everything else in a translation is text: < becomes &lt;.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import accumulate, count
from typing import NamedTuple

from dragoman.text.documents.items import Item, Kind, partners, raw_of

_TAG = re.compile(r"(</?\d+/?>)")
_NUMBER = re.compile(r"</?(\d+)")
_WORD = re.compile(r"\S+")
_ESCAPES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}

Event = tuple[int, str]  # where in a text a tag stands


class Mark(NamedTuple):
    """A tag of the document, and the short one for the translator: none for what it need not see."""

    tag: str
    raw: str


@dataclass(frozen=True)
class TaggedSentence:
    """A sentence of an HTML document.

    raw      what the document holds
    marks    its tags in order, and how large a part of the text stands before each
    escapes  how the document writes some characters
    """

    text: str
    raw: str
    marks: tuple[tuple[Mark, float], ...]
    escapes: dict[int, str]

    @property
    def has_tags(self) -> bool:
        return any(mark.tag for mark, _ in self.marks)

    def write(self, translation: str) -> str:
        if translation == self.text:
            return self.raw
        text, tags = self._read(translation.strip())
        written: list[str] = []
        at = 0
        for stop, raw in self._events(text, tags):
            written += text[at:stop].translate(self.escapes), raw
            at = stop
        return "".join(written) + text[at:].translate(self.escapes)

    def _read(self, translation: str) -> tuple[str, list[Event]]:
        """The translation without our tags, and where it has each for the first time."""
        left = {mark.tag for mark, _ in self.marks}
        known = frozenset(left)
        words: list[str] = []
        found: list[Event] = []
        at = 0
        for piece in _TAG.split(translation):
            if piece in left:
                left.discard(piece)
                found.append((at, piece))
            elif piece not in known:
                words.append(piece)
                at += len(piece)
        return "".join(words), found

    def _events(self, text: str, tags: list[Event]) -> Iterable[Event]:
        raws = {mark.tag: mark.raw for mark, _ in self.marks if mark.tag}
        if len(tags) != len(raws) or _parents(tag for _, tag in tags) != _parents(raws):
            return _about(text, self.marks)
        hidden = _about(text, [(mark, share) for mark, share in self.marks if not mark.tag])
        return merge(hidden, ((at, raws[tag]) for at, tag in tags), key=lambda event: event[0])


def tagged_sentence(items: Sequence[Item]) -> TaggedSentence:
    """The sentence of these items."""
    if len(items) == 1 and items[0].raw == items[0].text:  # most sentences
        return TaggedSentence(items[0].text, items[0].raw, (), _ESCAPES)
    pieces = _Writer(items).pieces()
    texts = [piece if isinstance(piece, str) else "" for piece in pieces]
    ends = list(accumulate(map(len, texts)))
    length = max(1, ends[-1])
    marks = tuple((p, end / length) for p, end in zip(pieces, ends, strict=True) if isinstance(p, Mark))
    own = {
        ord(item.text): item.raw
        for item in items
        if item.kind is Kind.TEXT and item.raw[0] == "&" and item.raw[-1] == ";" and len(item.text) == 1
        if item.text not in " &<>"
    }
    text = "".join(piece if isinstance(piece, str) else piece.tag for piece in pieces)
    return TaggedSentence(text, raw_of(items), marks, {**own, **_ESCAPES})


@dataclass
class _Frame:
    """A pair of tags that is open, or the whole sentence.

    begun   opening tags at its beginning that the document has further ahead, for closing tags without a partner
    opened  numbers of opening tags whose partners are not in the sentence
    """

    number: int = 0
    begun: list[Mark] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)


class _Writer:
    """Writes short tags for items. A tag whose partner is not in the sentence gets one that the document never sees."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.partners = partners(items)
        taken = set(_NUMBER.findall("".join(item.text for item in items)))
        self.numbers = (number for number in count(1) if str(number) not in taken)
        self.frames = [_Frame()]
        self.written: list[str | Mark | list[Mark]] = [self.frames[0].begun]

    def pieces(self) -> list[str | Mark]:
        at = 0
        while at < len(self.items):
            at = self._take(at)
        self._end_opened()
        flat: list[str | Mark] = []
        for piece in self.written:
            flat += reversed(piece) if isinstance(piece, list) else [piece]
        return flat

    def _take(self, at: int) -> int:
        """Write an item; return the number of the next one."""
        item = self.items[at]
        if item.kind is Kind.TEXT:
            self.written.append(item.text)
        elif item.kind is Kind.HIDDEN:
            self.written += Mark("", item.raw), item.text
        elif item.kind in (Kind.WORD, Kind.PICTURE):
            self.written.append(Mark(f"<{next(self.numbers)}/>", item.raw))
        elif at in self.partners:
            return self._open(at) if item.kind is Kind.OPEN else self._close(at)
        elif item.kind is Kind.OPEN:
            self.frames[-1].opened.append(next(self.numbers))
            self.written.append(Mark(f"<{self.frames[-1].opened[-1]}>", item.raw))
        else:
            self._end_opened()
            number = next(self.numbers)
            self.frames[-1].begun.append(Mark(f"<{number}>", ""))
            self.written.append(Mark(f"</{number}>", item.raw))
        return at + 1

    def _open(self, at: int) -> int:
        """Write an opening tag; tags around the same words are one."""
        stop = self._same(at)
        self.frames.append(_Frame(next(self.numbers)))
        self.written += Mark(f"<{self.frames[-1].number}>", self._raw(at, stop)), self.frames[-1].begun
        return stop

    def _close(self, at: int) -> int:
        self._end_opened()
        stop = self._same(at)
        self.written.append(Mark(f"</{self.frames.pop().number}>", self._raw(at, stop)))
        return stop

    def _same(self, at: int) -> int:
        """Behind the tags that begin here, and whose partners stand side by side too."""
        stop = at + 1
        while stop < len(self.items) and self._is_same(stop):
            stop += 1
        return stop

    def _is_same(self, at: int) -> bool:
        partner, last = self.partners.get(at), self.partners[at - 1]
        return partner is not None and self.items[at].kind is self.items[at - 1].kind and partner == last - 1

    def _end_opened(self) -> None:
        opened = self.frames[-1].opened
        while opened:
            self.written.append(Mark(f"</{opened.pop()}>", ""))

    def _raw(self, start: int, stop: int) -> str:
        return raw_of(self.items[start:stop])


def _parents(tags: Iterable[str]) -> dict[str, str] | None:
    """In which pair each pair of tags stands; None if they are not nested."""
    opened, found = [""], {}
    for tag in tags:
        if tag.startswith("</"):
            if opened.pop() != tag.replace("/", ""):
                return None
        elif not tag.endswith("/>"):
            found[tag] = opened[-1]
            opened.append(tag)
    return found


def _about(text: str, marks: Sequence[tuple[Mark, float]]) -> Iterator[Event]:
    """The tags about where the source has them: opening tags before a word, closing ones behind, in their order."""
    if not marks:
        return
    words = [match.span() for match in _WORD.finditer(text)]
    starts, stops = [start for start, _ in words], [stop for _, stop in words]
    at = 0
    for mark, share in marks:
        places = stops if mark.tag.startswith("</") else starts
        at = _nearest(places, round(share * len(text)), at, len(text))
        yield at, mark.raw


def _nearest(places: Sequence[int], wanted: int, least: int, end: int) -> int:
    """The nearest of some places that is not too early; the end if there is none."""
    i = bisect_left(places, max(wanted, least))
    found = places[i] if i < len(places) else end
    before = places[i - 1] if i else -1
    return before if before >= least and wanted - before < found - wanted else found
