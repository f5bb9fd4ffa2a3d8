"""Settings of word vectors, and the plan of training steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.operations.vector_steps import Plan
from dragoman.tasks.vectors.text import Split
from dragoman.training.workers import check_threads

Method = Literal["skip-gram", "cbow"]
POWER = 0.75  # exponent of the counts for drawing negatives
EVERY_DRAW = 0xFFFFFFFF


@dataclass(frozen=True)
class VectorSettings:
    """Settings of word vectors. The defaults are gensim's."""

    method: Method = "skip-gram"
    depth: int = 100
    window: int = 5
    negative: int = 5  # 0: the full softmax
    minimum_count: int = 5
    epochs: int = 5
    rate: float = 0.025
    last_rate: float = 0.0001
    subsampling: float = 0.001
    split: Split = "words"
    lower_case: bool = False
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        for name, known in (("method", get_args(Method)), ("split", get_args(Split))):
            if getattr(self, name) not in known:
                raise ConfigurationError(f"{name} is {' or '.join(known)}, got '{getattr(self, name)}'")
        for name in ("depth", "window", "minimum_count", "epochs", "threads"):
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1, got {getattr(self, name)}")
        check_threads(self.threads)
        for name in ("negative", "seed"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} must not be below 0, got {getattr(self, name)}")
        if not 0 < self.last_rate <= self.rate < float("inf"):
            raise ConfigurationError(f"the rate must be above last_rate {self.last_rate}, got {self.rate}")
        if not 0 <= self.subsampling <= 1:
            raise ConfigurationError(f"subsampling is a share of the text, from 0 (none) to 1, got {self.subsampling}")


def make_plan(counts: Array, words: int, settings: VectorSettings) -> Plan:
    """Make the plan. counts [V]: how often each word occurs; words: how many the text has."""
    s = settings
    shares, others = alias_table(counts.astype(np.float64) ** POWER)
    return Plan(
        cbow=s.method == "cbow",
        window=s.window,
        negatives=s.negative,
        first_rate=s.rate,
        last_rate=s.last_rate,
        total=words * s.epochs,
        kept=_kept(counts, s.subsampling),
        shares=shares,
        others=others,
    )


def _kept(counts: Array, threshold: float) -> Array:
    """Return [V], the largest draw that keeps a word, with probability sqrt(t / f) + t / f for frequency f."""
    if not threshold:
        return np.full(len(counts), EVERY_DRAW, np.uint32)
    ratio = threshold * counts.sum() / counts
    kept: Array = (np.minimum(1, np.sqrt(ratio) + ratio) * EVERY_DRAW).astype(np.uint32)
    return kept


def alias_table(weights: Array) -> tuple[Array, Array]:
    """(shares, others) [V]: a column is drawn with equal chances, and holds its own word up to its share and another
    one beyond it, so that every word comes up in proportion to its weight (Walker's method)."""
    size = len(weights)
    left = weights * (size / weights.sum())
    shares, others = np.full(size, EVERY_DRAW, np.uint32), np.arange(size, dtype=np.int32)
    poor, rich = [int(i) for i in np.flatnonzero(left < 1)], [int(i) for i in np.flatnonzero(left >= 1)]
    while poor and rich:
        taker, giver = poor.pop(), rich[-1]
        shares[taker], others[taker] = int(left[taker] * EVERY_DRAW), giver
        left[giver] -= 1 - left[taker]
        if left[giver] < 1:
            poor.append(rich.pop())
    return shares, others
