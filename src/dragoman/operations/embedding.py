"""Embedding: labels to vectors, scaled, with the position added."""

from __future__ import annotations

import numpy as np

from dragoman.errors import ShapeError
from dragoman.graph import Array, Backward, operation
from dragoman.operations.dropout import Dropout
from dragoman.operations.shapes import check_labels, check_rows, check_shapes


@operation
def embed(
    table: Array,
    position_table: Array | None = None,
    *,
    labels: Array,
    positions: Array | None = None,
    scale: float = 1.0,
    dropout: Dropout | None = None,
) -> tuple[Array, Backward]:
    """y = table[labels] * scale + position_table[positions], then dropout       (thesis, Definition 3.7)

    table [V, d]   position_table [P, d] or None   labels [N]   positions [N]   ->   y [N, d]
    The thesis has scale = sqrt(d) and a fixed position table; a learned one gets its derivative too.
    """
    check_shapes(
        "embed",
        table=(table, "V d"),
        position_table=(position_table, "P d"),
        labels=(labels, "N"),
        positions=(positions, "N"),
    )
    if (position_table is None) != (positions is None):
        raise ShapeError("embed: a position table and positions come together; one of them is missing")
    check_labels("embed", labels, len(table))
    y = table[labels] * scale
    if position_table is not None and positions is not None:
        check_rows("embed", positions, len(position_table), "position", "the position table")
        y = y + position_table[positions]
    if dropout is not None:
        y = y * dropout.mask(y.shape, y.dtype)

    def backward(dy: Array) -> tuple[Array, Array | None]:
        """(4.3.29): de/dtable_s = scale * (the sum of dy over the rows whose label is s)"""
        if dropout is not None:
            dy = dy * dropout.mask(dy.shape, dy.dtype)
        dtable = scatter_add(dy * scale, labels, len(table))
        if position_table is None or positions is None:
            return dtable, None
        return dtable, scatter_add(dy, positions, len(position_table))

    return y, backward


def scatter_add(rows: Array, labels: Array, size: int) -> Array:
    """[size, d]: row s is the sum of the rows labelled s, 0 where there is none."""
    total = np.zeros((size, rows.shape[1]), rows.dtype)
    if len(labels):
        order = np.argsort(labels, kind="stable")
        ordered = labels[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        total[ordered[starts]] = np.add.reduceat(rows[order], starts, axis=0)
    return total
