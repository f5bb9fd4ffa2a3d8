"""Labels and their positions to vectors (Definition 3.7), with every positional encoding of the sources."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dragoman.errors import ConfigurationError, LabelError
from dragoman.graph import Array, Parameter, Value, value_of
from dragoman.layers.layer import ForwardContext, Initializer, Layer
from dragoman.layers.perceptron import Perceptron
from dragoman.operations import activate, add, concatenate_columns, drop, embed
from dragoman.operations.positions import half_sinusoid, interleaved_sinusoid, one_hot

Positions = Literal[
    "half_sinusoid",  # thesis 3.2 I: sines, then cosines, added
    "interleaved_sinusoid",  # book (7.29), (7.30): sine, cosine, sine, ... added
    "concatenated_sinusoid",  # book (7.29): the same, beside the word's own columns
    "one_hot",  # book 7.5: e_t beside the word's own columns
    "learned",  # a free table, added (lecture)
    "joint",  # book (7.28): W1 tanh(W2 x + W3 e_t + b)
    "relative",  # nothing here: attention adds a bias for each clipped distance (lecture)
    "none",
]
ENOUGH = 4096  # positions; few sequences are longer
NEEDS_MAXIMUM_LENGTH = ("one_hot", "learned", "joint")
CONCATENATED = ("concatenated_sinusoid", "one_hot")


class Embedding(Layer):
    """table[label] * sqrt(d) with the position; without positions unscaled, as in listing 4.

    depth is what comes out; concatenated encodings take `position_depth` of its columns (one_hot: maximum_length).
    `table` shares another embedding's table.
    """

    table: Value
    position_table: Value | None

    def __init__(
        self,
        vocabulary: int,
        depth: int,
        initial: Initializer,
        positions: Positions = "half_sinusoid",
        maximum_length: int | None = None,
        position_depth: int | None = None,
        dropout: float = 0.0,
        site: int = 0,
        table: Value | None = None,
    ) -> None:
        if positions in NEEDS_MAXIMUM_LENGTH and not maximum_length:
            raise ConfigurationError(f"'{positions}' positions need a maximum_length: each position has its own row")
        if positions == "one_hot":
            position_depth = maximum_length
        elif positions == "concatenated_sinusoid":
            position_depth = position_depth or max(2, depth // 4 * 2)
        self.position_depth = position_depth if positions in CONCATENATED and position_depth else 0
        width = depth - self.position_depth
        if width < 1:
            raise ConfigurationError(
                f"positions take {self.position_depth} of {depth} columns and leave none for words"
            )
        self.table = Parameter(initial.normal(vocabulary, width, depth**-0.5)) if table is None else table
        self.position_table = None
        if positions in ("learned", "joint") and maximum_length:
            self.position_table = Parameter(initial.normal(maximum_length, depth, depth**-0.5))
        if positions == "joint":
            self.word = Perceptron(depth, depth, initial)
            self.joined = Perceptron(depth, depth, initial, biases=False)
        self.positions = positions
        self.depth = depth
        self.dropout = dropout
        self.site = site
        self.scale = 1.0 if positions == "none" else float(depth**0.5)
        self._fixed = _fixed_table(positions, maximum_length or 128, depth, self.position_depth, initial.dtype)

    def __call__(self, labels: Array, positions: Array, run: ForwardContext, first_row: int = 0) -> Value:
        """labels [N], positions [N] -> [N, d]"""
        fixed = self._fixed_rows(positions)
        dropout = run.dropout(self.dropout, self.site, first_row)
        if self.positions in CONCATENATED:
            words = embed(self.table, labels=labels, scale=self.scale)
            return drop(concatenate_columns(words, fixed[positions]), dropout=dropout)
        if self.positions == "joint":
            words = self.word(embed(self.table, labels=labels, scale=self.scale))
            mixed = add(words, embed(self.position_table, labels=positions))
            return drop(self.joined(activate(mixed, activation="tanh")), dropout=dropout)
        if self.positions in ("relative", "none"):
            return embed(self.table, labels=labels, scale=self.scale, dropout=dropout)
        added = fixed if self.position_table is None else self.position_table
        return embed(self.table, added, labels=labels, positions=positions, scale=self.scale, dropout=dropout)

    def added_rows(self, length: int) -> Array:
        """Return the rows that are added to embeddings: at least `length` of a fixed table (up to ENOUGH are made), all
        of a learned one, or none."""
        if self.position_table is not None:
            return value_of(self.position_table)
        return self._fixed_rows(np.array([min(length, ENOUGH) - 1]))

    def _fixed_rows(self, positions: Array) -> Array:
        """Return the constant table, extended to these positions; learned tables cannot grow.

        Callers must use the return value, not the attribute, which another thread may replace.
        """
        fixed = self._fixed
        needed = int(positions.max(initial=-1)) + 1
        if self.positions in NEEDS_MAXIMUM_LENGTH:
            known = len(fixed) if self.position_table is None else self.position_table.shape[0]
            if needed > known:
                raise LabelError(
                    f"a sequence of {needed} positions, but '{self.positions}' positions were built for {known}; "
                    "shorten the sequence or build the network with a larger maximum_length"
                )
        elif needed > len(fixed) and len(fixed):
            fixed = _fixed_table(self.positions, 2 * needed, self.depth, self.position_depth, np.dtype(fixed.dtype))
            self._fixed = fixed
        return fixed


def _fixed_table(
    positions: Positions, length: int, depth: int, position_depth: int, dtype: np.dtype[np.generic]
) -> Array:
    """Return the constant rows of an encoding; empty if it has none."""
    if positions == "half_sinusoid":
        table = half_sinusoid(length, depth)
    elif positions == "interleaved_sinusoid":
        table = interleaved_sinusoid(length, depth)
    elif positions == "concatenated_sinusoid":
        table = interleaved_sinusoid(length, position_depth)
    elif positions == "one_hot":
        table = one_hot(length)
    else:
        table = np.zeros((0, depth))
    return table.astype(dtype)
