"""Toy tasks that a sound network learns to 100 %: the labels of a sequence copied, or in reverse."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dragoman.batch import END, START
from dragoman.errors import ConfigurationError

FIRST_LABEL = END + 1
Pair = tuple[list[int], list[int]]


def toy_pairs(
    task: Literal["copy", "reverse"], samples: int, symbols: int, longest: int, rng: np.random.Generator
) -> list[Pair]:
    """Distinct (source, reference) pairs of 1 to `longest` symbols; references carry start and end labels."""
    if task not in ("copy", "reverse"):
        raise ConfigurationError(f"there is no toy task '{task}'; choose copy or reverse")
    pairs: dict[tuple[int, ...], Pair] = {}
    for _ in range(20 * samples):
        if len(pairs) == samples:
            break
        source = [int(s) for s in rng.integers(FIRST_LABEL, FIRST_LABEL + symbols, rng.integers(1, longest + 1))]
        written = source if task == "copy" else source[::-1]
        pairs[tuple(source)] = (source, [START, *written, END])
    if len(pairs) < samples:
        raise ConfigurationError(
            f"{symbols} symbols in at most {longest} positions gave {len(pairs)} distinct sequences, not {samples}; "
            "use more symbols or longer sequences"
        )
    return list(pairs.values())
