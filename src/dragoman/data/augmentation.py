"""Training pairs with stand-ins at corresponding places of both sides.

Few corpora hold tags, placeholders or addresses, so a network would hardly ever see the stand-ins of protected spans
(data/protection.py), and never around a word, in a row, or at the ends of a sentence. A share of the training pairs is
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

from dragoman.data.protection import STANDINS, mask_pair, number_standins, spaced
from dragoman.graph import Array

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
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Lexicon:
    """Which words translate each other: the Dice coefficient of the pairs that hold them."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._ids: tuple[dict[str, int], dict[str, int]] = ({}, {})
        counts: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
        together = []
        for pair in pairs:
            sides = [sorted(set(self._numbered(text, side))) for side, text in enumerate(pair)]
            counts[0].update(sides[0])
            counts[1].update(sides[1])
            together.append(np.add.outer(np.array(sides[0], np.int64) << 32, np.array(sides[1], np.int64)).ravel())
        keys, seen = np.unique(np.concatenate(together or [np.zeros(0, np.int64)]), return_counts=True)
        kept = seen >= SEEN_TOGETHER
        self._together = dict(zip(keys[kept].tolist(), seen[kept].tolist(), strict=True))
        self._counts = counts

    def _numbered(self, text: str, side: int) -> list[int]:
        ids = self._ids[side]
        return [ids.setdefault(word, len(ids)) for word, _, _ in words(text)]

    def association(self, source: str, reference: str) -> float:
        """2 c(s, r) / (c(s) + c(r)), 0 for words that are hardly ever seen together; 1 for one word on both sides."""
        if source == reference and len(source) > 2:
            return 1.0
        s, r = self._ids[0].get(source, -1), self._ids[1].get(reference, -1)
        together = self._together.get((s << 32) + r, 0) if min(s, r) >= 0 else 0
        return 2 * together / (self._counts[0][s] + self._counts[1][r]) if together else 0.0

    def links(self, source: Sequence[Word], reference: Sequence[Word]) -> list[Link]:
        """Words that stand once on their side and are each other's best, in the order of the source."""
        if not source or not reference:
            return []
        table = np.array([[self.association(s[0], r[0]) for r in reference] for s in source])
        for side, each in enumerate((source, reference)):
            often = Counter(word for word, _, _ in each)
            repeated = [i for i, (word, _, _) in enumerate(each) if often[word] > 1]
            table[(repeated, slice(None)) if side == 0 else (slice(None), repeated)] = 0
        best, back = table.argmax(axis=1), table.argmax(axis=0)
        return [(i, int(j)) for i, j in enumerate(best) if table[i, j] >= ASSOCIATED and back[j] == i]


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
        if not all(sides):
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
            for a in self.links
            for b in self.links
            if 0 < b[0] - a[0] < LONGEST_PHRASE and 0 < b[1] - a[1] < LONGEST_PHRASE and self._closed(a, b)
        ]
        return self._enclosed(*phrases[draws.below(len(phrases))]) if phrases else []

    def _closed(self, a: Link, b: Link) -> bool:
        within = [(a[0] <= i <= b[0], a[1] <= j <= b[1], (i, j) in self.unused) for i, j in self.links]
        return all(source == reference and (unused or not source) for source, reference, unused in within)

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
