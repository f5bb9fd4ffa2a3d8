"""Positional encodings as fixed tables [P, d], row j for position j (0-based)."""

from __future__ import annotations

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array

BASE = 10_000.0


def _angles(length: int, pairs: int, depth: int, first: int) -> Array:
    """[P, pairs]: j / 10000^(2k/d) for j = first, first + 1, ..."""
    j = np.arange(first, first + length, dtype=np.float64)[:, None]
    k = np.arange(pairs, dtype=np.float64)[None, :]
    return j / BASE ** (2 * k / depth)


def _check_even(depth: int) -> None:
    if depth % 2:
        raise ConfigurationError(f"a sinusoidal encoding needs an even depth, got {depth}")


def half_sinusoid(length: int, depth: int) -> Array:
    """Sines in the first half of the columns, cosines in the second (thesis 3.2 I, 0-based as in listing 3)."""
    _check_even(depth)
    angles = _angles(length, depth // 2, depth, 0)
    return np.concatenate((np.sin(angles), np.cos(angles)), axis=1)


def interleaved_sinusoid(length: int, depth: int, first: int = 0) -> Array:
    """r_2i = sin(t / 10000^(2i/d)), r_2i+1 = cos(...)           (book, (7.29), which counts t from first = 1)"""
    _check_even(depth)
    angles = _angles(length, depth // 2, depth, first)
    return np.stack((np.sin(angles), np.cos(angles)), axis=2).reshape(length, depth)


def one_hot(length: int) -> Array:
    """e_t: the position itself as a vector (book 7.5)."""
    return np.eye(length)
