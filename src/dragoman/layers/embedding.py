"""Labels or real rows and their positions to vectors (Definition 3.7), with every published positional encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dragoman.errors import ConfigurationError, LabelError, ShapeError
from dragoman.graph import Array, Parameter, Symbol, Value, value_of
from dragoman.layers.layer import ForwardContext, Initializer, Layer
from dragoman.layers.perceptron import Perceptron
from dragoman.operations import activate, add, concatenate_columns, drop, embed, linear
from dragoman.operations.activations import find_activation
from dragoman.operations.positions import half_sinusoid, interleaved_sinusoid, one_hot

Positions = Literal[
    "half_sinusoid",  # thesis 3.2 I: sines, then cosines, added
    "interleaved_sinusoid",  # book (7.29), (7.30): sine, cosine, sine, ... added
    "concatenated_sinusoid",  # book (7.29): the same, beside the word's own columns
    "one_hot",  # book 7.5: e_t beside the word's own columns
    "learned",  # a free table, added (lecture)
    "joint",  # book (7.28): W1 S(W2 x + W3 e_t + b), S = tanh unless chosen otherwise
    "relative",  # nothing here: attention adds a bias for each clipped distance (lecture)
    "none",
]
ENOUGH = 4096  # positions; few sequences are longer
NEEDS_MAXIMUM_LENGTH = ("one_hot", "learned", "joint")
CONCATENATED = ("concatenated_sinusoid", "one_hot")


def columns_of_positions(
    positions: Positions, depth: int, maximum_length: int | None = None, position_depth: int | None = None
) -> int:
    """How many of `depth` columns hold the position and nothing else."""
    if positions not in CONCATENATED:
        return 0
    return (maximum_length or 0) if positions == "one_hot" else position_depth or max(2, depth // 4 * 2)


@dataclass(frozen=True)
class PositionalEncoding:
    """A published positional encoding with its settings.

    maximum_length  positions that have rows of their own, for the encodings that need it
    depth           columns that a concatenated encoding takes; one_hot takes maximum_length
    activation      S of (7.28)
    """

    kind: Positions = "half_sinusoid"
    maximum_length: int | None = None
    depth: int | None = None
    activation: str = "tanh"

    def __post_init__(self) -> None:
        if self.kind in NEEDS_MAXIMUM_LENGTH and not self.maximum_length:
            raise ConfigurationError(f"'{self.kind}' positions need a maximum_length: each position has its own row")
        find_activation(self.activation)

    def own_columns(self, depth: int) -> int:
        """The columns of `depth` that are left for what stands at a position."""
        taken = columns_of_positions(self.kind, depth, self.maximum_length, self.depth)
        if taken >= depth:
            raise ConfigurationError(f"positions take {taken} of {depth} columns: none is left for words")
        return depth - taken


class Positioned(Layer):
    """Rows that know their positions: what embeddings of labels and of real rows have in common.

    depth is what comes out, with the columns of concatenated encodings.
    """

    position_table: Value | None

    def __init__(
        self,
        depth: int,
        initial: Initializer,
        encoding: PositionalEncoding,
        dropout: float,
        site: int,
    ) -> None:
        kind, longest = encoding.kind, encoding.maximum_length
        self.position_depth = depth - encoding.own_columns(depth)
        self.position_table = None
        if kind in ("learned", "joint") and longest:
            self.position_table = Parameter(initial.normal(longest, depth, depth**-0.5))
        if kind == "joint":
            self.word = Perceptron(depth, depth, initial)
            self.joined = Perceptron(depth, depth, initial, biases=False)
            self.joint_activation = encoding.activation
        self.positions = kind
        self.depth = depth
        self.dropout = dropout
        self.site = site
        self._fixed = _fixed_table(kind, longest or 128, depth, self.position_depth, initial.dtype)

    def _place(self, x: Value, positions: Array, run: ForwardContext, first_row: int) -> Value:
        """Rows x [N, their own columns] and their positions [N] -> [N, d], with dropout"""
        fixed = self._fixed_rows(positions)
        if self.positions in CONCATENATED:
            x = concatenate_columns(x, embed(fixed, labels=positions))
        elif self.positions == "joint":
            mixed = add(self.word(x), embed(self.position_table, labels=positions))
            x = self.joined(activate(mixed, activation=self.joint_activation))
        elif self.position_table is not None:
            x = add(x, embed(self.position_table, labels=positions))
        elif len(fixed):
            x = add(x, embed(fixed, labels=positions))
        return drop(x, dropout=run.dropout(self.dropout, self.site, first_row))

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
        if isinstance(positions, Symbol):  # a batch of more positions goes through the graph, which extends the table
            return fixed
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
            self.change(_fixed=fixed)
        return fixed


class Embedding(Positioned):
    """table[label] * sqrt(d) with the position; without positions unscaled, as in listing 4.

    `table` shares another embedding's table; `deviation` is that of its initial values, 1 / sqrt(d) unless given.
    """

    table: Value

    def __init__(
        self,
        vocabulary: int,
        depth: int,
        initial: Initializer,
        encoding: PositionalEncoding | Positions = "half_sinusoid",
        dropout: float = 0.0,
        site: int = 0,
        table: Value | None = None,
        deviation: float | None = None,
    ) -> None:
        encoding = PositionalEncoding(encoding) if isinstance(encoding, str) else encoding
        width, deviation = encoding.own_columns(depth), deviation or depth**-0.5
        self.table = Parameter(initial.normal(vocabulary, width, deviation)) if table is None else table
        super().__init__(depth, initial, encoding, dropout, site)
        self.scale = 1.0 if encoding.kind == "none" else float(depth**0.5)

    def __call__(self, labels: Array, positions: Array, run: ForwardContext, first_row: int = 0) -> Value:
        """labels [N], positions [N] -> [N, d]"""
        if self.positions in CONCATENATED or self.positions == "joint":
            return self._place(embed(self.table, labels=labels, scale=self.scale), positions, run, first_row)
        fixed = self._fixed_rows(positions)
        dropout = run.dropout(self.dropout, self.site, first_row)
        if self.positions in ("relative", "none"):
            return embed(self.table, labels=labels, scale=self.scale, dropout=dropout)
        added = fixed if self.position_table is None else self.position_table
        return embed(self.table, added, labels=labels, positions=positions, scale=self.scale, dropout=dropout)


class RowEmbedding(Positioned):
    """x W + b with the position, for real rows x: image patches, series."""

    weights: Value
    biases: Value

    def __init__(
        self,
        inputs: int,
        depth: int,
        initial: Initializer,
        encoding: PositionalEncoding | Positions = "half_sinusoid",
        dropout: float = 0.0,
        site: int = 0,
    ) -> None:
        encoding = PositionalEncoding(encoding) if isinstance(encoding, str) else encoding
        width = encoding.own_columns(depth)
        self.weights = Parameter(initial.glorot(inputs, width))
        self.biases = Parameter(initial.zeros(width))
        super().__init__(depth, initial, encoding, dropout, site)

    def __call__(self, rows: Value, positions: Array, run: ForwardContext, first_row: int = 0) -> Value:
        """rows [N, inputs], positions [N] -> [N, d]"""
        inputs = self.weights.shape[0]
        if len(rows.shape) == 1 and rows.shape[0] == 0:
            rows = np.zeros((0, inputs))  # a batch of empty sequences does not know the width of its rows
        if len(rows.shape) != 2 or rows.shape[1] != inputs:
            raise ShapeError(f"expected rows of {inputs} real numbers, got an array of shape {rows.shape}")
        if isinstance(rows, np.ndarray) and rows.dtype.kind != "c":
            rows = rows.astype(np.empty(0, self.weights.dtype).real.dtype, copy=False)
        return self._place(linear(rows, self.weights, self.biases), positions, run, first_row)


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
