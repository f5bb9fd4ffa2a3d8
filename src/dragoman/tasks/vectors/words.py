"""Words and their vectors: which are near, which stand in the same relation, how the angles between them are."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dragoman.errors import ConfigurationError, DataError, ShapeError
from dragoman.graph import Array

AT_A_TIME = 65_536  # vectors that are compared at once


class Near(NamedTuple):
    """A word, and the cosine of the angle between its vector and what was asked for."""

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
            raise DataError("the same word twice: each has one vector")

    @classmethod
    def train(cls, text: str | Path, /, **settings: Any) -> WordVectors:
        """The vectors of the words of a text file; settings are those of `VectorSettings`."""
        from dragoman.tasks.vectors.plan import VectorSettings
        from dragoman.tasks.vectors.training import train_vectors

        return train_vectors(text, VectorSettings(**settings))

    @classmethod
    def load(cls, path: str | Path) -> WordVectors:
        """Vectors of word2vec, gensim, fastText (.vec) or GloVe."""
        from dragoman.tasks.vectors.files import load_vectors

        return load_vectors(path)

    def save(self, path: str | Path) -> None:
        """A file of word2vec: .txt, or .bin for the binary format; .gz compresses."""
        from dragoman.tasks.vectors.files import save_vectors

        save_vectors(self, Path(path))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.numbers

    def __getitem__(self, word: str) -> Array:
        """The vector of a word; one that is not there is told with the one that may have been meant."""
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
        some = self.words[:100_000]  # the most frequent; a look at millions takes longer than it helps
        close = [same] if same else difflib.get_close_matches(word, some, 1, 0.7)
        return f"; did you mean '{close[0]}'?" if close else f"; it is not among the {len(self):,} words"

    def nearest(self, word: str, count: int = 10) -> list[Near]:
        """The words whose vectors have the smallest angle with that of `word`, the nearest first."""
        return self._nearest_to(self[word], count, [word])

    def analogy(self, a: str, b: str, c: str, count: int = 10) -> list[Near]:
        """a is to b as c is to ...: the words nearest to b - a + c, each of length 1; those given are left out."""
        first, second, third = self.units([a, b, c])
        return self._nearest_to(second - first + third, count, [a, b, c])

    def cosines(self, words: Sequence[str]) -> Array:
        """[n, n]: the cosine of every pair."""
        units = self.units(words)
        table: Array = np.clip(units @ units.T, -1, 1)
        return table

    def units(self, words: Sequence[str]) -> Array:
        """[n, d]: the vectors of some words at length 1, so that what is near is what has a small angle."""
        return np.stack([_unit(self[word]) for word in words])

    def around(self, words: Sequence[str], count: int) -> dict[str, str]:
        """Each word and its nearest ones -> the word they belong to; one that is near two goes with the nearer."""
        found: dict[str, tuple[float, str]] = {}
        for word in words:
            for near in [Near(word, 2.0), *(self.nearest(word, count) if count else ())]:
                if near.cosine > found.get(near.word, (-2.0, ""))[0]:
                    found[near.word] = (near.cosine, word)
        return {near: word for near, (_, word) in found.items()}

    def _nearest_to(self, vector: Array, count: int, but: Sequence[str]) -> list[Near]:
        if count < 1:
            raise ConfigurationError(f"the number of words to show is at least 1, got {count}")
        cosines = np.concatenate(
            [_cosines(self.vectors[i : i + AT_A_TIME], _unit(vector)) for i in range(0, len(self), AT_A_TIME)]
        )
        left_out = {self.numbers[word] for word in but}
        wanted = min(len(self), count + len(left_out))
        best = np.argpartition(-cosines, wanted - 1)[:wanted]
        best = best[np.lexsort((best, -cosines[best]))]
        return [Near(self.words[i], float(cosines[i])) for i in best if i not in left_out][:count]


def _unit(vector: Array) -> Array:
    """The vector at length 1; in double precision, for a table of cosines should have 1 where a word meets itself."""
    wide = vector.astype(np.float64)
    length = np.linalg.norm(wide)
    return wide / length if length else wide


def _cosines(vectors: Array, unit: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1)
    found: Array = (vectors @ unit.astype(vectors.dtype)) / np.where(lengths > 0, lengths, 1)
    return found
