"""Markup in a text to translate: pairs of tags, and emoji at its ends, which the network does not read."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from dragoman.text.protection import CLOSING_TAG, OPENING_TAG, STANDINS, Masked, is_emoji, spaced
from dragoman.text.sentences import collapsed
from dragoman.text.spacing import STANDIN

UNIT = re.compile(rf"[^\W_]+(?:['’][^\W_]+)*|{STANDIN.pattern}")  # a word, or what stands for one


@dataclass(frozen=True)
class TagPair:
    """An opening tag and its closing tag, by their stand-ins, and what stands between them in the source.

    words  how many words and spans, other than tags
    spans  the stand-ins among them
    """

    opening: str
    closing: str
    words: int = 0
    spans: frozenset[str] = frozenset()

    def place(self, text: str) -> tuple[int, int]:
        return text.find(self.opening), text.find(self.closing)

    def inside(self, text: str) -> str:
        start, stop = self.place(text)
        return text[start + 1 : stop]

    def encloses(self, text: str, hidden: Collection[str]) -> bool:
        """Whether words stand between them where words did, and the same spans."""
        found = [match[0] for match in UNIT.finditer(self.inside(text)) if match[0] not in hidden]
        return (not self.words or bool(found)) and self.spans == {unit for unit in found if unit in STANDINS}


class Markup:
    """What the network does not read: pairs of tags, and emoji at the ends, by their stand-ins.

    pairs   in the order of their opening tags
    first   emoji and tags around everything else that the text begins with, and last, what it ends with
    hidden  all of these stand-ins
    """

    def __init__(self, masked: Masked) -> None:
        spans = dict(zip(STANDINS, masked.spans, strict=False))
        pairs = sorted(_pairs(masked.text, spans), key=lambda pair: pair.place(masked.text))
        self.first, self.last = _ends(masked.text, spans, {pair.opening: pair.closing for pair in pairs})
        tags = (standin for pair in pairs for standin in (pair.opening, pair.closing))
        self.hidden = frozenset((*tags, *self.first, *self.last))
        self.pairs = [self._known(pair, masked.text) for pair in pairs]
        self.words = sum(unit not in self.hidden for unit in UNIT.findall(masked.text))
        self.related = {(p, q): _relation(p, q, masked.text) for p, q in combinations(self.pairs, 2)}

    def _known(self, pair: TagPair, text: str) -> TagPair:
        units = [unit for unit in UNIT.findall(pair.inside(text)) if unit not in self.hidden]
        return replace(pair, words=len(units), spans=frozenset(unit for unit in units if unit in STANDINS))

    def is_nested(self, text: str) -> bool:
        """Whether the tags that a text holds are nested as in the source."""
        there = [pair for pair in self.pairs if min(pair.place(text)) >= 0]
        return all(pair.place(text)[0] < pair.place(text)[1] for pair in there) and all(
            _relation(p, q, text) == self.related[p, q] for p, q in combinations(there, 2)
        )


def _pairs(text: str, spans: Mapping[str, str]) -> Iterator[TagPair]:
    opened: list[tuple[str, str]] = []
    for standin in STANDIN.findall(text):
        if opening := OPENING_TAG.fullmatch(spans[standin]):
            opened.append((opening[1], standin))
        elif (closing := CLOSING_TAG.fullmatch(spans[standin])) and closing[1] in dict(opened):
            while (found := opened.pop())[0] != closing[1]:  # <br> is never closed
                pass
            yield TagPair(found[1], standin)


def _ends(text: str, spans: Mapping[str, str], closing: Mapping[str, str]) -> tuple[str, str]:
    rest, first, last = text.strip(), "", ""
    while rest:
        if is_emoji(spans.get(rest[0], "")):
            first, rest = first + rest[0], rest[1:].strip()
        elif is_emoji(spans.get(rest[-1], "")):
            last, rest = rest[-1] + last, rest[:-1].strip()
        elif closing.get(rest[0]) == rest[-1]:
            first, last, rest = first + rest[0], rest[-1] + last, rest[1:-1].strip()
        else:
            break
    return first, last


def _relation(p: TagPair, q: TagPair, text: str) -> str:
    """How two pairs stand to each other: one inside the other, apart, or crossed."""
    (a, b), (c, d) = p.place(text), q.place(text)
    if b < c or d < a:
        return "apart"
    return "inside" if a < c and d < b else "around" if c < a and b < d else "crossed"


def without_markup(masked: Masked) -> str:
    """What the network reads: the text without pairs of tags, and without emoji at its ends."""
    return removed(spaced(masked.text), Markup(masked).hidden) if masked.spans else masked.text


def removed(text: str, standins: Iterable[str]) -> str:
    """The text without some stand-ins and the spaces before them."""
    for standin in standins:
        text = text.replace(f" {standin}", "").replace(standin, "")
    return collapsed(text)
