"""Texts taken apart into what a network reads at once, and put together again.

A text is a document: what stays as it is, and segments, sentences as the model was trained on them. A segment that does
not fit goes through the network in several units. Whoever translates a text asks a `Segmenter` for its `Passage`, has
the units translated, and gives the translations to `Passage.join`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.text.capitals import is_stranger, without_capitals
from dragoman.text.documents import Document, split_html, split_text
from dragoman.text.documents.document import has_letter
from dragoman.text.markup import without_markup
from dragoman.text.messages import Message, message_of, written
from dragoman.text.protection import STANDINS, Masked, mask, protected_spans
from dragoman.text.sentences import pieces, split_sentences
from dragoman.text.spacing import joint
from dragoman.wording import counted

Form = Literal["text", "html"]
CHARACTERS = 16  # of a unit for each token that it may have: what is longer is cut before the tokenizer sees it
BLOCK = 8_000  # characters of a segment that are looked at together: nobody writes longer sentences


@dataclass(frozen=True)
class Unit:
    """What goes through a network at once.

    text    as it stands in its segment, without the white space around it
    masked  the same with stand-ins
    labels  its tokens, as the network reads them
    space   the white space before it; none where the segment begins
    glued   how it begins, if it was cut off behind a protected span without a space between
    kept    its translation, if it does not need the network
    prefix  how its translation must begin
    small   what the network reads of a text in capitals; its translation is put in capitals
    """

    text: str
    masked: Masked
    labels: Array
    space: str = ""
    glued: str | None = None
    kept: str | None = None
    prefix: str = ""
    small: Masked | None = None

    def space_between(self, before: str, translation: str) -> str:
        """What stands between the translation of the unit before and this one's."""
        if self.space or not before:
            return self.space
        if self.glued is None:
            return joint(before, translation)
        return "" if self.glued and translation.startswith(self.glued) else " "


@dataclass(frozen=True)
class Segmenter:
    """Takes texts apart for a network.

    encode     the tokens of a text
    longest    tokens of a unit, start and end included
    protect    mask protected spans by stand-ins, and leave list markers and what has no letters as they are
    sentences  that go through the network together if they have at most so many tokens `together`
    """

    encode: Callable[[str], Array]
    longest: int
    protect: bool = True
    sentences: int = 1
    together: int = 0

    def take_apart(self, text: str, form: str = "text", prefix: str = "") -> Passage:
        """The units of a text or an HTML document; `prefix`: how its translation must begin."""
        message = message_of(text) if form == "text" and self.protect else None
        if message is not None:
            passage: Passage = MessagePassage(message, text, self)
        elif form == "html":
            passage = Passage(split_html(text, self.split), self)
        elif form == "text":
            passage = Passage(split_text(text, self.split, keep_marks=self.protect), self)
        else:
            raise ConfigurationError(f"a text is {' or '.join(get_args(Form))}, not '{form}'")
        if prefix:
            passage.begin_with(prefix)
        return passage

    def split(self, text: str) -> list[str]:
        """The sentences of a text, none cut inside a protected span, grouped as the model was trained on them."""
        found = split_sentences(text)
        if len(found) > 1 and self.protect:
            found = list(_joined_at_spans(found, protected_spans(text)))
        return found if len(found) == 1 or self.sentences == 1 else self._grouped(found)

    def units(self, segment: str) -> Iterator[Unit]:
        """A segment as it goes through the network: at once, or cut where it is too long."""
        for block in _blocks(segment):
            yield from self._units_of(block)

    def _units_of(self, segment: str) -> Iterator[Unit]:
        if len(segment) <= CHARACTERS * self.longest and self._fits(whole := self._unit(segment)):
            yield whole
            return
        cut: Iterable[str] = pieces(segment, lambda piece: self._fits(self._unit(piece)), CHARACTERS * self.longest)
        if self.protect:
            cut = _joined_at_spans(cut, protected_spans(segment))
        space = ""
        for piece in cut:
            for part, is_glued in self._parts(piece):
                text = part.strip()
                start = len(part) - len(part.lstrip())
                if text:
                    unit = self._unit(text)
                    space += part[:start]
                    yield replace(unit, space=space, glued=_beginning(text) if is_glued and not space else None)
                    space = part[start + len(text) :]
                else:
                    space += part

    def _grouped(self, sentences: Iterable[str]) -> list[str]:
        groups: list[str] = []
        held = tokens = 0
        for sentence in sentences:
            size = len(self._unit(sentence).labels)
            if groups and held < self.sentences and tokens + size <= self.together:
                groups[-1] += sentence
                held, tokens = held + 1, tokens + size
            else:
                groups.append(sentence)
                held, tokens = 1, size
        return groups

    def _fits(self, unit: Unit) -> bool:
        return unit.masked.complete and len(unit.labels) + 2 <= self.longest

    def _parts(self, piece: str) -> Iterator[tuple[str, bool]]:
        """The piece, cut after every eighth span if it has more of them than there are stand-ins; whether it was."""
        if not self.protect or mask(piece).complete:
            yield piece, False
            return
        ends = [stop for _, stop in protected_spans(piece)][len(STANDINS) - 1 :: len(STANDINS)]
        for start, stop in pairwise([0, *ends, len(piece)]):
            yield piece[start:stop], start > 0

    def _unit(self, text: str) -> Unit:
        masked = mask(text) if self.protect else Masked(text, ())
        if masked.spans and not has_letter(masked.text):  # nothing to translate
            return Unit(text, masked, np.zeros(0, np.int32), kept=text)
        labels = self.encode(without_markup(masked))
        if (usual := without_capitals(masked.text, self.encode)) is not None:
            small = replace(masked, text=usual)
            if is_stranger(labels, read := self.encode(without_markup(small))):
                return Unit(text, masked, read, small=small)
        return Unit(text, masked, labels, kept=None if len(labels) else text)


def _blocks(segment: str) -> Iterator[str]:
    """A segment, cut before white space (or anywhere if there is none) where it is longer than anybody writes."""
    start = 0
    while len(segment) - start > BLOCK:
        stop = max(segment.rfind(space, start + BLOCK // 2, start + BLOCK) for space in " \t\n")
        stop = stop if stop > start else start + BLOCK
        yield segment[start:stop]
        start = stop
    yield segment[start:]


class Passage:
    """A text taken apart: knows where the translation of each of its units belongs."""

    def __init__(self, document: Document, segmenter: Segmenter) -> None:
        self._document, self._segmenter = document, segmenter
        self._units: list[list[Unit]] = []  # of each segment that was cut so far

    @property
    def size(self) -> int:
        """About how many units it has, known before they are."""
        most = CHARACTERS * self._segmenter.longest
        return sum(1 + len(segment) // most for segment in self._document.segments)

    @property
    def cut(self) -> int:
        """How many segments were too long for one unit."""
        return sum(len(units) > 1 for units in self._units)

    def units(self) -> Iterator[Unit]:
        """The units in order. A segment is cut when its turn comes: that of a long one takes time."""
        for number, segment in enumerate(self._document.segments):
            if number < len(self._units):
                yield from self._units[number]
                continue
            self._units.append([])
            for unit in self._segmenter.units(segment):
                self._units[number].append(unit)
                yield unit

    def begin_with(self, prefix: str) -> None:
        """Make the translation begin so: the sentences of the prefix are those of the text, its last one goes on."""
        count = len(list(self.units()))
        rest = prefix.removeprefix(self._document.head)
        begun = [rest] if count == 1 else [sentence.strip() for sentence in self._segmenter.split(rest)]
        if len(begun) > count:
            raise ConfigurationError(
                f"the prefix has {counted(len(begun), 'sentence')}, more than the {count:,} of the text that are "
                "translated; give the beginning of its translation"
            )
        given = iter(enumerate(begun, start=1))
        self._units = [[_begun(unit, *next(given, (0, "")), len(begun)) for unit in units] for units in self._units]

    def join(self, translations: Sequence[str]) -> str:
        """The text with the translation of each unit in its place, and everything else as it was."""
        left = iter(translations)
        return self._document.join([_joined(units, [next(left) for _ in units]) for units in self._units])


class MessagePassage(Passage):
    """An ICU message: the text around its arguments, and each of their branches, is a passage of its own."""

    def __init__(self, message: Message, text: str, segmenter: Segmenter) -> None:
        self._message, self._text = message, text
        self._passages = [Passage(split_text(each.plain, segmenter.split), segmenter) for each in message.messages()]

    @property
    def size(self) -> int:
        return sum(passage.size for passage in self._passages)

    @property
    def cut(self) -> int:
        return sum(passage.cut for passage in self._passages)

    def units(self) -> Iterator[Unit]:
        for passage in self._passages:
            yield from passage.units()

    def begin_with(self, prefix: str) -> None:
        self._passages[0].begin_with(prefix)

    def join(self, translations: Sequence[str]) -> str:
        left = iter(translations)
        texts = [passage.join([next(left) for _ in passage.units()]) for passage in self._passages]
        return written(self._message, self._text, texts)


def _begun(unit: Unit, number: int, start: str, count: int) -> Unit:
    """The unit with sentence `number` of a prefix as its translation; with the last one as its beginning."""
    return replace(unit, kept=start) if number < count and number else replace(unit, prefix=start)


def _joined(units: Sequence[Unit], translations: Sequence[str]) -> str:
    if len(units) == 1:
        return translations[0]
    parts, before = list[str](), ""
    for unit, translation in zip(units, map(str.strip, translations), strict=True):
        parts += unit.space_between(before, translation), translation
        before = translation or before
    return "".join(parts)


def _joined_at_spans(cut: Iterable[str], spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The pieces of a text, joined again where a cut went through a span."""
    whole, at = "", 0
    for piece in cut:
        before = bisect_left(spans, (at, at)) - 1  # the last span that starts before the cut
        if before >= 0 and at < spans[before][1]:
            whole += piece
        else:
            if whole:
                yield whole
            whole = piece
        at += len(piece)
    if whole:
        yield whole


def _beginning(part: str) -> str:
    """The span or the mark that a part begins with."""
    spans = protected_spans(part)
    if spans and spans[0][0] == 0:
        return part[: spans[0][1]]
    return "" if part[0].isalnum() else part[0]
