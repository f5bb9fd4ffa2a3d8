"""Protected spans in a translation: what the network reads of them, and where they belong in what it wrote.

Pairs of tags, and emoji at the ends, say nothing about the sentence: the network translates it without
them, as well as it can, and then tells where they belong: by the probability of the translation with them at every
place that they might take, and by which of its words depend on the words that they were around. If that says little,
they go about where the source has them. All other spans stand for something, so the network reads and writes their
stand-ins; one that it loses is placed by its probability too. No sentence is ever cut at its spans.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from dragoman.graph import Array
from dragoman.text.protection import CLOSING_TAG, OPENING_TAG, STANDINS, Masked, is_emoji, spaced
from dragoman.text.sentences import collapsed
from dragoman.text.spacing import STANDIN

TRUST = 5.0  # weight of what words depend on, beside the probability of the tags
DOUBT = 0.5  # nats of difference from which it says something
SURE = 0.02  # the least probability that a word belongs, or does not
DISTANCE = 12.0  # nats for a stand-in as far from its place in the source as the text is long
TAG_DISTANCE = 25.0  # the same for a pair of tags
KEPT = 4  # texts that are kept while one pair of tags after the other is placed
SPREAD = 2  # words that a pair of tags may enclose more, or fewer, than in the source
_GAP = re.compile(r"(?<![^\W_])(?=[^\W_])|(?=[^\w\s])|$")  # before a word, before a mark, at the end
_UNIT = re.compile(rf"[^\W_]+(?:['’][^\W_]+)*|{STANDIN.pattern}")  # a word, or what stands for one
_ENDING_MARKS = frozenset(".!?…")


@dataclass(frozen=True)
class Judge:
    """What a network thinks of translations.

    texts  log p of some translations of the text with all its stand-ins
    words  log p of each word (between spaces) of a translation, given a source
    """

    texts: Callable[[Sequence[str]], Sequence[float]]
    words: Callable[[str, str], Sequence[float]]


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
        found = [match[0] for match in _UNIT.finditer(self.inside(text)) if match[0] not in hidden]
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
        self.words = sum(unit not in self.hidden for unit in _UNIT.findall(masked.text))
        self.related = {(p, q): _relation(p, q, masked.text) for p, q in combinations(self.pairs, 2)}

    def _known(self, pair: TagPair, text: str) -> TagPair:
        units = [unit for unit in _UNIT.findall(pair.inside(text)) if unit not in self.hidden]
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


def restored(text: str, masked: Masked, judge: Judge, fixed: int = 0) -> str:
    """A translation with every stand-in of its source exactly once.

    One that is missing goes to the place where the network finds it most probable, all places compared; a pair of tags
    around the words that depend most on those it was around. Of stand-ins that are too many, the least probable is
    taken out. `fixed` characters at the beginning stay as they are.
    """
    wanted, markup = STANDIN.findall(masked.text), Markup(masked)
    text = removed(text, [standin for standin in STANDINS if standin not in wanted or standin in markup.hidden])
    if not wanted:
        return text
    for standin in wanted:
        while text.count(standin) > 1:
            text = _best(_without(text, standin), judge.texts)
    if not fixed:
        text = spaced(markup.first + text + markup.last)
    opening = {pair.opening: pair for pair in markup.pairs}
    closing = {pair.closing for pair in markup.pairs}
    for standin in wanted:
        if standin not in text and standin not in opening and standin not in closing:
            behind = masked.text.rstrip().endswith(standin)
            text = _placed(list(dict.fromkeys(_with(text, standin, fixed, behind))), standin, masked, judge)
    return _tagged(text, markup, masked, judge, fixed)


def _placed(candidates: list[str], standin: str, masked: Masked, judge: Judge) -> str:
    """The most probable of some texts with a stand-in; if that says little, with it about where the source has it."""
    scores = np.array(judge.texts(candidates))
    scores -= DISTANCE * np.array([abs(_share(each, standin) - _share(masked.text, standin)) for each in candidates])
    return candidates[int(scores.argmax())]


def _share(text: str, standin: str) -> float:
    """The share of a text's letters that stand before a stand-in."""
    return _letters(text.partition(standin)[0]) / max(1, _letters(text))


def _tagged(text: str, markup: Markup, masked: Masked, judge: Judge, fixed: int) -> str:
    """The text with each pair of tags around the words that translate those it was around.

    One pair is placed after the other. The best few texts are kept: a pair that took the words of another shows only
    when that one is placed.
    """
    texts, bare = [text], removed(text, markup.hidden)
    belonging: dict[TagPair, Array] = {}
    for pair in markup.pairs:
        if pair.opening in text:
            continue
        texts = _places_for(texts, pair, markup, fixed)
        if len(texts) > 1:
            belonging[pair] = _belonging_to(pair, bare, markup, masked, judge)
            fits = [sum(_fit(each, known, masked, odds) for known, odds in belonging.items()) for each in texts]
            scores = np.array(judge.texts(texts)) + fits
            texts = [texts[i] for i in np.argsort(-scores, kind="stable")[:KEPT]]
    return texts[0]


def _fit(text: str, pair: TagPair, masked: Masked, odds: Array) -> float:
    """How well a pair of tags is placed: by the words that it is around, and by its distance from its source place."""
    before = _letters(text[: pair.place(text)[0]])
    inside = odds[before:][: _letters(pair.inside(text))]
    return TRUST * float(inside.sum()) - TAG_DISTANCE * abs(_middle(text, pair) - _middle(masked.text, pair))


def _middle(text: str, pair: TagPair) -> float:
    """The share of a text's letters that stand before the middle of what a pair of tags is around."""
    return (_share(text, pair.opening) + _share(text, pair.closing)) / 2


def _places_for(texts: Sequence[str], pair: TagPair, markup: Markup, fixed: int) -> list[str]:
    """The texts with a pair of tags at every place that it may take; around nothing only if there is no other."""
    around = [found for text in texts for found in _enclosing(text, pair, markup, fixed)]
    nested = [found for found in around if markup.is_nested(found)]
    right = [found for found in nested if pair.encloses(found, markup.hidden)]
    empty = [found for text in texts for found in _with(text, pair.opening + pair.closing, fixed, True)]
    return right or nested or [found for found in empty if markup.is_nested(found)] or around


def _enclosing(text: str, pair: TagPair, markup: Markup, fixed: int) -> Iterator[str]:
    """The text with a pair of tags around words in a row, about as many as in the source.

    A pair that was around all words, or around nothing but spans, is so again.
    """
    units = [match for match in _UNIT.finditer(text, fixed) if match[0] not in markup.hidden]
    if pair.words == len(pair.spans):
        units = [match for match in units if match[0] in pair.spans]
    every = pair.words in (markup.words, len(pair.spans))
    for i, first in enumerate(units[:1] if every else units):
        fewest, most = max(i, i + pair.words - SPREAD - 1), i + pair.words + SPREAD
        for last in units[-1:] if every else units[fewest:most]:
            start, stop = first.start(), last.end()
            yield spaced(f"{text[:start]}{pair.opening}{text[start:stop]}{pair.closing}{text[stop:]}")


def _belonging(
    text: str, expected: float, whole: Sequence[float], outside: Sequence[float], inside: Sequence[float]
) -> Array:
    """[letters] log-odds that a word of a translation belongs to the words inside the tags, spread over its letters.

    It does as far as it is less probable without them than without all the others. expected: the share of the words
    that are inside; whole, outside, inside: the log p of each word given the source, the words outside, those inside.
    """
    odds: list[float] = []
    for word, likelihood, without_inside, without_outside in zip(text.split(), whole, outside, inside, strict=True):
        needs_inside, needs_outside = max(likelihood - without_inside, 0.0), max(likelihood - without_outside, 0.0)
        share = (needs_inside + DOUBT * expected) / (needs_inside + needs_outside + DOUBT)
        share = min(max(share, SURE), 1 - SURE)
        letters = _letters(word)
        odds += [math.log(share / (1 - share)) / max(1, letters)] * letters
    return np.array(odds)


def _belonging_to(pair: TagPair, text: str, markup: Markup, masked: Masked, judge: Judge) -> Array:
    """[letters] The same log-odds, of a translation without tags and emoji, for the words inside this pair of tags."""
    if not text:
        return np.zeros(0)
    start, stop = pair.place(masked.text)
    sources = (masked.text, masked.text[:start] + masked.text[stop:], masked.text[start:stop])
    read = [removed(spaced(source), markup.hidden) for source in sources]
    return _belonging(text, pair.words / max(1, markup.words), *(judge.words(source, text) for source in read))


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def removed(text: str, standins: Iterable[str]) -> str:
    """The text without some stand-ins and the spaces before them."""
    for standin in standins:
        text = text.replace(f" {standin}", "").replace(standin, "")
    return collapsed(text)


def _without(text: str, standin: str) -> list[str]:
    """The text with each one of these stand-ins taken out."""
    return [collapsed(text[: match.start()] + text[match.end() :]) for match in re.finditer(f" ?{standin}", text)]


def _with(text: str, standin: str, fixed: int, behind: bool) -> Iterator[str]:
    """The text with one more stand-in, at every place between two words; behind its last mark only if `behind`."""
    for match in _GAP.finditer(text, min(fixed, len(text))):
        at = match.start()
        if behind or at < len(text) or text[-1:] not in _ENDING_MARKS:
            yield spaced(text[:at] + standin + text[at:])


def _best(texts: Sequence[str], scores: Callable[[Sequence[str]], Sequence[float]]) -> str:
    if len(texts) == 1:
        return texts[0]
    found = scores(texts)
    return texts[max(range(len(texts)), key=lambda i: found[i])]
