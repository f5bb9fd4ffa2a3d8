"""The toy tasks: what is asked and what is the answer."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from dragoman.batch import END, START
from dragoman.data import toy_pairs
from dragoman.errors import ConfigurationError


@pytest.mark.parametrize(("task", "step"), [("copy", 1), ("reverse", -1)])
def test_pairs(task: Literal["copy", "reverse"], step: int) -> None:
    pairs = toy_pairs(task, 200, 3, 5, np.random.default_rng(0))
    assert len(pairs) == len({tuple(source) for source, _ in pairs}) == 200
    assert {len(source) for source, _ in pairs} == {1, 2, 3, 4, 5}
    assert {label for source, _ in pairs for label in source} == {END + 1, END + 2, END + 3}
    for source, reference in pairs:
        assert reference == [START, *source[::step], END]


def test_a_seed_repeats_the_pairs() -> None:
    first, again, other = (toy_pairs("copy", 20, 4, 6, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_no_more_pairs_than_there_are() -> None:
    """Two symbols, at most two of them: 2 + 4 sequences"""
    with pytest.raises(ConfigurationError, match="gave 6 distinct sequences, not 100"):
        toy_pairs("copy", 100, 2, 2, np.random.default_rng(0))
    assert len(toy_pairs("copy", 6, 2, 2, np.random.default_rng(0))) == 6


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no toy task 'copi'"):
        toy_pairs("copi", 5, 2, 2, np.random.default_rng(0))  # type: ignore[arg-type]
