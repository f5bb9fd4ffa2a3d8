"""Words and their vectors: nearest words, analogies, cosines."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dragoman.errors import ConfigurationError, DataError, ShapeError
from dragoman.graph import Array

AT_A_TIME = 65_536  # vectors to compare at a time


class Near(NamedTuple):
    """A word, and the cosine between its vector and the query."""

    word: str
    cosine: float


def cosine(a: Array, b: Array) -> float:
    """a . b / (|a| |b|)                                                  (book 7.1)"""
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else 0.0


class WordVectors:
    """One vector for each word: words [V], vectors [V, d]."""

    def __init__(self, words: Sequence[str], vectors: Array) -> None:
        if vectors.ndim != 2 or len(words) != len(vectors):
            raise ShapeError(
                f"{len(words)} words, but vectors of shape {vectors.shape}; expected one row for each word"
            )
        self.words = list(words)
        self.vectors = vectors
        self.numbers = {word: number for number, word in enumerate(self.words)}
        if len(self.numbers) < len(self.words):
            raise DataError("a word occurs twice: each must have one vector")

    @classmethod
    def train(cls, text: str | Path, /, **settings: Any) -> WordVectors:
        """Train vectors on a text file; settings are those of `VectorSettings`."""
        from dragoman.tasks.vectors.plan import VectorSettings
        from dragoman.tasks.vectors.training import train_vectors

        return train_vectors(text, VectorSettings(**settings))

    @classmethod
    def load(cls, path: str | Path) -> WordVectors:
        """Load vectors of word2vec, gensim, fastText (.vec) or GloVe."""
        from dragoman.tasks.vectors.files import load_vectors

        return load_vectors(path)

    def save(self, path: str | Path) -> None:
        """Save a word2vec file: .txt, or .bin for the binary format; .gz compresses."""
        from dragoman.tasks.vectors.files import save_vectors

        save_vectors(self, Path(path))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.numbers

    def __getitem__(self, word: str) -> Array:
        """Return the vector of a word; the error for an unknown word suggests a similar one."""
        number = self.numbers.get(word)
        if number is None:
            raise DataError(f"there is no vector for '{word}'{self._meant(word)}")
        row: Array = self.vectors[number]
        return row

    @property
    def depth(self) -> int:
        return int(self.vectors.shape[1])

    def _meant(self, word: str) -> str:
        same = next((known for known in (word.lower(), word.capitalize(), word.upper()) if known in self), None)
        some = self.words[:100_000]  # only the most frequent, because millions take too long
        close = [same] if same else difflib.get_close_matches(word, some, 1, 0.7)
        return f"; did you mean '{close[0]}'?" if close else f"; it is not among the {len(self):,} words"

    def nearest(self, word: str, count: int = 10) -> list[Near]:
        """Return the words whose vectors have the smallest angle with that of `word`, nearest first."""
        return self._nearest_to(self[word], count, [word])

    def analogy(self, a: str, b: str, c: str, count: int = 10) -> list[Near]:
        """Return the words nearest to b - a + c (unit vectors), without a, b and c: a is to b as c is to ..."""
        first, second, third = self.units([a, b, c])
        return self._nearest_to(second - first + third, count, [a, b, c])

    def cosines(self, words: Sequence[str]) -> Array:
        """Return [n, n], the cosine of every pair."""
        units = self.units(words)
        table: Array = np.clip(units @ units.T, -1, 1)
        return table

    def units(self, words: Sequence[str]) -> Array:
        """Return [n, d], the unit vectors of some words."""
        return np.stack([_unit(self[word]) for word in words])

    def around(self, words: Sequence[str], count: int) -> dict[str, str]:
        """Map words and their nearest words to the word they belong to; one near two goes with the nearer."""
        found: dict[str, tuple[float, str]] = {}
        for word in words:
            for near in [Near(word, 2.0), *(self.nearest(word, count) if count else ())]:
                if near.cosine > found.get(near.word, (-2.0, ""))[0]:
                    found[near.word] = (near.cosine, word)
        return {near: word for near, (_, word) in found.items()}

    def _nearest_to(self, vector: Array, count: int, but: Sequence[str]) -> list[Near]:
        if count < 1:
            raise ConfigurationError(f"the number of words to show must be at least 1, got {count}")
        cosines = np.concatenate(
            [_cosines(self.vectors[i : i + AT_A_TIME], _unit(vector)) for i in range(0, len(self), AT_A_TIME)]
        )
        left_out = {self.numbers[word] for word in but}
        wanted = min(len(self), count + len(left_out))
        best = np.argpartition(-cosines, wanted - 1)[:wanted]
        best = best[np.lexsort((best, -cosines[best]))]
        return [Near(self.words[i], float(cosines[i])) for i in best if i not in left_out][:count]


def _unit(vector: Array) -> Array:
    """Return the unit vector, in double precision, so that the cosine of a word with itself is 1."""
    wide = vector.astype(np.float64)
    length = np.linalg.norm(wide)
    return wide / length if length else wide


def _cosines(vectors: Array, unit: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1)
    found: Array = (vectors @ unit.astype(vectors.dtype)) / np.where(lengths > 0, lengths, 1)
    return found
