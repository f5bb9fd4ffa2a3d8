"""The arguments of kernel calls, by name.

A call gets one array of integers: the address of the kernel, then its fields in the order in which they are declared.
A field takes as many integers as its kind says. Programs give it by its name, and kernels find it by its name.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dragoman.engines.tracing import SymbolicDropout
from dragoman.graph import Size, Symbol

FIELDS: dict[str, dict[str, Kind]] = {}  # by call


class Matrix:
    """A matrix of a program. Its address is given, or planned: then it is a buffer.

    kept  whether Python reads it after the calls; its buffer is not used for anything else
    """

    __slots__ = ("at", "columns", "kept", "number", "rows")

    def __init__(self, rows: Size, columns: int, at: Size | None = None) -> None:
        self.rows, self.columns, self.at = rows, columns, at
        self.kept, self.number = False, -1

    @property
    def is_buffer(self) -> bool:
        return self.at is None or "&work" in self.at.terms


class Columns(NamedTuple):
    """The columns of a matrix from `first` on."""

    matrix: Matrix
    first: int


class Kind(NamedTuple):
    """What a field holds.

    integers  how many it takes     expand  an argument -> these integers, as Sizes
    """

    integers: int
    expand: Callable[[Any], list[Size | int]]


def _matrix(x: Matrix | None) -> list[Size | int]:
    if x is None:
        return [0, 0, 1]
    assert x.at is not None
    return [x.at, x.rows, x.columns]


def _vector(x: Matrix | None) -> list[Size | int]:
    if x is None:
        return [0, 0]
    assert x.at is not None
    return [x.at, x.rows * x.columns]


def _columns(x: Columns) -> list[Size | int]:
    return [*_vector(x.matrix), x.first, x.matrix.columns]


def _labels(x: Symbol | None) -> list[Size | int]:
    return [0, 0] if x is None else [Size.of(f"&{x.name}"), x.shape[0]]


def _bits(x: float) -> int:
    """A float64 as an integer; kernels turn it back."""
    return int(np.float64(x).view(np.int64))


def _dropout(x: SymbolicDropout | None) -> list[Size | int]:
    if x is None:
        return [0, 0, 0, 0, 0, _bits(1.0)]
    threshold = int(np.uint32(x.rate * 2**32))
    return [1, Size.of("key"), x.site, x.first_row, threshold, _bits(1 / (1 - x.rate))]


NUMBER = Kind(1, lambda x: [x])
REAL = Kind(1, lambda x: [_bits(x)])
PAIR = Kind(2, list)
MATRIX = Kind(3, _matrix)  # address, rows, columns; None: no rows
VECTOR = Kind(2, _vector)  # address, size: all elements of a matrix; None: empty
COLUMNS = Kind(4, _columns)  # address and size of the matrix, first column, columns of a row
LABELS = Kind(2, _labels)  # address, size of an integer array of the batch; None: empty
DROPOUT = Kind(6, _dropout)  # enabled, the key shared by all sites, site, first row, threshold, scale


def fields(call: str, **kinds: Kind) -> Any:
    """Declare the fields of a call; returns a named tuple that says where each begins."""
    FIELDS[call] = kinds
    starts = np.cumsum([1, *(kind.integers for kind in kinds.values())]).tolist()
    return namedtuple(call, kinds)(*starts[:-1])
