"""Training pairs with stand-ins at corresponding places of both sides.

Few corpora hold tags, placeholders or addresses, so a network would hardly ever see the stand-ins of protected spans
(text/protection.py), and never around a word, in a row, or at the ends of a sentence. A share of the training pairs is
therefore given some: before the first word, after the last, around a word and its translation, around a phrase or the
whole sentence, between two words, and in place of a word. Which words translate each other is estimated from the
training pairs themselves. A hash of the pair draws what becomes of it: the same corpus always gives the same dataset.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise

import numpy as np

from dragoman.graph import Array
from dragoman.text.protection import STANDINS, mask_pair, number_standins, spaced

Pair = tuple[str, str]
Word = tuple[str, int, int]  # in lower case, where it starts and stops
Link = tuple[int, int]  # a source word and the reference word that translates it, by their places
Edit = tuple[int, int, int, str]  # start, rank among edits that start there, stop of what it replaces, a stand-in

TEACHING = 2  # version of how pairs are masked and augmented: a training is only resumed with the pairs it began with
AUGMENTED = 0.4  # share of the training pairs, as long as these are not more than ENOUGH
ENOUGH = 6_000
SAMPLE = 20_000  # pairs that the lexicon is estimated from: memory is bounded, and more pairs find few more words
SEEN_TOGETHER = 2  # pairs that must hold two words for them to be linked; one may be chance
ASSOCIATED = 0.3  # Dice coefficient from which two words are linked
LONGEST_PHRASE = 3
MOST_WORDS = 2_000  # of a side of a pair that is augmented and learnt from; a longer one is not trained on (dataset.py)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Lexicon:
    """Which words translate each other: the Dice coefficient of the pairs that hold them.

    The words of a pair are counted for one source word after the other, and only translations are kept: a table of
    all words that are seen together would need memory that grows with the square of the length of pairs.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._ids: dict[str, int] = {}
        where: dict[str, list[Array]] = {}
        references = [np.zeros(0, np.int64)]
        for pair in pairs:
            source, reference = self._distinct(pair)
            references.append(reference)
            for word in source:
                where.setdefault(word, []).append(reference)
        self._words = list(self._ids)
        self._counts = np.bincount(np.concatenate(references), minlength=len(self._words))
        self._translations = {word: self._associated(beside) for word, beside in where.items()}

    def _distinct(self, pair: Pair) -> tuple[set[str], Array]:
        """The words of both sides, each once, those of the reference by number; none of a pair with too many."""
        source, reference = (words(text) for text in pair)
        if max(len(source), len(reference)) > MOST_WORDS:
            return set(), np.zeros(0, np.int64)
        numbers = {self._ids.setdefault(word, len(self._ids)) for word, _, _ in reference}
        return {word for word, _, _ in source}, np.array(list(numbers), np.int64)

    def _associated(self, beside: Sequence[Array]) -> dict[str, float]:
        """2 c(s, r) / (c(s) + c(r)) of the reference words of the pairs that hold s, for those that translate it."""
        if len(beside) < SEEN_TOGETHER:
            return {}
        seen = np.bincount(np.concatenate(beside), minlength=len(self._words))
        found = np.flatnonzero(seen >= SEEN_TOGETHER)
        dice = 2 * seen[found] / (len(beside) + self._counts[found])
        kept = dice >= ASSOCIATED
        return {self._words[i]: each for i, each in zip(found[kept].tolist(), dice[kept].tolist(), strict=True)}

    def translations(self, word: str) -> dict[str, float]:
        """The words that a source word is linked with, by their association; a word on both sides has 1."""
        found = self._translations.get(word, {})
        return {**found, word: 1.0} if len(word) > 2 else found

    def links(self, source: Sequence[Word], reference: Sequence[Word]) -> list[Link]:
        """Words that stand once on their side and are each other's best, in the order of the source.

        Of words that are equally good, the first one is the best.
        """
        places, others = _places_of_single_words(source), _places_of_single_words(reference)
        best: dict[int, tuple[float, int]] = {}
        back: dict[int, tuple[float, int]] = {}
        for word, i in places.items():
            for other, association in self.translations(word).items():
                if (j := others.get(other)) is not None:
                    best[i] = max(best.get(i, (0.0, 0)), (association, -j))
                    back[j] = max(back.get(j, (0.0, 0)), (association, -i))
        return [(i, -j) for i, (_, j) in best.items() if back[-j][1] == -i]


def _places_of_single_words(side: Sequence[Word]) -> dict[str, int]:
    often = Counter(word for word, _, _ in side)
    return {word: i for i, (word, _, _) in enumerate(side) if often[word] == 1}


class Augmentation:
    """Gives a share of the pairs stand-ins, at places that correspond by the lexicon of these training pairs."""

    def __init__(self, training: Sequence[Pair], share: float) -> None:
        self.lexicon, self.share = Lexicon(training), share

    def __call__(self, source: str, reference: str) -> Pair:
        """The pair as it is trained on: spans masked (see `mask_pair`), stand-ins added if it is among the share."""
        masked = mask_pair(source, reference)
        draws = Draws(f"{source}\n{reference}")
        if draws.fraction() >= self.share:
            return spaced_pair(masked)
        first = 0 if draws.below(4) else draws.below(len(STANDINS))  # so that the later ones are learnt too
        return spaced_pair(number_standins(*self._with_standins(masked, draws), first))

    def _with_standins(self, pair: Pair, draws: Draws) -> Pair:
        free = [standin for standin in STANDINS if standin not in pair[0] + pair[1]]
        sides = words(pair[0]), words(pair[1])
        if not all(sides) or max(map(len, sides)) > MOST_WORDS:
            return pair
        places = Places(sides, self.lexicon.links(*sides))
        edits: tuple[list[Edit], list[Edit]] = ([], [])
        for _ in range(1 + draws.below(4)):
            chosen = places.draw(draws, len(free))
            for source_place, reference_place in chosen:
                standin = free.pop(0)
                edits[0].append((*source_place, standin))
                edits[1].append((*reference_place, standin))
        return edited(pair[0], edits[0]), edited(pair[1], edits[1])


Place = tuple[int, int, int]  # start, rank, stop


class Places:
    """Where stand-ins may go in one pair; no word is used twice."""

    def __init__(self, sides: tuple[list[Word], list[Word]], links: list[Link]) -> None:
        self.sides, self.links, self.unused = sides, links, list(links)
        self.neighbours = [(a, b) for a, b in pairwise(links) if a[0] + 1 == b[0] and a[1] + 1 == b[1]]
        self.ends = [self._first, self._last, self._whole]

    def draw(self, draws: Draws, room: int) -> list[tuple[Place, Place]]:
        """The places of one or two stand-ins, on both sides; none if there is no room."""
        kinds = [self._around, self._around, self._around_phrase, self._instead, self._instead]
        kinds = [*kinds, self._between, *self.ends] if self.links else self.ends
        if room < 2 or not kinds:
            return []
        return kinds[draws.below(len(kinds))](draws)

    def _first(self, draws: Draws) -> list[tuple[Place, Place]]:
        self.ends.remove(self._first)
        return [((0, -3, 0), (0, -3, 0))]

    def _last(self, draws: Draws) -> list[tuple[Place, Place]]:
        """After the last word, or after the mark behind it."""
        self.ends.remove(self._last)
        if draws.below(2):
            far = 1 << 30
            return [((far, 1, far), (far, 1, far))]
        source, reference = (side[-1][2] for side in self.sides)
        return [((source, 1, source), (reference, 1, reference))]

    def _whole(self, draws: Draws) -> list[tuple[Place, Place]]:
        self.ends.remove(self._whole)
        source, reference = ((side[0][1], side[-1][2]) for side in self.sides)
        return [
            ((source[0], -2, source[0]), (reference[0], -2, reference[0])),
            ((source[1], 2, source[1]), (reference[1], 2, reference[1])),
        ]

    def _around(self, draws: Draws) -> list[tuple[Place, Place]]:
        if not self.unused:
            return []
        link = self.unused[draws.below(len(self.unused))]
        return self._enclosed(link, link)

    def _around_phrase(self, draws: Draws) -> list[tuple[Place, Place]]:
        """Around some words in a row that are linked to words in a row, and to nothing else."""
        phrases = [
            (a, b)
            for i, a in enumerate(self.links)
            for b in self.links[i + 1 : i + LONGEST_PHRASE]  # links are in the order of the source
            if b[0] - a[0] < LONGEST_PHRASE and 0 < b[1] - a[1] < LONGEST_PHRASE and self._closed(a, b)
        ]
        return self._enclosed(*phrases[draws.below(len(phrases))]) if phrases else []

    def _closed(self, a: Link, b: Link) -> bool:
        within = [link for link in self.links if a[0] <= link[0] <= b[0]]
        beside = [link for link in self.links if a[1] <= link[1] <= b[1]]
        return within == beside and all(link in self.unused for link in within)

    def _enclosed(self, a: Link, b: Link) -> list[tuple[Place, Place]]:
        self.unused = [(i, j) for i, j in self.unused if not a[0] <= i <= b[0]]
        starts = [self.sides[side][a[side]][1] for side in (0, 1)]
        stops = [self.sides[side][b[side]][2] for side in (0, 1)]
        return [
            ((starts[0], 0, starts[0]), (starts[1], 0, starts[1])),
            ((stops[0], 0, stops[0]), (stops[1], 0, stops[1])),
        ]

    def _instead(self, draws: Draws) -> list[tuple[Place, Place]]:
        """Instead of a word that is long enough to be a noun or a name, as most protected spans are."""
        long = [link for link in self.unused if len(self.sides[0][link[0]][0]) > 3]
        if not long:
            return []
        link = long[draws.below(len(long))]
        self.unused.remove(link)
        source, reference = (self.sides[side][link[side]] for side in (0, 1))
        return [((source[1], 0, source[2]), (reference[1], 0, reference[2]))]

    def _between(self, draws: Draws) -> list[tuple[Place, Place]]:
        if not self.neighbours:
            return []
        _, link = self.neighbours.pop(draws.below(len(self.neighbours)))
        source, reference = (self.sides[side][link[side]][1] for side in (0, 1))
        return [((source, -1, source), (reference, -1, reference))]


class Draws:
    """Numbers that a text decides."""

    def __init__(self, text: str) -> None:
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=64, person=b"augment")
        self._left = int.from_bytes(digest.digest(), "little")

    def below(self, count: int) -> int:
        self._left, drawn = divmod(self._left, count)
        return drawn

    def fraction(self) -> float:
        return self.below(1 << 32) / (1 << 32)


def share_of(pairs: int) -> float:
    """The share of so many training pairs that is augmented: few pairs need many, of many a part is enough."""
    return min(AUGMENTED, ENOUGH / max(1, pairs))


def sampled(samples: Array) -> Array:
    """As many of the samples as a lexicon is estimated from, evenly taken."""
    return samples[:: max(1, len(samples) // SAMPLE)]


def words(text: str) -> list[Word]:
    return [(match[0].lower(), match.start(), match.end()) for match in _WORD.finditer(text)]


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with stand-ins put in; those that start at one place stand in the order of their ranks."""
    parts: list[str] = []
    at = 0
    for start, _, stop, standin in sorted(edits):
        parts += text[at:start], standin
        at = max(at, min(stop, len(text)))
    return "".join(parts) + text[at:]


def spaced_pair(pair: Pair) -> Pair:
    return spaced(pair[0]), spaced(pair[1])
