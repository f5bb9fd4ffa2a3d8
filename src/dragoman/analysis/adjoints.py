"""The adjoints zeta<t> = dC/dh<t> of a recurrence, which vanish or explode (book 7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dragoman.errors import ShapeError
from dragoman.graph import Array, Tensor, backpropagate, value_of
from dragoman.layers import Cell, CellKind, Embedding, ForwardContext, Initializer, State, advance

UNTRAINED: dict[str, tuple[CellKind, float]] = {
    "RNN": ("rnn", 1.0),
    "RNN, weights × 0.7": ("rnn", 0.7),
    "RNN, weights × 2": ("rnn", 2.0),
    "LSTM": ("lstm", 1.0),
    "GRU": ("gru", 1.0),
}


@dataclass(frozen=True, eq=False)
class Adjoints:
    """Of a loss at step T alone, by the states after t = 0, 1, ..., T steps; 0 is the one it began with.

    h  zeta<t> = dC/dh<t>, also through the layers above it at step t          [T + 1, L, B, m]
    c  dC/dc<t> by what c<t> hands on to step t + 1, h<t> held; of an LSTM alone
    """

    h: Array
    c: Array | None = None

    def norms(self) -> Array:
        """[T + 1, L] of each layer's state, h and c together: the root of the mean square over sequences."""
        squares = np.square(self.h) if self.c is None else np.square(self.h) + np.square(self.c)
        found: Array = np.sqrt(squares.sum(axis=3).mean(axis=2))
        return found


def adjoints(cells: Sequence[Cell], x: Array, at_end: Array) -> Adjoints:
    """Run layers of cells in one direction, one step at a time, and back-propagate by every state in between.

    cells   the layers, first to last: `recurrent.forward`, or one cell alone
    x       [B, T, p] what the first layer reads
    at_end  [B, m] zeta<T>: what a loss that reads the last layer's h<T> passes back
    """
    if x.ndim != 3 or at_end.shape != (len(x), cells[-1].units):
        raise ShapeError(f"adjoints: x {x.shape} and at_end {at_end.shape} are not [B, T, p] and [B, m]")
    plain = [cell.without_gradient() for cell in cells]
    seen: list[list[State]] = [[tuple(Tensor(value_of(part)) for part in cell.begin(len(x))) for cell in plain]]
    for t in range(x.shape[1]):
        seen.append(advance(plain, x[:, t], seen[-1]))
    wanted = [part for states in seen for state in states for part in state]
    found = backpropagate(seen[-1][-1][0], wanted, [at_end])  # type: ignore[arg-type]
    each = np.stack(found).reshape(len(seen), len(cells), -1, *at_end.shape)
    return Adjoints(each[:, :, 0], each[:, :, 1] if each.shape[2] > 1 else None)


def adjoint_norms(cell: Cell, x: Array, seed: int = 0) -> Array:
    """[T + 1] the norm of one cell's adjoints after t = 0 ... T steps, of a loss that passes back 1 at the end.

    In which direction it points is drawn for each sequence of x [B, T, p].
    """
    drawn = np.random.default_rng(seed).standard_normal((len(x), cell.units))
    at_end = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    norms: Array = adjoints([cell], x, at_end.astype(value_of(cell.weights).dtype)).norms()[:, 0]
    return norms


def untrained_norms(labels: Array, vocabulary: int, depth: int, units: int, seed: int = 0) -> dict[str, Array]:
    """The norms of cells as they are before training, on sequences of labels [B, T], by what they are called.

    The state's weights of a cell are a rotation; those of an RNN are also shown shrunk and stretched.
    """
    found = {}
    for name, (kind, stretch) in UNTRAINED.items():
        initial = Initializer(seed, np.float64)
        embedding = Embedding(vocabulary, depth, initial, "none")
        cell = Cell(kind, depth, units, initial).without_gradient()
        cell.recurrent_weights = value_of(cell.recurrent_weights) * stretch
        found[name] = adjoint_norms(cell, embedded(embedding, labels), seed)
    return found


def embedded(embedding: Embedding, labels: Array) -> Array:
    """[B, T, d] of labels [B, T], without their positions."""
    rows = embedding.without_gradient()(labels.ravel(), np.zeros(labels.size, np.int64), ForwardContext())
    return value_of(rows).reshape(*labels.shape, -1)
