"""Words as pieces and affixes: what tells the tag of a word that training never saw.

A word is the pieces of a tokenizer, followed by one label for how it is written and how it ends: "Running" gives ▁Runn
##ing and "Aa ing". A tokenizer cuts words from the left, so that endings come out in many ways; this label does not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from dragoman.batch import UNKNOWN
from dragoman.data.stores import LABEL
from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.errors import FileFormatError
from dragoman.graph import Array

ENDING = 3  # letters of an ending at most
SHORTEST = 4  # letters of a word that has an affix; shorter ones are their own ending
FREQUENT = 5  # words that an affix is learnt from


@dataclass(frozen=True, eq=False)
class WordPieces:
    """Encodes words: the labels of the tokenizer's pieces, then those of the affixes."""

    tokenizer: Tokenizer
    affixes: tuple[str, ...]

    file: ClassVar[str] = "pieces"

    @property
    def size(self) -> int:
        return self.tokenizer.size + len(self.affixes)

    @classmethod
    def learn(cls, sentences: Iterable[Sequence[str]], kind: Kind = "wordpiece", size: int | None = None) -> WordPieces:
        """Pieces of the words of some sentences, and the affixes that several of the words have."""
        words: Counter[str] = Counter()

        def texts() -> Iterable[str]:
            for sentence in sentences:
                words.update(sentence)
                yield " ".join(sentence)

        tokenizer = Tokenizer.train(texts(), kind, size)
        counts = Counter(affix for word in words for affix in affixes_of(word))
        kept = sorted(affix for affix, count in counts.items() if count >= FREQUENT or affix in SHAPES)
        return cls(tokenizer, tuple(kept))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {affix: self.tokenizer.size + i for i, affix in enumerate(self.affixes)}

    def encode(self, words: Sequence[str]) -> list[Array]:
        """The labels of each word, at least one."""
        return [self._encode(word, pieces) for word, pieces in zip(words, self.tokenizer.encode(words), strict=True)]

    def _encode(self, word: str, pieces: Array) -> Array:
        labels = pieces if len(pieces) else np.array([UNKNOWN], LABEL)
        known = next((self._numbers[affix] for affix in affixes_of(word) if affix in self._numbers), None)
        return labels if known is None else np.append(labels, known).astype(LABEL)

    def to_json(self) -> str:
        tokenizer = json.loads(self.tokenizer.to_json())
        return json.dumps({"affixes": list(self.affixes), "tokenizer": tokenizer}, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> WordPieces:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            affixes, tokenizer = tuple(map(str, found["affixes"])), json.dumps(found["tokenizer"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise FileFormatError(f"{path} cannot be read as word pieces: {error!r}") from None
        return cls(Tokenizer.from_json(tokenizer, path), affixes)


SHAPES = ("a", "Aa", "AA", "a0", "0")


def affixes_of(word: str) -> list[str]:
    """How a word is written and ends, the most particular first: Running gives "Aa ing", "Aa ng", "Aa g", "Aa"."""
    if len(word) < SHORTEST or not any(character.isalnum() for character in word):
        return []
    shape = shape_of(word)
    return [*(f"{shape} {word[-letters:].lower()}" for letters in range(ENDING, 0, -1)), shape]


def shape_of(word: str) -> str:
    """One of SHAPES: lower case, capitalized, capitals, with digits, digits alone."""
    if word.isdigit():
        return "0"
    if any(character.isdigit() for character in word):
        return "a0"
    if not word[0].isupper():
        return "a"
    return "AA" if word.isupper() else "Aa"
