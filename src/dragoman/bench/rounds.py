"""Time blocks of work in alternating order, and compute ratios of their times."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

OURS = "dragoman"
AGAINST = "against"  # Dragoman of another checkout
PRODUCTS, LINEAR_PRODUCTS = "gemm", "gemm linear"  # all matrix products of a step; without those inside attention


@dataclass(frozen=True)
class Row:
    """One contender in one workload. Ratios are its time divided by ours in a round; above 1, Dragoman is faster.

    spread         quartiles of the ratio over the rounds
    seconds        median time of a step, or of a sentence
    memory         peak memory in bytes, imports included; memory_ratio: ours divided by its
    cold_start     seconds from process start to the end of the first step, with no compiled kernels cached
    cached_start   the same with all kernels cached
    identical      share of the sentences that it decodes exactly as we do
    gemm_share     time of the matrix products alone, divided by ours; linear_share: of those of linear layers alone
    epoch_seconds  time of a whole epoch, extrapolated from the batches that were measured
    """

    kind: str
    workload: str
    preset: str
    contender: str
    rounds: int
    seconds: float
    min_ratio: float
    median_ratio: float
    spread: tuple[float, float]
    memory: int
    memory_ratio: float
    cold_start: float | None = None
    cached_start: float | None = None
    sentences_per_second: float | None = None
    identical: float | None = None
    gemm_share: float | None = None
    linear_share: float | None = None
    epoch_seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def alternate(blocks: Mapping[str, Callable[[], float]], rounds: int, idle: float) -> dict[str, list[float]]:
    """Time each contender's block once a round; every other round runs them in reverse order."""
    seconds: dict[str, list[float]] = {name: [] for name in blocks}
    names = list(blocks)
    for turn in range(rounds):
        for name in names if turn % 2 == 0 else names[::-1]:
            seconds[name].append(blocks[name]())
            time.sleep(idle)
    return seconds


def ratios(seconds: Mapping[str, list[float]], name: str) -> tuple[float, float, tuple[float, float]]:
    """Return minimum, median and quartiles of a contender's time divided by ours in the same round."""
    found = np.array(seconds[name]) / np.array(seconds[OURS])
    low, middle, high = (float(x) for x in np.percentile(found, (25, 50, 75)))
    return float(found.min()), middle, (low, high)
