"""What searches share: where sources stand, and the sequences being written, as a tree of rows.

Every label that is read by the network becomes a row of the past: its keys and values, the row before it, the label.
A sequence is its last row; those that begin alike share rows, and choosing among them copies nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.jit import part
from dragoman.operations.fused_search import FREE

BLOCK = 96  # rows whose logits are held at a time
ROOM = 16  # positions there is room for at first


@part
def ints(size: Any) -> Any:
    return np.zeros(size, np.int64)


@part
def room_for(past: Any, parents: Any, fed: Any, needed: Any) -> Any:
    """The same past with room for so many rows: twice as much as before, as often as it takes"""
    room = parents.shape[0]
    if needed <= room:
        return past, parents, fed
    more, width = max(needed, 2 * room), past.shape[1] // room
    wider, older, labels = np.empty((past.shape[0], more * width), np.float32), ints(more), ints(more)
    for i in range(past.shape[0]):
        for j in range(past.shape[1]):
            wider[i, j] = past[i, j]
    for j in range(room):
        older[j], labels[j] = parents[j], fed[j]
    return wider, older, labels


@part
def append(parents: Any, fed: Any, last: Any, labels: Any, m: Any, first: Any, t: Any, places: Any) -> None:
    """Every sequence goes on by a label, in rows of the past from `first` on; its rows, from there back to the start"""
    for r in range(m):
        parents[first + r], fed[first + r] = last[r], labels[r]
        last[r] = first + r
        row = first + r
        for j in range(t, -1, -1):
            places[r, j] = row
            row = parents[row]


@part
def read_back(parents: Any, fed: Any, last: Any, length: Any, out: Any) -> None:
    """The labels of a sequence from its last row"""
    for j in range(length - 1, -1, -1):
        out[j] = fed[last]
        last = parents[last]


@part
def forced_at(prefixes: Any, s: Any, t: Any) -> Any:
    return prefixes[s, t] if t < prefixes.shape[1] else FREE
