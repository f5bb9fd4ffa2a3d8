"""Texts and vectors that tests of word vectors share."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dragoman.tasks.vectors.plan import VectorSettings
from dragoman.tasks.vectors.words import WordVectors

TOPICS = [["cat", "dog", "horse", "cow"], ["red", "green", "blue", "black"], ["one", "two", "three", "four"]]
SMALL = VectorSettings(depth=8, window=2, negative=3, minimum_count=1, epochs=2, subsampling=0, rate=0.1)
BOOK = {"king": (0.41, 1.2, 3.4, -1.3), "queen": (0.39, 1.1, 3.5, 1.6), "mean": (-0.2, -3.2, 1.3, 0.8)}
PLANE = {"man": (1, 0), "woman": (1, 1), "king": (5, 0.1), "queen": (4, 5), "apple": (-1, 0.2), "nothing": (0, 0)}


def topics(path: Path, lines: int) -> Path:
    """A text of which each line is about one topic."""
    rng = np.random.default_rng(0)
    about = [TOPICS[rng.integers(3)] for _ in range(lines)]
    path.write_text("".join(" ".join(rng.choice(words, 6)) + "\n" for words in about), encoding="utf-8")
    return path


def vectors_of(table: dict[str, tuple[float, ...]]) -> WordVectors:
    return WordVectors(list(table), np.array(list(table.values()), np.float32))
