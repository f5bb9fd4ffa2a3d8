"""Make the batches of an epoch: grouped by length, in a new random order every epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, overload

import numpy as np

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.ranks import current

POOL = 1 << 15  # samples sorted by length at a time: enough for even batches, few enough to stay random


class Samples(Protocol):
    """Samples to draw batches from."""

    def __len__(self) -> int: ...

    def lengths(self) -> Array:
        """Return [n, sides]: the number of labels of each sample."""
        ...

    def batch(self, items: Array) -> Batch: ...


@dataclass(frozen=True)
class Batching:
    """How an epoch is cut into batches.

    samples         sentences per batch (64 in the thesis) ...
    tokens          ... or instead as many sentences as fit into this number of labels of both sides
    grouped         whether sentences of similar length share a batch, which wastes less and makes steps more even
    keep_remainder  whether a smaller last batch is kept
    growth          ((epoch, factor), ...): from that epoch on, batches are larger by this factor (lecture)
    """

    samples: int = 64
    tokens: int | None = None
    grouped: bool = True
    keep_remainder: bool = True
    growth: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        if self.samples < 1 or (self.tokens is not None and self.tokens < 1):
            raise ConfigurationError(f"a batch needs at least one sample and one token, got {self}")
        if any(factor <= 0 for _, factor in self.growth):
            raise ConfigurationError(f"batches grow by a factor above 0, got {self.growth}")

    def factor(self, epoch: int) -> float:
        return max((entry for entry in self.growth if entry[0] <= epoch), default=(0, 1.0))[1]


class EpochPlan(Sequence[Array]):
    """The samples of every batch of an epoch: 4 bytes for each sample, 16 for each batch.

    order   [n] the samples of one batch after the other
    bounds  [batches + 1] where batches end in `order`
    turns   [batches] which of these batches comes when
    """

    def __init__(self, order: Array, bounds: Array, turns: Array) -> None:
        self.order, self.bounds, self.turns = order, bounds, turns

    def __len__(self) -> int:
        return len(self.turns)

    @overload
    def __getitem__(self, i: int) -> Array: ...

    @overload
    def __getitem__(self, i: slice) -> list[Array]: ...

    def __getitem__(self, i: int | slice) -> Array | list[Array]:
        if isinstance(i, slice):
            return [self[each] for each in range(*i.indices(len(self)))]
        turn = self.turns[i]
        items: Array = self.order[self.bounds[turn] : self.bounds[turn + 1]].astype(np.int64)
        return items


def plan_epoch(lengths: Array, batching: Batching, seed: int, epoch: int) -> EpochPlan:
    """Return the samples of every batch of an epoch, determined by seed and epoch.

    With `tokens`, 8 bytes for each sample are needed while the plan is made.
    """
    rng = np.random.default_rng([seed, epoch])
    order = np.arange(len(lengths), dtype=np.int32 if len(lengths) < 2**31 else np.int64)
    rng.shuffle(order)
    if batching.grouped:
        for start in range(0, len(order), POOL):
            pool = order[start : start + POOL]
            # stable sorting keeps the random order among samples of equal length
            pool[:] = pool[np.lexsort(lengths[pool].T)]
        if not batching.keep_remainder and len(order):  # otherwise the longest would always be dropped
            order = np.roll(order, rng.integers(len(order)))
    bounds = _bounds(order, lengths, batching, batching.factor(epoch))
    count = len(bounds) - 1
    return EpochPlan(order, bounds, rng.permutation(count) if batching.grouped else np.arange(count))


def _bounds(order: Array, lengths: Array, batching: Batching, factor: float) -> Array:
    """[batches + 1] where batches end; a smaller last one is left out unless it is to be kept."""
    if batching.tokens is None:
        size = max(1, round(batching.samples * factor))
        bounds = np.arange(0, len(order) + 1, size)
        if bounds[-1] < len(order) and batching.keep_remainder:
            bounds = np.append(bounds, len(order))
        return bounds
    budget = batching.tokens * factor
    ends = np.empty(len(order), np.int64)
    for first in range(0, len(order), POOL):
        ends[first : first + POOL] = lengths[order[first : first + POOL]].sum(axis=1)
    np.cumsum(ends, out=ends)
    stops, before = [0], 0
    while stops[-1] < len(order):
        room = math.floor(before + budget)  # a float would convert all of `ends` for every batch
        stop = max(stops[-1] + 1, int(np.searchsorted(ends, room, side="right")))
        if stop == len(order) and not batching.keep_remainder:
            break
        stops.append(stop)
        before = int(ends[stop - 1])
    return np.array(stops)


class BatchStream:
    """An endless iterator over batches, epoch after epoch. Its state is seed, epoch and position.

    Where several ranks train together, each gets its part of every batch, and reads no other samples.
    """

    def __init__(self, samples: Samples, batching: Batching, seed: int = 0, epoch: int = 0, position: int = 0) -> None:
        if not len(samples):
            raise ConfigurationError("there are no samples to make batches of")
        self.samples = samples
        self.batching = batching
        self.seed = seed
        self.epoch = epoch
        self.position = position
        self.ranks = current()
        self._lengths = samples.lengths()
        self._plan = self._make_plan()

    def _make_plan(self) -> Sequence[Array]:
        plan = plan_epoch(self._lengths, self.batching, self.seed, self.epoch)
        if not plan:
            tokens, samples = self.batching.tokens, self.batching.samples
            size = f"{samples} samples" if tokens is None else f"{tokens} tokens"
            raise ConfigurationError(
                f"{len(self.samples)} samples do not fill one batch of {size}, and the remainder is "
                "dropped; make batches smaller or keep the remainder"
            )
        return plan

    @property
    def batches_in_epoch(self) -> int:
        return len(self._plan)

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self.position >= len(self._plan):
            self.epoch, self.position = self.epoch + 1, 0
            self._plan = self._make_plan()
        items = self._plan[self.position]
        self.position += 1
        own = self.ranks.own(self._sizes(items)) if self.ranks.size > 1 else slice(0, len(items))
        return self._batch(items, own) if own.start < own.stop else Batch.empty()

    def _sizes(self, items: Array) -> Array:
        """About how much work the samples are: see `Batch.shards`."""
        lengths = self._lengths[items]
        return lengths[:, 0] + 4.0 * lengths[:, 1] if lengths.shape[1] > 1 else lengths[:, 0]

    def _batch(self, items: Array, own: slice) -> Batch:
        """Make this rank's part of a batch."""
        return self.samples.batch(items[own])

    def seek(self, seed: int, epoch: int, position: int) -> None:
        """Continue from a saved `state`."""
        self.seed, self.epoch, self.position = seed, epoch, position
        self._plan = self._make_plan()

    def state(self) -> dict[str, int]:
        """Return the state for a checkpoint; restore it with `seek`, or `BatchStream(samples, batching, **state)`."""
        return {"seed": self.seed, "epoch": self.epoch, "position": self.position}
