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
    given = [array for array in arrays if array is not None]
    kind = given[0].dtype
    return kind in REAL and all(
        array.dtype == kind and array.flags.c_contiguous and array.flags.aligned for array in given
    )


def vectors(*arrays: Array) -> bool:
    """Whether all arrays are contiguous vectors of one length and real type."""
    return matrices(*arrays) and all(array.shape == (arrays[0].size,) for array in arrays)


def writable(*arrays: Array) -> bool:
    return all(array.flags.writeable for array in arrays)


def are_integers(*arrays: Array) -> bool:
    """Whether all arrays are vectors of integers that int64 holds, in the byte order of this machine."""
    return all(
        array.ndim == 1 and array.dtype.kind in "iu" and array.dtype != np.uint64 and array.dtype.isnative
        for array in arrays
    )


def standard(array: Array, kind: Any = None) -> Array:
    """The array, of another type if one is given, contiguous, aligned and writable; copied only if it is not.

    A kernel would be compiled again for each other stride and flag.
    """
    if array.flags.carray and (kind is None or array.dtype == kind):
        return array
    return np.require(array, kind, ("C", "A", "W"))


def int64s(array: Array) -> Array:
    """Integers as kernels take them."""
    return standard(array, np.int64)


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
    return int(_longest(int64s(offsets), rows)) if are_integers(offsets) else -1


def packed(rows: Array, offsets: Array) -> bool:
    """Whether the offsets partition the rows into sequences."""
    return longest_of(rows, offsets) >= 0


def dropout_mask(dropout: Dropout | None, kind: Any) -> tuple[Any, ...]:
    """The fields of a DropoutMask."""
    if dropout is None:
        return (*NONE_DROPPED, kind.type(1))
    threshold = np.uint32(dropout.rate * 2**32)
    return True, np.uint32(dropout.key), dropout.first_row, threshold, kind.type(1 / (1 - dropout.rate))
