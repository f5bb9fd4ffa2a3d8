"""The small structural operations a network needs between the equations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.errors import ShapeError
from dragoman.graph import Array, Backward, index_function, operation
from dragoman.operations.embedding import scatter_add
from dragoman.operations.shapes import check_offsets, check_rows, check_shapes


@operation
def add(x1: Array, x2: Array) -> tuple[Array, Backward]:
    """y = x1 + x2, equal shapes          (thesis, Definition 3.10)"""
    if x1.shape != x2.shape:
        raise ShapeError(f"add: x1 has shape {x1.shape}, x2 has shape {x2.shape}; they must be equal")

    def backward(dy: Array) -> tuple[Array, Array]:
        """(4.3.12), (4.3.13)"""
        return dy, dy

    return x1 + x2, backward


@operation
def concatenate_columns(x1: Array, x2: Array) -> tuple[Array, Backward]:
    """y = [x1, x2]                      x1 [N, a]   x2 [N, b]   ->   y [N, a + b]"""
    check_shapes("concatenate_columns", x1=(x1, "N a"), x2=(x2, "N b"))
    width = x1.shape[1]

    def backward(dy: Array) -> tuple[Array, Array]:
        return dy[:, :width], dy[:, width:]

    return np.concatenate((x1, x2), axis=1), backward


@operation
def append_row(x: Array, row: Array, *, offsets: Array) -> tuple[Array, Backward]:
    """Put one more row, the same for all, at the end of every sequence (a class token).

    x [N, d]   row [d]   ->   y [N + B, d]; the new offsets are offsets + 0, 1, ..., B
    """
    check_shapes("append_row", x=(x, "N d"), row=(row, "d"))
    check_offsets("append_row", x, offsets)
    ends = appended_rows(offsets)
    kept = np.ones(len(x) + len(ends), bool)
    kept[ends] = False
    y = np.empty((len(kept), x.shape[1]), np.result_type(x, row))
    y[kept] = x
    y[ends] = row

    def backward(dy: Array) -> tuple[Array, Array]:
        return dy[kept], dy[ends].sum(axis=0)

    return y, backward


@index_function(lambda offsets: offsets)
def appended_offsets(offsets: Array) -> Array:
    """Where sequences begin once each has one row more."""
    return offsets + np.arange(len(offsets))


@index_function(lambda offsets, positions: positions)
def sequences_of_rows(offsets: Array, positions: Array) -> Array:
    """[N] the sequence that each row belongs to; positions [N] of the rows."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


@index_function(lambda offsets: (offsets[0] - 1,))
def appended_rows(offsets: Array) -> Array:
    """[B] the rows that `append_row` adds."""
    return appended_offsets(offsets)[1:] - 1


@operation
def take_rows(x: Array, *, rows: Array) -> tuple[Array, Backward]:
    """y = x[rows]                       x [N, d]   rows [K]   ->   y [K, d]"""
    check_shapes("take_rows", x=(x, "N d"), rows=(rows, "K"))
    check_rows("take_rows", rows, len(x))

    def backward(dy: Array) -> Array:
        return scatter_add(dy, rows, len(x))

    return x[rows], backward


@operation
def split_rows(x: Array, *, rows: Sequence[Array]) -> tuple[tuple[Array, ...], Backward]:
    """(x[rows[0]], x[rows[1]], ...): the rows split, none of them twice (for the steps of a recurrence)."""
    check_shapes("split_rows", x=(x, "N d"))
    for each in rows:
        check_rows("split_rows", each, len(x))

    def backward(*dys: Array | None) -> Array:
        dx = np.zeros_like(x)
        for each, dy in zip(rows, dys, strict=True):
            if dy is not None:
                dx[each] = dy
        return dx

    return tuple(x[each] for each in rows), backward


@operation
def join_rows(*xs: Array, rows: Sequence[Array]) -> tuple[Array, Backward]:
    """y[rows[t]] = xs[t]: the inverse of `split_rows`; every row of y occurs once."""
    if len(xs) != len(rows) or any(len(x) != len(each) for x, each in zip(xs, rows, strict=True)):
        raise ShapeError(f"join_rows: arrays of {list(map(len, xs))} rows go to {list(map(len, rows))} places")
    y = np.empty((sum(map(len, rows)), xs[0].shape[1]), np.result_type(*xs))
    for x, each in zip(xs, rows, strict=True):
        y[each] = x

    def backward(dy: Array) -> tuple[Array, ...]:
        return tuple(dy[each] for each in rows)

    return y, backward


@operation
def reshape(x: Array, *, shape: tuple[int, ...]) -> tuple[Array, Backward]:
    """The same elements, row-major, in another shape."""

    def backward(dy: Array) -> Array:
        return dy.reshape(x.shape)

    return x.reshape(shape), backward


@operation
def transpose(x: Array, *, axes: tuple[int, ...]) -> tuple[Array, Backward]:
    """The same elements with their axes in another order."""
    inverse = tuple(int(i) for i in np.argsort(axes))

    def backward(dy: Array) -> Array:
        return dy.transpose(inverse)

    return x.transpose(axes), backward
