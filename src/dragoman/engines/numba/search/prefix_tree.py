"""The sequences being written, as a tree of cache rows.

Every label the decoder reads adds a row: its keys and values, its parent row, the label. A sequence is identified by
its last row. Sequences with a common prefix share rows, so selecting beams copies nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.fused_search import FREE
from dragoman.engines.numba.jit import device_function

BLOCK = 96  # rows whose logits are held at a time
INITIAL_POSITIONS = 16  # initial capacity, in positions of every sequence


@device_function
def ints(size: Any) -> Any:
    return np.zeros(size, np.int64)


@device_function
def grow(cache: Any, parents: Any, fed: Any, needed: Any) -> Any:
    """The same cache with a capacity of at least `needed` rows; it doubles when it grows."""
    capacity = parents.shape[0]
    if needed <= capacity:
        return cache, parents, fed
    more, width = max(needed, 2 * capacity), cache.shape[1] // capacity
    wider, older, labels = np.empty((cache.shape[0], more * width), np.float32), ints(more), ints(more)
    for i in range(cache.shape[0]):
        for j in range(cache.shape[1]):
            wider[i, j] = cache[i, j]
    for j in range(capacity):
        older[j], labels[j] = parents[j], fed[j]
    return wider, older, labels


@device_function
def append(parents: Any, fed: Any, last: Any, labels: Any, m: Any, first: Any, t: Any, row_lists: Any) -> None:
    """Append a label to every sequence, in cache rows from `first` on; row_lists receives the rows of each sequence."""
    for r in range(m):
        parents[first + r], fed[first + r] = last[r], labels[r]
        last[r] = first + r
        row = first + r
        for j in range(t, -1, -1):
            row_lists[r, j] = row
            row = parents[row]


@device_function
def read_back(parents: Any, fed: Any, last: Any, length: Any, out: Any) -> None:
    """Write the labels of a sequence, given its last row."""
    for j in range(length - 1, -1, -1):
        out[j] = fed[last]
        last = parents[last]


@device_function
def forced_label(prefixes: Any, s: Any, t: Any) -> Any:
    return prefixes[s, t] if t < prefixes.shape[1] else FREE
