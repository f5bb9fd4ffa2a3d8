"""Keys and values that a decoder caches: of the other sequence, and of its own earlier positions.

Both are rows of keys and values side by side; sequence b attends to `lengths[b]` rows from `starts[b]` on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dragoman.graph import Array

ROOM = 16  # initial capacity of a cache, in positions


@dataclass(frozen=True, eq=False)
class CrossKV:
    """Keys and values of the other sequence, rows [N, 2 d]. Beams share them, so `select` copies nothing."""

    rows: Array
    starts: Array
    lengths: Array

    def select(self, rows: Array) -> CrossKV:
        return CrossKV(self.rows, self.starts[rows], self.lengths[rows])


class _Buffer:
    """A buffer for B sequences: [B, C, 2 d]; `filled` positions have been written, by the branch that came first."""

    def __init__(self, array: Array, filled: int) -> None:
        self.array, self.filled = array, filled


class KVCache:
    """Keys and values of earlier positions. `append` uses free capacity unless another branch has used it already."""

    def __init__(self, buffer: _Buffer, used: int) -> None:
        self._buffer, self.used = buffer, used

    @classmethod
    def empty(cls, batch: int, depth: int, dtype: np.dtype[np.generic]) -> KVCache:
        return cls(_Buffer(np.empty((batch, ROOM, 2 * depth), dtype), 0), 0)

    def __len__(self) -> int:
        return len(self._buffer.array)

    def append(self, keys_values: Array) -> KVCache:
        """Append one position of every sequence: [B, 2 d]."""
        buffer = self._buffer
        if buffer.filled != self.used or self.used == buffer.array.shape[1]:
            buffer = self._copied(slice(None), 2 * max(self.used, ROOM))
        buffer.array[:, self.used] = keys_values
        buffer.filled = self.used + 1
        return KVCache(buffer, self.used + 1)

    def select(self, rows: Array) -> KVCache:
        return KVCache(self._copied(rows, self._buffer.array.shape[1]), self.used)

    def _copied(self, rows: Array | slice, capacity: int) -> _Buffer:
        chosen = self._buffer.array[rows, : self.used]
        array = np.empty((len(chosen), capacity, chosen.shape[2]), chosen.dtype)
        array[:, : self.used] = chosen
        return _Buffer(array, self.used)

    @property
    def rows(self) -> Array:
        """[B C, 2 d]"""
        array = self._buffer.array
        return array.reshape(-1, array.shape[2])

    @property
    def starts(self) -> Array:
        batch, capacity = self._buffer.array.shape[:2]
        return np.arange(0, batch * capacity, capacity)

    @property
    def lengths(self) -> Array:
        return np.full(len(self), self.used)
