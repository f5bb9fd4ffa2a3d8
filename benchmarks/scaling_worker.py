"""One process of benchmarks/scaling.py: answers requests for training steps or sums, one JSON line each.

It joins other ranks where RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say so, as `dragoman train` does.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np

from dragoman.batch import Batch
from dragoman.bench.sentences import Sentences
from dragoman.bench.workloads import HIDDEN, SIZES, TRAINING, Size, new_network
from dragoman.distributed import joined
from dragoman.engines.compute import fast_compute
from dragoman.graph import Array, Theta
from dragoman.graph.gradient_slices import slices_of
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.optimization import Adam, Constant
from dragoman.ranks import Ranks, Reduction
from dragoman.training.placing import own_part
from dragoman.training.step import StepSettings, TrainingStep
from dragoman.training.workers import Workers, keep_freed_memory

WORKLOAD = TRAINING["unsorted"]  # all batches are about equally large
RATE = Constant(1e-4)
BATCHES: dict[tuple[tuple[int, int], int], list[Batch]] = {}  # by vocabularies and sentences


class TimedRanks(Ranks):
    """The collectives of other ranks; counts the seconds that this rank spends in them."""

    def __init__(self, inner: Ranks) -> None:
        self.inner, self.seconds = inner, 0.0
        self.rank, self.size = inner.rank, inner.size
        self.local_rank, self.local_size = inner.local_rank, inner.local_size

    @contextmanager
    def timed(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - began

    def sum(self, numbers: Array) -> None:
        with self.timed():
            self.inner.sum(numbers)

    def gather(self, numbers: Sequence[float]) -> Array:
        with self.timed():
            return self.inner.gather(numbers)

    def broadcast(self, numbers: Array, source: int = 0) -> None:
        with self.timed():
            self.inner.broadcast(numbers, source)

    def reduction(self, theta: Theta, gradient: Array) -> Reduction:
        return TimedReduction(self.inner.reduction(theta, gradient), self)


class TimedReduction(Reduction):
    """Counts the seconds of waiting at the end; what is sent before is behind the backward pass."""

    def __init__(self, inner: Reduction, ranks: TimedRanks) -> None:
        self.inner, self.ranks = inner, ranks
        self.written = inner.written  # type: ignore[method-assign]

    def finish(self) -> None:
        with self.ranks.timed():
            self.inner.finish()


def batches_of(size: Size, ranks: Ranks) -> list[Batch]:
    """This rank's parts of batches of so many sentences; all presets have the same."""
    key = size.vocabularies, size.sentences
    if key not in BATCHES:
        BATCHES[key] = [own_part(batch, ranks) for batch in Sentences().batches(WORKLOAD, size)]
    return BATCHES[key]


class Steps:
    """Training steps of one preset."""

    def __init__(self, preset: str, workers: Workers, ranks: TimedRanks) -> None:
        self.size, self.ranks = (SIZES | HIDDEN)[preset], ranks
        network, index = new_network(WORKLOAD, self.size), LossIndex(CrossEntropy(WORKLOAD.smoothing))
        self.step = TrainingStep(network, Adam(), index, workers, StepSettings(clip=1.0), ranks)
        self.zeros = np.zeros_like(network.theta.values)

    def take(self, batch: Batch) -> int:
        """Take a step; returns the tokens of all ranks."""
        taken = self.step.take([batch], RATE)
        if self.ranks.size > 1:
            self.ranks.gather([0.0, 0.0])  # the training loop: the clock, and whether to stop
        return 0 if taken is None else taken.tokens

    def exchange(self, _: Batch) -> int:
        """Sum a gradient over the ranks, and compute nothing."""
        self.ranks.reduction(self.step.network.theta, self.zeros).finish()
        return 0

    def meet(self, _: Batch) -> int:
        """Sum one number over the ranks."""
        self.ranks.sum(np.zeros(1))
        return 0

    def run(self, kind: str, sentences: int, steps: int) -> dict[str, float]:
        """Time steps, or sums, after one that is not timed."""
        once = {"gradient": self.exchange, "message": self.meet}.get(kind, self.take)
        size = replace(self.size, sentences=sentences)
        batches, tokens = batches_of(size, self.ranks) if sentences else [Batch.empty()], 0
        once(batches[-1])
        self.ranks.gather([0.0])
        self.ranks.seconds, began = 0.0, time.perf_counter()
        for i in range(steps):
            tokens += once(batches[i % len(batches)])
        seconds = time.perf_counter() - began
        return {
            "seconds": seconds / steps,
            "communication": self.ranks.seconds / steps,
            "tokens": tokens / steps,
            "parameters": len(self.step.network.theta),
            "collectives": slices_of(self.step.network.theta).count,
        }


def main() -> None:
    keep_freed_memory()
    with joined() as inner, fast_compute(), closing(Workers(int(sys.argv[1]))) as workers:
        ranks, found = TimedRanks(inner), dict[str, Steps]()
        for line in sys.stdin:
            asked = json.loads(line)
            preset = asked.pop("preset")
            if preset not in found:
                found[preset] = Steps(preset, workers, ranks)
            print(json.dumps(found[preset].run(**asked)), flush=True)


if __name__ == "__main__":
    main()
