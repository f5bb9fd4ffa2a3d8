"""What kernels may be handed, and in which form."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def packed(rows: Array, offsets: Array) -> bool:
    """Whether the offsets of sequences cut all rows into pieces."""
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or not len(offsets):
        return False
    return bool(offsets[0] == 0 and offsets[-1] == len(rows) and (offsets[1:] >= offsets[:-1]).all())


def dropped(dropout: Dropout | None, kind: Any) -> tuple[Any, ...]:
    """Dropout as kernels take it: whether, key, first row, threshold, scale."""
    if dropout is None:
        return (*NONE_DROPPED, kind.type(1))
    threshold = np.uint32(dropout.rate * 2**32)
    return True, np.uint32(dropout.key), dropout.first_row, threshold, kind.type(1 / (1 - dropout.rate))
