"""Put protected spans where they belong in a translation.

Pairs of tags, and emoji at the ends, say nothing about the sentence: the network translates it without
them, as well as it can, and then tells where they belong: by the probability of the translation with them at the places
that they might take, and by which of its words depend on the words that they were around. If that says little,
they go about where the source has them. All other spans stand for something, so the network reads and writes their
stand-ins; one that it loses is placed by its probability too. No sentence is ever cut at its spans.

What a network has to judge is bounded: the places nearest to the one in the source, the words that a pair of tags fits
best, and for each translation only so many in all. Where that is used up, the place in the source decides. So a text
that is nothing but spans costs little more than one of words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from dragoman.graph import Array
from dragoman.text.markup import UNIT, Markup, TagPair, removed
from dragoman.text.protection import STANDINS, Masked, spaced
from dragoman.text.sentences import collapsed
from dragoman.text.spacing import STANDIN

TRUST = 5.0  # weight of what words depend on, beside the probability of the tags
DOUBT = 0.5  # nats of difference from which it says something
SURE = 0.02  # the least probability that a word belongs, or does not
DISTANCE = 12.0  # nats for a stand-in as far from its place in the source as the text is long
TAG_DISTANCE = 25.0  # the same for a pair of tags
KEPT = 4  # texts that are kept while one pair of tags after the other is placed
SPREAD = 2  # words that a pair of tags may enclose more, or fewer, than in the source
NEAREST = 16  # places of a stand-in that are compared
LIKELIEST = 24  # texts with one more pair of tags that are compared ...
TRIED = 96  # ... of so many that it might be in
COMPARED, COMPARED_PER_WORD = 24, 4  # texts that are compared for one translation
_GAP = re.compile(r"(?<![^\W_])(?=[^\W_])|(?=[^\w\s])|$")  # before a word, before a mark, at the end
_ENDING_MARKS = frozenset(".!?…")

Pair = tuple[str, str]  # a source and a translation of it
T = TypeVar("T")
# Work that asks a network: it yields pairs, is sent log p of each word of their translations (between spaces) and of
# their ends [words + 1], and returns what it found. Much such work can ask at once, and its pairs be judged together.
Asking = Generator[list[Pair], Sequence[Array], T]


@dataclass(frozen=True)
class _Candidate:
    """A translation with a span at one of its places.

    prior       nats for what speaks for this place by itself
    likelihood  log p of the text, or as long as that is not known, of the one that it was made from
    """

    text: str
    prior: float
    likelihood: float = 0.0

    @property
    def score(self) -> float:
        return self.prior + self.likelihood


@dataclass
class _Judge:
    """Compares translations of a text; `left` is how many more it may."""

    source: str
    left: int

    def ranked(self, candidates: Sequence[_Candidate], most: int) -> Asking[list[_Candidate]]:
        """The most promising candidates, by what the network thinks of them, best first."""
        scores = np.array([candidate.score for candidate in candidates])
        chosen = np.sort(np.argsort(-scores, kind="stable")[: max(1, min(most, self.left))])
        found = [candidates[i] for i in chosen]
        if len(found) > 1:
            self.left -= len(found)
            judged = yield [(self.source, candidate.text) for candidate in found]
            found = [replace(c, likelihood=float(words.sum())) for c, words in zip(found, judged, strict=True)]
        return sorted(found, key=lambda candidate: -candidate.score)


def restoring(text: str, masked: Masked, fixed: int = 0) -> Asking[str]:
    """A translation with every stand-in of its source exactly once.

    One that is missing goes to the place where the network finds it most probable; a pair of tags around the words that
    depend most on those it was around. Of stand-ins that are too many, the most probable stays. `fixed` characters at
    the beginning stay as they are.
    """
    wanted, markup = STANDIN.findall(masked.text), Markup(masked)
    text = removed(text, [standin for standin in STANDINS if standin not in wanted or standin in markup.hidden])
    if not wanted:
        return text
    judge = _Judge(spaced(masked.text), COMPARED + COMPARED_PER_WORD * markup.words)
    for standin in wanted:
        if text.count(standin) > 1:
            texts = _with_one_of(text, standin, _share(masked.text, standin))
            text = yield from _placed(texts, standin, masked, judge)
    if not fixed:
        text = spaced(markup.first + text + markup.last)
    tags = {standin for pair in markup.pairs for standin in (pair.opening, pair.closing)}
    for standin in wanted:
        if standin not in text and standin not in tags:
            behind = masked.text.rstrip().endswith(standin)
            texts = _with(text, standin, fixed, behind, _share(masked.text, standin))
            text = yield from _placed(texts, standin, masked, judge)
    return (yield from _tagged(text, markup, masked, judge, fixed))


class Rounds(Generic[T]):
    """Much work at once, in rounds: all that it asks in one round can be judged together.

    asked     pairs to judge; none when all is done
    finished  what was done since the last round: its number, and what it found
    """

    def __init__(self, work: Sequence[Asking[T]]) -> None:
        self.asked: list[Pair] = []
        self.finished: list[tuple[int, T]] = []
        self._waiting: list[tuple[int, Asking[T], int]] = []  # which it is, and how many pairs it asks
        for i, each in enumerate(work):
            self._ask(i, each, None)

    def answer(self, judged: Sequence[Array]) -> None:
        """Hand on what the network thinks of the pairs, and ask for the next ones."""
        waiting = self._waiting
        self._waiting, self.asked, self.finished = [], [], []
        at = 0
        for i, each, count in waiting:
            self._ask(i, each, judged[at : at + count])
            at += count

    def _ask(self, i: int, each: Asking[T], answer: Sequence[Array] | None) -> None:
        try:
            pairs = next(each) if answer is None else each.send(answer)
        except StopIteration as end:
            self.finished.append((i, end.value))
        else:
            self.asked += pairs
            self._waiting.append((i, each, len(pairs)))


def all_of(work: Sequence[Asking[T]]) -> Asking[list[T]]:
    """What each of these finds, all asking together."""
    rounds = Rounds(work)
    found = dict(rounds.finished)
    while rounds.asked:
        rounds.answer((yield rounds.asked))
        found |= dict(rounds.finished)
    return [found[i] for i in range(len(work))]


def _placed(texts: Sequence[str], standin: str, masked: Masked, judge: _Judge) -> Asking[str]:
    """The most probable of some texts with a stand-in; if that says little, with it about where the source has it."""
    wanted = _share(masked.text, standin)
    candidates = [_Candidate(text, -DISTANCE * abs(_share(text, standin) - wanted)) for text in texts]
    return (yield from judge.ranked(candidates, NEAREST))[0].text


def _share(text: str, standin: str) -> float:
    """The share of a text's letters that stand before a stand-in."""
    return _letters(text.partition(standin)[0]) / max(1, _letters(text))


def _tagged(text: str, markup: Markup, masked: Masked, judge: _Judge, fixed: int) -> Asking[str]:
    """The text with each pair of tags around the words that translate those it was around.

    One pair is placed after the other. The best few texts are kept: a pair that took the words of another shows only
    when that one is placed.
    """
    missing = [pair for pair in markup.pairs if pair.opening not in text]
    belonging = yield from _belonging(missing, removed(text, markup.hidden), markup, masked)
    kept = [_Candidate(text, 0.0)]
    for pair in missing:
        middle = (_share(masked.text, pair.opening) + _share(masked.text, pair.closing)) / 2
        around = _around(kept, pair, belonging.get(pair), middle, markup, fixed)
        nested = [candidate for candidate in around if markup.is_nested(candidate.text)]
        right = [candidate for candidate in nested if pair.encloses(candidate.text, markup.hidden)]
        if not nested:
            around = list(_around_nothing(kept, pair, middle, fixed))
            nested = [candidate for candidate in around if markup.is_nested(candidate.text)]
        kept = (yield from judge.ranked(right or nested or around, LIKELIEST))[:KEPT]
    return kept[0].text


def _around(
    texts: Sequence[_Candidate], pair: TagPair, odds: Array | None, middle: float, markup: Markup, fixed: int
) -> list[_Candidate]:
    """The texts with a pair of tags around the words in a row that it fits best, in the order of their places.

    It fits by what the words depend on, and by how far it is from its place in the source.
    """
    found: list[tuple[float, int, int, _Candidate]] = []
    for candidate in texts:
        places = np.array(list(_stretches(candidate.text, pair, markup, fixed)), np.int64).reshape(-1, 2)
        before = _letters_before(candidate.text)
        starts, stops = before[places].T
        shift = np.abs((starts + stops) / 2 / max(1, before[-1]) - middle)
        sums = np.zeros(1 + before[-1]) if odds is None else np.cumsum([0.0, *odds])
        fits = TRUST * (sums[stops] - sums[starts]) - TAG_DISTANCE * shift
        found += [(fit, *place, candidate) for fit, place in zip(fits.tolist(), places.tolist(), strict=True)]
    scores = np.array([fit + candidate.score for fit, *_, candidate in found])
    best = np.sort(np.argsort(-scores, kind="stable")[:TRIED])
    return [_enclosing(pair, *found[i]) for i in best]


def _enclosing(pair: TagPair, fit: float, start: int, stop: int, candidate: _Candidate) -> _Candidate:
    text = candidate.text
    text = spaced(f"{text[:start]}{pair.opening}{text[start:stop]}{pair.closing}{text[stop:]}")
    return replace(candidate, text=text, prior=candidate.prior + fit)


def _stretches(text: str, pair: TagPair, markup: Markup, fixed: int) -> Iterator[tuple[int, int]]:
    """Where words in a row start and stop, about as many as the pair of tags is around in the source.

    A pair that is around all words, or around nothing but spans, is so again.
    """
    units = [match for match in UNIT.finditer(text, fixed) if match[0] not in markup.hidden]
    if pair.words == len(pair.spans):
        units = [match for match in units if match[0] in pair.spans]
    every = _is_around_all(pair, markup)
    for i, first in enumerate(units[:1] if every else units):
        fewest, most = max(i, i + pair.words - SPREAD - 1), i + pair.words + SPREAD
        for last in units[-1:] if every else units[fewest:most]:
            yield first.start(), last.end()


def _is_around_all(pair: TagPair, markup: Markup) -> bool:
    """Whether it is around all words, or around nothing but spans."""
    return pair.words in (markup.words, len(pair.spans))


def _around_nothing(texts: Sequence[_Candidate], pair: TagPair, middle: float, fixed: int) -> Iterator[_Candidate]:
    for candidate in texts:
        for text in _with(candidate.text, pair.opening + pair.closing, fixed, True, middle):
            shift = abs(_share(text, pair.opening) - middle)
            yield replace(candidate, text=text, prior=candidate.prior - TAG_DISTANCE * shift)


def _belonging(pairs: Sequence[TagPair], text: str, markup: Markup, masked: Masked) -> Asking[Mapping[TagPair, Array]]:
    """By pair of tags, how much the words of a translation without markup belong to the words inside it (`_odds`)."""
    asked = [pair for pair in pairs if not _is_around_all(pair, markup)]
    if not asked or not text:
        return {}
    sources = [masked.text]
    for pair in asked:
        start, stop = pair.place(masked.text)
        sources += masked.text[:start] + masked.text[stop:], masked.text[start:stop]
    found = yield [(removed(spaced(source), markup.hidden), text) for source in sources]
    whole, *parts = (words[:-1].tolist() for words in found)
    return {
        pair: _odds(text, pair.words / max(1, markup.words), whole, outside, inside)
        for pair, outside, inside in zip(asked, parts[::2], parts[1::2], strict=True)
    }


def _odds(
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


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _letters_before(text: str) -> Array:
    """[characters + 1] How many letters stand before each character of a text, and before its end."""
    return np.cumsum([0, *map(str.isalnum, text)])


def _with_one_of(text: str, standin: str, wanted: float) -> list[str]:
    """The text with one of these stand-ins, each of those that are nearest to this share of its letters."""
    pieces = re.split(f"( ?{standin})", text)
    before = np.cumsum([_letters(piece) for piece in pieces])[1::2]
    return [
        collapsed("".join(piece for j, piece in enumerate(pieces) if j % 2 == 0 or j == 2 * i + 1))
        for i in _nearest(before / max(1, _letters(text)), wanted)
    ]


def _with(text: str, standin: str, fixed: int, behind: bool, wanted: float) -> list[str]:
    """The text with one more stand-in, at the places between two words nearest to this share of its letters.

    Behind its last mark only if `behind`.
    """
    behind = behind or text[-1:] not in _ENDING_MARKS
    gaps = [match.start() for match in _GAP.finditer(text, min(fixed, len(text)))]
    gaps = [at for at in gaps if behind or at < len(text)] or [len(text)]
    before = _letters_before(text)
    nearest = [gaps[i] for i in _nearest(before[gaps] / max(1, before[-1]), wanted)]
    return list(dict.fromkeys(spaced(text[:at] + standin + text[at:]) for at in nearest))


def _nearest(shares: Array, wanted: float) -> Array:
    """Which of some shares are nearest to one, in their order."""
    return np.sort(np.argsort(np.abs(shares - wanted), kind="stable")[:NEAREST])
