"""Ranks: the processes that work on one training, or one file, together.

There is one rank unless `distributed.joined` has found others. All ranks run the same program on parts of the data,
and meet in the methods below: every rank must call the same ones in the same order. They exchange numbers and JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:  # NumPy is imported where it is needed: commands ask for ranks before they need numbers
    from dragoman.graph import Array, Theta

A = TypeVar("A")
B = TypeVar("B")


class Reduction:
    """Sums the gradients of all ranks, in place. Alone, a rank has nothing to add."""

    def written(self, parameter: int) -> None:
        """Note that the gradient of a parameter (its id) is complete on this rank, while others are computed."""

    def finish(self) -> None:
        """Wait until the whole gradient is that of all ranks."""


class Ranks:
    """One process alone: it is the first of one."""

    rank = 0
    size = 1
    local_rank = 0  # among the ranks of this machine
    local_size = 1

    @property
    def first(self) -> bool:
        """Whether this is the rank that writes and prints."""
        return self.rank == 0

    def sum(self, numbers: Array) -> None:
        """Sum an array over all ranks, in place."""

    def gather(self, numbers: Sequence[float]) -> Array:
        """[size, n]: these numbers of every rank."""
        import numpy as np

        return np.array([numbers], np.float64)

    def broadcast(self, numbers: Array, source: int = 0) -> None:
        """Overwrite an array with that of one rank, in place."""

    def share(self, value: Any) -> Any:
        """The value of the first rank: anything that JSON can hold."""
        return value

    def collect(self, value: Any) -> list[Any]:
        """The values of all ranks, in their order: anything that JSON can hold."""
        return [value]

    def reduction(self, theta: Theta, gradient: Array) -> Reduction:
        """Begin to sum a gradient; one at a time."""
        return Reduction()

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """On each machine one rank runs this first (it may fill a cache), then the others. It may take hours."""
        yield

    # What follows from these

    def own(self, sizes: Sequence[float] | Array) -> slice:
        """This rank's share of items that follow one another, of about the same total size as the others'."""
        import numpy as np

        ends = np.concatenate([[0.0], np.cumsum(sizes)])
        goals = ends[-1] * np.arange(1, self.size) / self.size
        cuts = np.searchsorted(ends, goals)
        cuts -= ends[cuts] - goals > goals - ends[np.maximum(cuts - 1, 0)]
        first, last = list(pairwise([0, *cuts.tolist(), len(ends) - 1]))[self.rank]
        return slice(int(first), int(last))

    def spans(self, length: int) -> list[slice]:
        """A vector in as many slices as there are ranks, of the same length but for the last."""
        each = -(-length // self.size)
        return [slice(min(i * each, length), min((i + 1) * each, length)) for i in range(self.size)]

    def spread(self, function: Callable[[list[A]], Sequence[B]], items: Sequence[A]) -> list[B]:
        """Map a function over items, each rank a share of them; all ranks get all results, which JSON must hold.

        Items are dealt out one by one, so that a file sorted by length is no burden to one rank. The function is not
        called without items.
        """
        own = list(items[self.rank :: self.size])
        found = self.collect(list(function(own)) if own else [])
        results: list[Any] = [None] * len(items)
        for rank, some in enumerate(found):
            results[rank :: self.size] = some
        return results

    def spread_rows(self, function: Callable[[Any], Array], items: Any) -> Array:
        """The same where the function returns an array [n, ...]: of n items, a sequence or an array [n, ...]."""
        import numpy as np

        if len(items) < self.size or self.size == 1:
            return function(items)
        own = function(items[self.rank :: self.size])
        found = np.zeros((len(items), *own.shape[1:]), own.dtype)
        found[self.rank :: self.size] = own
        self.sum(found)
        return found


ALONE = Ranks()
_current: Ranks = ALONE


def current() -> Ranks:
    """The ranks that this process is one of."""
    return _current


@contextmanager
def using(ranks: Ranks) -> Iterator[Ranks]:
    """Make these the current ranks within this context."""
    global _current
    before, _current = _current, ranks
    try:
        yield ranks
    finally:
        _current = before
