"""What kernels may be handed, and in which form."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.jit import brief
from dragoman.graph import Array
from dragoman.operations.dropout import Dropout

REAL = (np.dtype(np.float32), np.dtype(np.float64))
NO_ROWS = {kind: np.zeros((0, 0), kind) for kind in REAL}
NO_NUMBERS = {kind: np.zeros(0, kind) for kind in REAL}
NO_LABELS = np.zeros(0, np.int64)
NONE_DROPPED = (False, np.uint32(0), 0, np.uint32(0))


def matrices(*arrays: Array | None) -> bool:
    """Whether kernels may be handed these: C-ordered matrices of one kind of real numbers."""
    kind = None
    for array in arrays:
        if array is None:
            continue
        if array.dtype not in REAL or not array.flags.c_contiguous or kind not in (None, array.dtype):
            return False
        kind = array.dtype
    return True


@brief
def _longest(offsets: Any, rows: Any) -> Any:
    if offsets.size == 0 or offsets[0] != 0 or offsets[-1] != rows:
        return -1
    longest = 1
    for i in range(offsets.size - 1):
        length = offsets[i + 1] - offsets[i]
        if length < 0:
            return -1
        longest = max(longest, length)
    return longest


@brief
def within(labels: Any, size: Any) -> Any:
    """Whether all are from 0 to size - 1."""
    fits = True
    for label in labels:
        fits &= 0 <= label < size
    return fits


def longest_of(rows: Array, offsets: Array) -> int:
    """The most rows of a sequence, at least 1; -1 unless the offsets cut all rows into sequences."""
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu":
        return -1
    return int(_longest(offsets.astype(np.int64, copy=False), len(rows)))


def packed(rows: Array, offsets: Array) -> bool:
    """Whether the offsets of sequences cut all rows into pieces."""
    return longest_of(rows, offsets) >= 0


def dropped(dropout: Dropout | None, kind: Any) -> tuple[Any, ...]:
    """Dropout as kernels take it: whether, key, first row, threshold, scale."""
    if dropout is None:
        return (*NONE_DROPPED, kind.type(1))
    threshold = np.uint32(dropout.rate * 2**32)
    return True, np.uint32(dropout.key), dropout.first_row, threshold, kind.type(1 / (1 - dropout.rate))
