"""Checks and conversions of the arguments of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.jit import short_kernel
from dragoman.graph import Array
from dragoman.operations.dropout import Dropout

REAL = (np.dtype(np.float32), np.dtype(np.float64))
NO_ROWS = {kind: np.zeros((0, 0), kind) for kind in REAL}
NO_NUMBERS = {kind: np.zeros(0, kind) for kind in REAL}
NO_LABELS = np.zeros(0, np.int64)
NONE_DROPPED = (False, np.uint32(0), 0, np.uint32(0))


def matrices(*arrays: Array | None) -> bool:
    """Whether all arrays are C-contiguous, aligned and of one real type."""
    kind = None
    for array in arrays:
        if array is None:
            continue
        fits = array.flags.c_contiguous and array.flags.aligned
        if array.dtype not in REAL or not fits or kind not in (None, array.dtype):
            return False
        kind = array.dtype
    return True


@short_kernel
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


@short_kernel
def within(labels: Any, size: Any) -> Any:
    """Whether all labels are from 0 to size - 1."""
    fits = True
    for label in labels:
        fits &= 0 <= label < size
    return fits


def longest_of(rows: Array, offsets: Array) -> int:
    """The length of the longest sequence, at least 1; -1 if the offsets do not partition the rows."""
    return longest_of_rows(len(rows), offsets)


def longest_of_rows(rows: int, offsets: Array) -> int:
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu":
        return -1
    return int(_longest(offsets.astype(np.int64, copy=False), rows))


def packed(rows: Array, offsets: Array) -> bool:
    """Whether the offsets partition the rows into sequences."""
    return longest_of(rows, offsets) >= 0


def dropout_mask(dropout: Dropout | None, kind: Any) -> tuple[Any, ...]:
    """The fields of a DropoutMask."""
    if dropout is None:
        return (*NONE_DROPPED, kind.type(1))
    threshold = np.uint32(dropout.rate * 2**32)
    return True, np.uint32(dropout.key), dropout.first_row, threshold, kind.type(1 / (1 - dropout.rate))
