"""Hypothesis strategies shared by all tests: small shapes, well-scaled values, ragged and empty sequences.

Values come from a drawn seed, not element by element: a gradient check needs numbers of one size, away from kinks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]


def sizes(low: int = 1, high: int = 4) -> st.SearchStrategy[int]:
    """One axis: rows, columns, a vocabulary."""
    return st.integers(low, high)


def generators() -> st.SearchStrategy[np.random.Generator]:
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


def arrays(*shape: int, scale: float = 1.0) -> st.SearchStrategy[Array]:
    """Float64 values of one shape, normal with deviation `scale`."""
    return generators().map(lambda rng: rng.standard_normal(shape) * scale)


def probabilities(*shape: int) -> st.SearchStrategy[Array]:
    """Strictly between 0 and 1, far enough from both that a logarithm is well-scaled."""
    return generators().map(lambda rng: rng.uniform(0.05, 0.95, shape))


def labels(count: int, vocabulary: int) -> st.SearchStrategy[Array]:
    """[count] integers below vocabulary, with repetitions."""
    return generators().map(lambda rng: rng.integers(0, vocabulary, count))


def loss_weights(count: int) -> st.SearchStrategy[Array]:
    """[count] weights of positions: zeros, ones and others, the first never 0."""
    rest = st.lists(st.sampled_from((0.0, 1.0, 0.5)), min_size=count - 1, max_size=count - 1)
    return rest.map(lambda weights: np.array([1.0, *weights]))


def lengths(count: int, low: int = 0, high: int = 4) -> st.SearchStrategy[list[int]]:
    """The lengths of `count` sequences, some of them empty (low = 0), not all."""
    return st.lists(st.integers(low, high), min_size=count, max_size=count).filter(any)


@st.composite
def offsets(draw: st.DrawFn, count: int | None = None, low: int = 0, high: int = 4) -> Array:
    """[B + 1] where each sequence begins, and the end: ragged, equal or with empty sequences."""
    number = draw(sizes(1, 3)) if count is None else count
    return to_offsets(draw(lengths(number, low, high)))


def to_offsets(sequence_lengths: list[int]) -> Array:
    return np.concatenate(([0], np.cumsum(sequence_lengths, dtype=np.int64)))
