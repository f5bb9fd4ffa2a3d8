"""Kernel calls recorded once; arguments are affine in row counts and addresses.

An argument is a vector of coefficients, one for each symbol: the addresses and counts that only a batch determines. So
one small matrix product gives the arguments of all calls for a batch.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dragoman.graph import Array

# one: the constant 1; m, n: rows of sources and of references; work: address of the buffers; attention_work: address of
# the workspace of attention; added: address of the rows added as positions; key: of the dropout of this step;
# attend_long, attend_long_backward: addresses of these kernels, 0 if all sequences of the batch are short
_SYMBOLS = "one work theta n m sequences longest labels offsets first_row source_labels source_offsets source_row"
_SYMBOLS += " added added_rows source_added source_added_rows attention_work key attend_long attend_long_backward"
SYMBOLS = tuple(_SYMBOLS.split())
SIZE = 4  # bytes of a float32
LINE = 16  # float32 per cache line: matrices begin at a multiple of it


def symbol(name: str) -> Array:
    """The argument that equals one symbol."""
    argument = np.zeros(len(SYMBOLS), np.int64)
    argument[SYMBOLS.index(name)] = 1
    return argument


def constant(number: int) -> Array:
    """The argument that is the same for every batch."""
    return symbol("one") * int(number)


class Matrix(NamedTuple):
    """The address and shape of a matrix, as arguments; a buffer of the tape has a number."""

    at: Array
    rows: Array
    columns: int
    number: int = -1

    @property
    def arguments(self) -> list[Array]:
        return [self.at, self.rows, constant(self.columns)]

    @property
    def flat(self) -> list[Array]:
        return [self.at, self.rows * self.columns]


class Tape:
    """A list of kernel calls, and the buffers they need."""

    def __init__(self, addresses: dict[str, tuple[int, int]]) -> None:
        """addresses  by name: of the function that unpacks the arguments, and of the kernel it calls"""
        self._addresses = addresses
        self.addresses: list[int] = []
        self.arguments: list[Array] = []
        self.starts, self.floats, self.float_starts = [0], list[float](), [0]
        self.matrices: list[Matrix] = []
        self.used = constant(0)  # bytes
        self._free: dict[tuple[bytes, int], list[Matrix]] = {}

    def buffer(self, rows: Array, columns: int) -> Matrix:
        """A matrix for intermediate results: a released one of the same shape, or a new one."""
        free = self._free.get((rows.tobytes(), columns))
        if free:
            return free.pop()
        found = Matrix(symbol("work") + self.used, rows, columns, len(self.matrices))
        self.matrices.append(found)
        self.used = self.used + rows * (SIZE * -(-columns // LINE) * LINE)
        return found

    def release(self, *matrices: Matrix) -> None:
        """Let later calls reuse these buffers. Nothing reads them from here on, not even after the run."""
        for matrix in matrices:
            self._free.setdefault((matrix.rows.tobytes(), matrix.columns), []).append(matrix)

    def call(self, name: str, *arguments: Any, floats: tuple[float, ...] = ()) -> None:
        """Append a call. Its arguments are matrices, vectors (lists of arguments), arguments or integers."""
        call, own = self._addresses[name]
        self.addresses.append(call)
        for argument in (own, *arguments):
            parts = (
                argument.arguments
                if isinstance(argument, Matrix)
                else argument
                if isinstance(argument, list)
                else [argument]
            )
            self.arguments += [item if isinstance(item, np.ndarray) else constant(item) for item in parts]
        self.floats += floats
        self.starts.append(len(self.arguments))
        self.float_starts.append(len(self.floats))

    def __len__(self) -> int:
        return len(self.addresses)
