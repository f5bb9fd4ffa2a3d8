"""Restore the spacing around protected spans and between sentences as the source has it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.text.protection import CLOSING_TAG, OPENING_TAG, STANDINS, Masked, spaced
from dragoman.text.sentences import collapsed

STANDIN = re.compile(f"[{STANDINS[0]}-{STANDINS[-1]}]")
_PARTS = re.compile(f"({STANDIN.pattern})")
_OPENING_MARKS = frozenset("¿¡(«“„[{‘")
_ENDING_MARKS = frozenset(".,!?…")
_CLOSING_MARKS = frozenset(".,;:!?…»”)]}’")


def put_back(text: str, masked: Masked) -> str:
    """Replace stand-ins by their spans, spaced as in the source.

    Between a span and punctuation the network decides. A stand-in without a span is removed.
    """
    places = _places(masked)
    written: str = ""
    before: Place | str = ""
    apart = False
    for part in _PARTS.split(collapsed(text)):
        here: Place | str | None = part.strip()
        if part in STANDINS:
            here = next(places.get(part, iter(())), None)
        apart = apart or part[:1].isspace()
        if here:
            space = apart if isinstance(before, str) and isinstance(here, str) else _space_between(before, here, apart)
            written += " " * (space and written != "") + (here if isinstance(here, str) else here.span)
            before, apart = here, part[-1:].isspace()
    return written


@dataclass(frozen=True)
class Place:
    """A span and its neighbours in the source: '' at an end, a space, or a character."""

    span: str
    at: int  # which of the text's spans it is
    left: str
    right: str
    between: str  # the text up to the next span

    @property
    def opens(self) -> bool:
        return OPENING_TAG.fullmatch(self.span) is not None

    @property
    def closes(self) -> bool:
        return CLOSING_TAG.fullmatch(self.span) is not None

    @property
    def glued_left(self) -> bool:
        return bool(self.left.strip())

    @property
    def glued_right(self) -> bool:
        return bool(self.right.strip())

    def follows(self, last: str, space: bool) -> bool:
        """Return whether a space belongs between it and the text before it."""
        if last in _OPENING_MARKS or (self.glued_left and last == self.left):
            return False
        if _unspaced(last) or _unspaced(self.left):
            return space
        glued = self.closes or self.left.isalnum() or self.left in _CLOSING_MARKS
        return self.opens or not (self.glued_left and glued)

    def precedes(self, first: str, space: bool) -> bool:
        """Return whether a space belongs between it and the text after it."""
        if self.glued_right and (first == self.right or self.opens):
            return False
        if not (first.isalnum() or first in _OPENING_MARKS) or _unspaced(first) or _unspaced(self.right):
            return space
        return self.closes or not self.right.isalnum()


def _space_between(left: Place | str, right: Place | str, space: bool) -> bool:
    """Return whether a space belongs between a span and its neighbour; `space`: whether the network wrote one."""
    if isinstance(left, str):
        return isinstance(right, Place) and right.follows(left[-1:], space)
    if isinstance(right, str):
        return left.precedes(right[:1], space)
    if left.at + 1 == right.at and not left.between:
        return not right.glued_left
    return not ((left.opens and left.glued_right) or (right.closes and right.glued_left))


def _places(masked: Masked) -> dict[str, Iterator[Place]]:
    """Return the places of each stand-in in the source, in order."""
    found: dict[str, list[Place]] = {}
    text, named = masked.text, dict(zip(STANDINS, masked.spans, strict=False))
    spans = [(match[0], *match.span()) for match in STANDIN.finditer(text)]
    for i, (standin, start, stop) in enumerate(spans):
        between = text[stop : spans[i + 1][1]] if i + 1 < len(spans) else ""
        left, right = text[max(0, start - 1) : start], text[stop : stop + 1]
        found.setdefault(standin, []).append(Place(named[standin], i, left, right, between.strip()))
    return {standin: iter(places) for standin, places in found.items()}


def joint(left: str, right: str) -> str:
    """The space between two sentences where the source has none, as after 。: one if words stand apart in both."""
    return " " if left[-1:] in _ENDING_MARKS and right[:1].isalnum() and not _unspaced(right[0]) else ""


def _unspaced(character: str) -> bool:
    """Return whether it is a letter of a script without spaces between words."""
    return character.isalpha() and spaced(character + STANDINS[0]) == character + STANDINS[0]
