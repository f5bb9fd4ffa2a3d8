"""A pass as a list of steps, made once for a network: of a batch it knows nothing but how numbers of rows enter sizes.

Every word of a step is a sum of known multiples of what only a batch tells: addresses, and how many rows there are. So
the words of any batch are one small product away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dragoman.graph import Array

# What a batch tells. work: the address of the numbers that a pass keeps; look: of room for attention
_TOLD = "one work theta n m sequences longest labels offsets first_row source_labels source_offsets source_row"
TOLD = (*_TOLD.split(), "added", "added_rows", "source_added", "source_added_rows", "look", "key")
SIZE = 4  # bytes of a number
LINE = 16  # numbers that are fetched at a time: matrices begin where a line does


def told(name: str) -> Array:
    """A word that is one of these."""
    word = np.zeros(len(TOLD), np.int64)
    word[TOLD.index(name)] = 1
    return word


def known(number: int) -> Array:
    return told("one") * int(number)


class Matrix(NamedTuple):
    """Where a matrix will lie; one that has room on the tape has a number."""

    at: Array  # a word
    rows: Array  # a word
    columns: int
    number: int = -1

    @property
    def words(self) -> list[Array]:
        return [self.at, self.rows, known(self.columns)]

    @property
    def flat(self) -> list[Array]:
        return [self.at, self.rows * self.columns]


class Tape:
    """Steps one after the other, and the room they need."""

    def __init__(self, addresses: dict[str, tuple[int, int]]) -> None:
        """addresses  of steps and of their kernels, by their names"""
        self._known = addresses
        self.addresses: list[int] = []
        self.words: list[Array] = []
        self.starts, self.floats, self.float_starts = [0], list[float](), [0]
        self.matrices: list[Matrix] = []
        self.used = known(0)  # bytes
        self._free: dict[tuple[bytes, int], list[Matrix]] = {}

    def room(self, rows: Array, columns: int) -> Matrix:
        """Rows of some columns; where they are no multiple of a line, what comes next stands apart all the same."""
        free = self._free.get((rows.tobytes(), columns))
        if free:
            return free.pop()
        found = Matrix(told("work") + self.used, rows, columns, len(self.matrices))
        self.matrices.append(found)
        self.used = self.used + rows * (SIZE * -(-columns // LINE) * LINE)
        return found

    def release(self, *matrices: Matrix) -> None:
        """No step from here on reads what they hold, nor does anybody when the pass is over."""
        for matrix in matrices:
            self._free.setdefault((matrix.rows.tobytes(), matrix.columns), []).append(matrix)

    def step(self, name: str, *words: Any, floats: tuple[float, ...] = ()) -> None:
        """A step with matrices, vectors (as lists of words), words or integers."""
        step, own = self._known[name]
        self.addresses.append(step)
        for word in (own, *words):
            parts = word.words if isinstance(word, Matrix) else word if isinstance(word, list) else [word]
            self.words += [part if isinstance(part, np.ndarray) else known(part) for part in parts]
        self.floats += floats
        self.starts.append(len(self.words))
        self.float_starts.append(len(self.floats))

    def __len__(self) -> int:
        return len(self.addresses)
