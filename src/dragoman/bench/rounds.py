"""Blocks of work in alternating order, and what their times say."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

OURS = "dragoman"


@dataclass(frozen=True)
class Row:
    """One contender in one workload. Ratios are its time by ours, block by block: above 1, Dragoman is faster.

    spread        the quartiles of the ratio over the rounds
    seconds       the median of a step, or of a sentence
    memory        bytes at most, imports included; memory_ratio: ours by its
    cold_start    seconds until the first step is done with no kernel compiled before; cached_start: with all of them
    identical     the share of sentences decoded as we decode them
    gemm_share    the time of the bare matrix products by ours
    epoch_seconds of all the batches of an epoch, at the pace of those that were measured
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
    epoch_seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def alternate(blocks: Mapping[str, Callable[[], float]], rounds: int, idle: float) -> dict[str, list[float]]:
    """The seconds of every contender's block in each round; the order is reversed from one round to the next."""
    seconds: dict[str, list[float]] = {name: [] for name in blocks}
    names = list(blocks)
    for turn in range(rounds):
        for name in names if turn % 2 == 0 else names[::-1]:
            seconds[name].append(blocks[name]())
            time.sleep(idle)
    return seconds


def ratios(seconds: Mapping[str, list[float]], name: str) -> tuple[float, float, tuple[float, float]]:
    """Least, median and quartiles of a contender's time by ours in the same round."""
    found = np.array(seconds[name]) / np.array(seconds[OURS])
    low, middle, high = (float(x) for x in np.percentile(found, (25, 50, 75)))
    return float(found.min()), middle, (low, high)
