"""Packed sequences in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array
from dragoman.operations.shapes import check_offsets


@dataclass(frozen=True, eq=False)
class Steps:
    """Which rows stand at step t, the longest sequence first: those still going on at step t are the first counts[t].

    order   [B] the sequences, longest first
    rows    for each step [counts[t]] the rows there, in that order; of a reversed sequence the last row comes first
    counts  [T] falling
    cut     every so many steps nothing is passed back to the step before (truncated back-propagation, 7.2)
    """

    operation: str
    order: Array
    rows: list[Array]
    cut: int | None = None

    @classmethod
    def of(cls, operation: str, x: Array, offsets: Array, reverse: bool = False, cut: int | None = None) -> Steps:
        check_offsets(operation, x, offsets)
        if cut is not None and cut < 1:
            raise ConfigurationError(f"{operation}: back-propagation is cut every 1 or more steps, got {cut}")
        offsets = offsets.astype(np.int64, copy=False)  # unsigned ones have no negatives
        lengths = np.diff(offsets)
        order = np.argsort(-lengths, kind="stable")
        running = lengths[order]
        first, by = (offsets[1:] - 1, -1) if reverse else (offsets[:-1], 1)
        rows = [first[order[: np.count_nonzero(running > t)]] + by * t for t in range(lengths.max(initial=0))]
        return cls(operation, order, rows, cut)

    def __len__(self) -> int:
        """T, the steps of the longest sequence."""
        return len(self.rows)

    def backwards(self) -> Iterator[tuple[int, Array, bool]]:
        """Yield (t, its rows, whether the gradient flows to step t - 1), last step first."""
        for t in reversed(range(len(self))):
            yield t, self.rows[t], self.cut is None or t == 0 or t % self.cut != 0

    def ordered(self, state: Array | None, width: int, dtype: np.dtype[np.generic]) -> Array:
        """[B, width]: a state (or a delta) of each sequence, longest first; 0 where there is none."""
        if state is None:
            return np.zeros((len(self.order), width), dtype)
        if len(state) != len(self.order):
            raise ShapeError(f"{self.operation}: {len(state)} initial states for {len(self.order)} sequences")
        return state[self.order].astype(dtype)

    def restored(self, ordered: Array) -> Array:
        """[B, width] in the order in which the sequences were given."""
        state = np.empty_like(ordered)
        state[self.order] = ordered
        return state


def check_blocks(operation: str, weights: Array, count: int) -> None:
    """weights [m, count m]: square blocks side by side."""
    if weights.shape[1] != count * len(weights):
        raise ShapeError(f"{operation}: weights has shape {weights.shape}, expected [m, {count} m]")
