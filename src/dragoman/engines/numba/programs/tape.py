"""Kernel calls recorded once; arguments are affine in row counts and addresses.

An argument is a Size: a sum of counts and addresses, most of which only a batch determines. So one small matrix
product gives the arguments of all calls for a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dragoman.engines.numba.programs.fields import FIELDS, Columns, Matrix
from dragoman.engines.numba.programs.kernel_calls import addresses
from dragoman.graph import Array, Size

SIZE = 4  # bytes of a float32
LINE = 16  # float32 per cache line: buffers begin at a multiple of it
WORK = Size.of("&work")  # the address of all buffers


class Call:
    """One kernel call with its arguments by name.

    in_place  its output may be one of its inputs
    """

    __slots__ = ("arguments", "in_place", "name")

    def __init__(self, name: str, arguments: dict[str, Any], in_place: bool = False) -> None:
        if arguments.keys() != FIELDS[name].keys():
            raise TypeError(f"{name} takes {', '.join(FIELDS[name])}, got {', '.join(arguments)}")
        self.name, self.arguments, self.in_place = name, arguments, in_place

    def matrices(self) -> list[Matrix]:
        """The buffers that it reads or writes."""
        given = (x.matrix if isinstance(x, Columns) else x for x in self.arguments.values())
        return [matrix for matrix in given if isinstance(matrix, Matrix) and matrix.is_buffer]

    def integers(self) -> list[Size]:
        """What the kernel gets after its address."""
        found = (x for name, kind in FIELDS[self.name].items() for x in kind.expand(self.arguments[name]))
        return [x if isinstance(x, Size) else Size.constant(x) for x in found]


class PythonStep:
    """A place in the order of calls where an operation is called from Python; what it touches stays in memory."""

    __slots__ = ("call", "touched")

    def __init__(self, call: Any, touched: list[Matrix]) -> None:
        self.call, self.touched = call, touched

    def matrices(self) -> list[Matrix]:
        return self.touched


Step = Call | PythonStep
Free = dict[tuple[frozenset[tuple[str, int]], int], list[Size]]  # addresses by the shape of a buffer


def plan_buffers(steps: Sequence[Step]) -> tuple[list[Matrix], Size]:
    """Give every buffer an address; returns the buffers, and their bytes.

    A buffer is free for others after the last step that reads it, unless it is kept.
    """
    last = {id(matrix): i for i, step in enumerate(steps) for matrix in step.matrices()}
    free: Free = {}
    buffers: list[Matrix] = []
    used = Size.constant(0)
    for i, step in enumerate(steps):
        matrices = list({id(matrix): matrix for matrix in step.matrices()}.values())
        dying = [matrix for matrix in matrices if last[id(matrix)] == i and not matrix.kept]
        known = [matrix for matrix in dying if matrix.at is not None]
        if isinstance(step, Call) and step.in_place:
            _release(free, known)
        for matrix in matrices:
            if matrix.at is not None:
                continue
            places = free.get((matrix.rows.key, matrix.columns))
            if places:
                matrix.at = places.pop()
            else:
                matrix.at = WORK + used
                used = used + matrix.rows * (SIZE * -(-matrix.columns // LINE) * LINE)
            matrix.number = len(buffers)
            buffers.append(matrix)
        if not (isinstance(step, Call) and step.in_place):
            _release(free, known)
        _release(free, [matrix for matrix in dying if matrix not in known])
    return buffers, used


def _release(free: Free, matrices: Sequence[Matrix]) -> None:
    for matrix in matrices:
        assert matrix.at is not None
        free.setdefault((matrix.rows.key, matrix.columns), []).append(matrix.at)


class Tape:
    """The arguments of calls as coefficients of names: `names` are the columns of `coefficients`."""

    def __init__(self, calls: Sequence[Call], buffers: Sequence[Matrix], vectors: int) -> None:
        found = [addresses(call.name, vectors) for call in calls]
        self.addresses = np.array([call for call, _ in found], np.int64)
        sizes = [[Size.constant(own), *call.integers()] for call, (_, own) in zip(calls, found, strict=True)]
        self.starts = np.cumsum([0, *(len(each) for each in sizes)])
        places = [size for buffer in buffers for size in (buffer.at, buffer.rows) if size is not None]
        rows = [*(size for each in sizes for size in each), *places]
        self.count = len(rows) - len(places)
        self.names = sorted({name for row in rows for name in row.terms})
        columns = {name: i for i, name in enumerate(self.names)}
        self.coefficients: Array = np.zeros((len(rows), len(self.names)), np.int64)
        for i, row in enumerate(rows):
            for name, factor in row.terms.items():
                self.coefficients[i, columns[name]] = factor

    def evaluate(self, values: dict[str, int]) -> tuple[Array, Array]:
        """The arguments for a batch, and (address, rows) of each buffer."""
        numbers: Array = self.coefficients @ np.array([values[name] for name in self.names], np.int64)
        return numbers[: self.count], numbers[self.count :].reshape(-1, 2)
