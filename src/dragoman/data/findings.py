"""Find pairs that would teach a translator something wrong: every kind has a name, by which `data clean` drops it."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dragoman.data.corpus import Corpus
from dragoman.data.mending import mend_mojibake
from dragoman.data.pair_encoding import LONGEST
from dragoman.graph import Array
from dragoman.text.languages import CERTAIN, language_evidence, profile
from dragoman.text.sentences import collapsed

SENTENCE = 4  # words of a text that is a sentence rather than a name, if both sides are equal

# By name: what `data check` calls it, and what can be done.
KINDS = {
    "duplicates": ("duplicate pairs", "dragoman data clean removes them"),
    "untranslated": ("sentences that are not translated", "dragoman data clean removes them"),
    "identical": ("source and target identical", "fine for names and numbers; data clean --drop identical"),
    "outliers": ("one side far too long for the other", "dragoman data clean removes them; check some first"),
    "long": (f"more than {LONGEST:,} words on a side", "training leaves them out; cut them into sentences"),
    "replaced": ("a replacement character from a wrong decoding", "data clean --drop replaced"),
    "mojibake": ("letters of a wrong decoding, such as Ã© for é", "dragoman data clean mends them"),
    "control": ("a control character", "dragoman data clean removes it"),
    "invisible": ("an invisible character", "some languages need them; data clean --repair invisible"),
    "nbsp": ("a no-break space", "some languages need them; data clean --repair nbsp"),
    "html": ("an HTML entity or tag", "data clean --repair html for entities, --drop html"),
    "inverted": ("an inverted question or exclamation mark without its partner", "data clean --drop inverted"),
    "swapped": ("source and target seem swapped", "check some; data clean --repair swapped turns them round"),
    "wrong-source": ("source seems to be in the target language", "check some; data clean --drop wrong-source"),
    "wrong-target": ("target seems to be in the source language", "check some; data clean --drop wrong-target"),
}

_MOJIBAKE = re.compile(r"Ã[\x80-\xbf©¡³±­º]|Â[¿¡«»°]|â€")
ODDITIES: dict[str, Callable[[str], object]] = {
    "replaced": re.compile("\ufffd").search,
    "mojibake": lambda text: not text.isascii() and (_MOJIBAKE.search(text) or mend_mojibake(text) != text),
    "control": re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]").search,
    "invisible": re.compile("[\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060\ufeff]").search,
    "nbsp": re.compile("[\u00a0\u202f]").search,
    "html": re.compile(r"&(?:amp|lt|gt|quot|nbsp|#\d+);|</?[a-z]+[^>]*>", re.IGNORECASE).search,
    "inverted": re.compile(r"¿(?!.*\?)|¡(?!.*!)").search,
}


@dataclass(frozen=True)
class Scan:
    """The texts of a side: a hash of each (equal texts have equal keys), its size, and the texts with each oddity."""

    keys: Array
    characters: Array
    words: Array
    odd: dict[str, list[int]]


def scan(corpus: Corpus, side: int) -> Scan:
    keys, sizes = array("Q"), array("l")
    odd: dict[str, list[int]] = {name: [] for name in ODDITIES}
    for chunk in corpus.chunks(side):
        for text in chunk:
            for name, is_odd in ODDITIES.items():
                if is_odd(text):
                    odd[name].append(len(keys))
            keys.append(int.from_bytes(hashlib.blake2b(collapsed(text).encode(), digest_size=8).digest(), "little"))
            sizes.extend((len(text), len(text.split())))
    table = np.asarray(sizes, np.int64).reshape(-1, 2)
    return Scan(np.asarray(keys, np.uint64), table[:, 0], table[:, 1], odd)


class Findings:
    """The pairs of a corpus that have a problem, by its name; computed when asked for."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def items(self, name: str) -> Array:
        """The numbers of the pairs with a problem of KINDS, in order."""
        if name in ODDITIES:
            return np.unique(self.source.odd[name] + self.reference.odd[name]).astype(np.int64)
        found: Array = getattr(self, f"_{name.replace('-', '_')}")()
        return found

    def _duplicates(self) -> Array:
        return np.setdiff1d(np.arange(len(self.corpus)), self.first)

    def _identical(self) -> Array:
        return np.flatnonzero(self.source.keys == self.reference.keys)

    def _untranslated(self) -> Array:
        return np.flatnonzero((self.source.keys == self.reference.keys) & (self.source.words >= SENTENCE))

    def _outliers(self) -> Array:
        return ratio_outliers(self.source.characters, self.reference.characters)

    def _long(self) -> Array:
        return np.flatnonzero(np.maximum(self.source.words, self.reference.words) > LONGEST)

    def _swapped(self) -> Array:
        return np.flatnonzero(self._foreign[0] & self._foreign[1])

    def _wrong_source(self) -> Array:
        return np.flatnonzero(self._foreign[0] & ~self._foreign[1])

    def _wrong_target(self) -> Array:
        return np.flatnonzero(self._foreign[1] & ~self._foreign[0])

    @cached_property
    def source(self) -> Scan:
        return scan(self.corpus, 0)

    @cached_property
    def reference(self) -> Scan:
        return scan(self.corpus, 1)

    @cached_property
    def first(self) -> Array:
        """The first occurrence of every distinct pair, in order."""
        pairs = np.stack((self.source.keys, self.reference.keys), axis=1)
        return np.sort(np.unique(pairs, axis=0, return_index=True)[1])

    @cached_property
    def _foreign(self) -> tuple[Array, Array]:
        """Sources that look like targets, and targets that look like sources, judged by the corpus itself."""
        profiles = [profile(self.corpus.chunks(side)) for side in (0, 1)]
        source, reference = (language_evidence(self.corpus.chunks(side), *profiles) for side in (0, 1))
        return source > CERTAIN, reference < -CERTAIN


def ratio_outliers(source: Array, reference: Array) -> Array:
    """Return pairs whose length ratio is more than 4.5 robust deviations and a factor of 2.5 from the median."""
    ratio = np.log((reference + 5) / (source + 5))  # + 5 damps the variation of short texts
    away = np.abs(ratio - np.median(ratio)) if len(ratio) else ratio
    deviation = 1.4826 * float(np.median(away)) if len(away) else 0.0
    return np.flatnonzero((away > 4.5 * deviation) & (away > np.log(2.5)))
