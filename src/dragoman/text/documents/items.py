"""The items of a line of HTML text: words, white space, inline tags, and what is kept whole; and their partners."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from itertools import accumulate
from typing import NamedTuple

from dragoman.text.documents.tokens import SPACE
from dragoman.text.protection import protected_spans

STANDIN = "\ufffc"  # in the text of a line, for what is kept whole
_SIZE = 2048  # characters and
_COUNT = 32  # items of a link that may be an address
_REFERENCE = r"&(?:#[0-9]++|#[Xx][0-9A-Fa-f]++|[A-Za-z][0-9A-Za-z]{1,31});?+"
_ATOMS = re.compile(
    rf"(?P<words>[^&\s]++(?>(?: [^&\s]++)*))|(?P<space>[{SPACE}]++)|(?P<reference>{_REFERENCE})|[^\S{SPACE}]++|&++"
)
_LONGEST_NUMBER = 16  # characters of a character reference that may stand for a character
_SPACES = frozenset("\t\n\f\r ")
_ADDRESSED = re.compile(r"[@#]\S+")


class Kind(Enum):
    TEXT = auto()
    OPEN = auto()
    CLOSE = auto()
    WORD = auto()  # kept whole, and part of the sentence: <code>x</code>
    PICTURE = auto()  # kept whole, beside the sentence if it is at its end: <img>
    HIDDEN = auto()  # nothing that readers see: a comment, an anchor


class Item(NamedTuple):
    """What the document holds (raw), and what the line holds of it (text): decoded, a space for any white space."""

    kind: Kind
    raw: str
    text: str = ""
    name: str = ""

    @property
    def is_blank(self) -> bool:
        return not self.text or self.text.isspace()


def atoms(raw: str) -> Iterator[Item]:
    """The words, white spaces and character references of some text; words with single spaces between are one item."""
    for match in _ATOMS.finditer(raw):
        piece, group = match[0], match.lastgroup
        if group == "space":
            yield Item(Kind.TEXT, piece, " ")
        elif group == "reference":
            text = _decoded(piece)
            yield Item(Kind.TEXT, piece, " " if text in _SPACES else text)
        else:
            yield Item(Kind.TEXT, piece, piece)


def _decoded(reference: str) -> str:
    """The text of a character reference, as browsers read it."""
    if reference[1] == "#" and len(reference) > _LONGEST_NUMBER:
        start = 3 if reference[2] in "Xx" else 2
        digits = reference[start:].rstrip(";").lstrip("0")[:8]
        reference = f"{reference[:start]}{digits or '0'};"
    return html.unescape(reference)


def partners(items: Sequence[Item]) -> dict[int, int]:
    """Where each opening tag is closed, and each closing tag opened; not those without a partner, or crossed."""
    found: dict[int, int] = {}
    opened: list[int] = []
    names: dict[str, int] = {}
    for i, item in enumerate(items):
        if item.kind is Kind.OPEN:
            opened.append(i)
            names[item.name] = names.get(item.name, 0) + 1
        elif item.kind is Kind.CLOSE and names.get(item.name):
            while True:
                last = opened.pop()
                names[items[last].name] -= 1
                if items[last].name == item.name:
                    break
            found[last], found[i] = i, last
    return found


def simplified(items: Sequence[Item]) -> list[Item]:
    """The items with pairs of tags around no words, and links that show their address, each as one item."""
    found = partners(items)
    words = [0, *accumulate(_is_word(item, i in found) for i, item in enumerate(items))]
    sizes = [0, *accumulate(len(item.text) for item in items)]
    kept: list[Item] = []
    i = 0
    while i < len(items):
        stop = found.get(i, -1) + 1
        inside = items[i:stop] if stop > i and words[i] == words[stop] else ()
        if inside:
            kept.append(_without_words(inside))
        elif stop - i <= _COUNT and stop > i and sizes[stop] - sizes[i] <= _SIZE and _is_address(items[i:stop]):
            kept.append(Item(Kind.WORD, raw_of(items[i:stop]), STANDIN))
        else:
            kept.append(items[i])
            stop = i + 1
        i = stop
    return kept


def _is_word(item: Item, paired: bool) -> bool:
    """Whether it is a word, or a tag without a partner, which must stay in its place."""
    if item.kind is Kind.TEXT:
        return not item.is_blank
    return item.kind is Kind.WORD or (item.kind in (Kind.OPEN, Kind.CLOSE) and not paired)


def _without_words(items: Sequence[Item]) -> Item:
    if any(item.kind is Kind.PICTURE for item in items):
        return Item(Kind.PICTURE, raw_of(items), STANDIN)
    return Item(Kind.HIDDEN, raw_of(items), " " * any(item.text for item in items))


def _is_address(items: Sequence[Item]) -> bool:
    """Whether it is a link with an address, @somebody or #something as its text, which may be in parts."""
    if items[0].name != "a":
        return False
    text = "".join(item.text for item in items).strip()
    if any(map(str.isspace, text)):
        return False
    return _ADDRESSED.fullmatch(text) is not None or ("." in text and protected_spans(text) == [(0, len(text))])


def raw_of(items: Sequence[Item]) -> str:
    return "".join([item.raw for item in items])
