"""Split samples into training, validation and testing parts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dragoman.errors import ConfigurationError, DataError
from dragoman.graph import Array
from dragoman.text.sentences import collapsed

TRAINING, VALIDATION, TESTING = 0, 1, 2
PARTS = ("training", "validation", "testing")
DEFAULT_SHARES = (0.9, 0.05, 0.05)  # default of the commands; `Splitting` defaults to the shares of the thesis
FILES = b"data split"  # purpose of a split that is written to files
SPLIT_BEFORE = "The file may have been split with this seed before, or a few sources occur often: try another --seed"
FAR = 0.25  # warn if the size of a part is off by more than this share of its expected size ...
BY_CHANCE = 1e-3  # if an empty part is less probable than this, few pairs are not the reason
CHANCE = 4.0  # ... and by more than this many standard deviations of independent draws


@dataclass(frozen=True)
class Splitting:
    """How samples are split.

    by source  all samples with the same source go to one part, so that no test sentence was trained on; the shares hold
               on average
    by sample  each sample is split by itself, with exact shares, as in the thesis; sentences with several translations
               leak from training to testing
    """

    shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
    by: Literal["source", "sample"] = "source"
    seed: int = 0

    def __post_init__(self) -> None:
        if not (min(self.shares) >= 0 and abs(sum(self.shares) - 1) <= 1e-9 and self.shares[0] > 0):  # NaN too
            raise ConfigurationError(f"shares of training, validation and testing must add up to 1, got {self.shares}")
        if not 0 <= self.seed < 2**63:
            raise ConfigurationError(f"a seed is a number from 0 to 2**63 - 1, got {self.seed}")
        if self.by not in ("source", "sample"):
            raise ConfigurationError(f"a split is by 'source' or by 'sample', got '{self.by}'")


def as_shares(numbers: Sequence[float]) -> tuple[float, float, float]:
    """Check three shares that add up to 1, or to 100 in percent, and return them as shares of 1."""
    whole = 100 if abs(sum(numbers) - 100) <= 1e-6 else 1
    shares = [number / whole for number in numbers]
    if len(shares) != 3 or not (min(shares) >= 0 and abs(sum(shares) - 1) <= 1e-9 and shares[0] > 0):
        given = ",".join(f"{number:g}" for number in numbers)
        raise ConfigurationError(
            f"shares of training, validation and testing are three numbers that add up to 100, such as 90,5,5; "
            f"got {given or 'none'}"
        )
    return shares[0], shares[1], shares[2]


def assign_parts(
    sources: Iterable[str], splitting: Splitting, held_out: Collection[str] = (), purpose: bytes = b""
) -> Array:
    """Return [n], the part of each sample: 0 training, 1 validation, 2 testing. Sources held out are always in testing.

    Splits by source for different purposes are independent even with equal seeds, so a file that `data split` wrote can
    be split again. (Splits by sample depend on the number of samples anyway.)
    """
    held = frozenset(map(collapsed, held_out))
    groups = group_numbers(sources, splitting, held, purpose)
    if splitting.by == "source":
        bounds = np.cumsum(splitting.shares[:2])
        parts = np.searchsorted(bounds, groups, side="right").astype(np.uint8)
    else:
        parts = _split_by_sample(len(groups), splitting)
    parts[groups == HELD] = TESTING
    return parts


HELD = 2.0  # a group number beyond all shares


def group_numbers(sources: Iterable[str], splitting: Splitting, held: Collection[str], purpose: bytes = b"") -> Array:
    """Return [n], a number in [0, 1) from the hash of source, seed and purpose; HELD for sources held out."""
    salt = splitting.seed.to_bytes(8, "little", signed=True)

    def number(source: str) -> float:
        digest = hashlib.blake2b(source.encode(), digest_size=6, salt=salt, person=purpose).digest()
        return int.from_bytes(digest, "little") / 2**48

    numbers = (HELD if source in held else number(source) for source in map(collapsed, sources))
    return np.fromiter(numbers, np.float64)


def _split_by_sample(samples: int, splitting: Splitting) -> Array:
    """Split with shares rounded down, the rest to testing: 118,964 samples become 71,378, 23,792 and 23,794."""
    first, second = (int(samples * share + 1e-9) for share in splitting.shares[:2])
    order = np.random.default_rng([splitting.seed, samples]).permutation(samples)
    parts = np.full(samples, TESTING, np.uint8)
    parts[order[:first]] = TRAINING
    parts[order[first : first + second]] = VALIDATION
    return parts


def check_training(parts: Array, samples: str = "pairs") -> None:
    """An error when no sample is in the training part."""
    if not (parts == TRAINING).any():
        none = f"none of the {len(parts):,} {samples} is in the training part"
        raise DataError(f"{none}; add {samples}, or try another --seed")


class Unusual(NamedTuple):
    """What is unusual about the size of a part, and what can be done about it."""

    what: str
    advice: str


def unusual_parts(
    counts: Mapping[str, int], shares: tuple[float, float, float], samples: str = "pairs"
) -> dict[str, Unusual]:
    """The parts that are empty although they have a share, or farther from it than chance explains, by name."""
    total = sum(counts.values())
    found = {}
    for name, share in zip(PARTS, shares, strict=True):
        far = _is_far(counts[name], share, total)
        some = f"{counts[name]:,} of {total:,} {samples} ({counts[name] / max(1, total):.1%}) are in the {name} part"
        if share and not counts[name]:
            what = f"the {name} part is empty although its share is {share:.1%} of {total:,} {samples}"
            chance = (1 - share) ** total > BY_CHANCE
            found[name] = Unusual(
                what, f"There are few {samples}: add {samples}, or raise its share" if chance else SPLIT_BEFORE
            )
        elif share and far:
            found[name] = Unusual(f"{some}, far from its share of {share:.1%}", SPLIT_BEFORE)
    return found


def _is_far(count: int, share: float, total: int) -> bool:
    """Return whether the size of a part is far from its share; with few samples more may be chance."""
    expected = share * total
    deviation = math.sqrt(expected * (1 - share))
    return abs(count - expected) > max(FAR * expected, CHANCE * deviation)
