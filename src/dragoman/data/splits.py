"""Training, selection and testing parts."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array

TRAINING, SELECTION, TESTING = 0, 1, 2
PARTS = ("training", "selection", "testing")


@dataclass(frozen=True)
class Splitting:
    """How samples are dealt out.

    grouped    all samples with the same source sentence go to one part, so that no test sentence was trained on; the
               shares are then met on average
    by sample  every sample by itself, exact shares, as the thesis does; sentences with several translations leak
    """

    shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
    by: Literal["source", "sample"] = "source"
    seed: int = 0

    def __post_init__(self) -> None:
        if not (min(self.shares) >= 0 and abs(sum(self.shares) - 1) <= 1e-9 and self.shares[0] > 0):  # NaN too
            raise ConfigurationError(f"shares of training, selection and testing must add up to 1, got {self.shares}")
        if not 0 <= self.seed < 2**63:
            raise ConfigurationError(f"a seed is a number from 0 to 2**63 - 1, got {self.seed}")
        if self.by not in ("source", "sample"):
            raise ConfigurationError(f"a split is by 'source' or by 'sample', got '{self.by}'")


def assign_parts(sources: Iterable[str], splitting: Splitting, held_out: Collection[str] = ()) -> Array:
    """[n] the part of each sample: 0 training, 1 selection, 2 testing. Sources held out are always in testing."""
    held = frozenset(map(collapsed, held_out))
    groups = array_of_groups(sources, splitting, held)
    if splitting.by == "source":
        bounds = np.cumsum(splitting.shares[:2])
        parts = np.searchsorted(bounds, groups, side="right").astype(np.uint8)
    else:
        parts = _exact(len(groups), splitting)
    parts[groups == HELD] = TESTING
    return parts


def collapsed(text: str) -> str:
    """What a network would see of a text's white space: texts that differ in nothing else are the same sentence."""
    return " ".join(text.split())


HELD = 2.0  # a group number beyond all shares


def array_of_groups(sources: Iterable[str], splitting: Splitting, held: Collection[str]) -> Array:
    """[n] a number in [0, 1) that depends on the source sentence and the seed alone; 2 for those held out."""
    salt = splitting.seed.to_bytes(8, "little", signed=True)
    numbers = (
        HELD
        if source in held
        else int.from_bytes(hashlib.blake2b(source.encode(), digest_size=6, salt=salt).digest(), "little") / 2**48
        for source in map(collapsed, sources)
    )
    return np.fromiter(numbers, np.float64)


def _exact(samples: int, splitting: Splitting) -> Array:
    """Shares rounded down, the rest to testing: 118,964 samples become 71,378, 23,792 and 23,794."""
    first, second = (int(samples * share + 1e-9) for share in splitting.shares[:2])
    order = np.random.default_rng([splitting.seed, samples]).permutation(samples)
    parts = np.full(samples, TESTING, np.uint8)
    parts[order[:first]] = TRAINING
    parts[order[first : first + second]] = SELECTION
    return parts
