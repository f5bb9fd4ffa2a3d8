"""Check shapes, so that nothing broadcasts by accident."""

from __future__ import annotations

import numpy as np

from dragoman.errors import LabelError, NonFiniteError, ShapeError
from dragoman.graph import Array


def check_shapes(operation: str, **arrays: tuple[Array | None, str]) -> None:
    """Check each array against its axes, e.g. `x=(x, "N d"), weights=(weights, "d k")`: equal letters, equal sizes.

    `None` is an optional input left out.
    """
    sizes: dict[str, tuple[int, str]] = {}
    for name, (array, axes) in arrays.items():
        if array is None:
            continue
        letters = axes.split()
        if array.ndim != len(letters):
            raise ShapeError(f"{operation}: {name} has shape {array.shape}, expected [{', '.join(letters)}]")
        for letter, size in zip(letters, array.shape, strict=True):
            known, owner = sizes.setdefault(letter, (size, name))
            if known != size:
                other = arrays[owner]
                assert other[0] is not None
                raise ShapeError(
                    f"{operation}: {owner} [{', '.join(other[1].split())}] has shape {other[0].shape}, but {name} "
                    f"[{', '.join(letters)}] has shape {array.shape}: they differ in {letter} ({known} and {size})"
                )


def check_offsets(operation: str, rows: Array, offsets: Array, name: str = "x") -> None:
    """Check that the sequences cover the rows exactly."""
    if len(rows) != offsets[-1]:
        raise ShapeError(f"{operation}: {name} has shape {rows.shape}, but the offsets end at {offsets[-1]}")
    if offsets[0] != 0 or (offsets[1:] < offsets[:-1]).any():
        raise ShapeError(f"{operation}: offsets must rise from 0, got {offsets}")


def check_labels(operation: str, labels: Array, vocabulary: int) -> None:
    """Check that every label is a row of the table: 0 <= label < vocabulary."""
    check_rows(
        operation, labels, vocabulary, "label", "the vocabulary", "; was the text encoded with this model's tokenizer?"
    )


def check_rows(operation: str, rows: Array, size: int, what: str = "row", where: str = "x", hint: str = "") -> None:
    """Check for integers from 0 to size - 1."""
    if rows.dtype.kind not in "iu":
        raise LabelError(f"{operation}: {what}s must be integers, got {rows.dtype}")
    if rows.size and (rows.min() < 0 or rows.max() >= size):
        place = int(((rows < 0) | (rows >= size)).argmax())
        raise LabelError(
            f"{operation}: {what} {int(rows[place])} at row {place} is not in {where}, which has the {what}s "
            f"0 to {size - 1}{hint}"
        )


def check_finite(operation: str, value: Array) -> None:
    """Raise an error if a scalar loss is NaN or infinite."""
    if not np.isfinite(value).all():
        raise NonFiniteError(
            f"{operation} is {value}: the outputs of the network have overflowed or were not numbers; "
            "lower the learning rate, clip the gradient, or check the inputs"
        )
