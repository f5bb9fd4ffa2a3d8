"""Recurrent layers: cells of any kind, stacked and in both directions (book 7.2 and 7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice
from typing import Literal

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Parameter, Value, value_of
from dragoman.layers.layer import ForwardContext, Initializer, Layer
from dragoman.operations import concatenate_columns, drop, gru, linear, lstm, rnn
from dragoman.operations.activations import find_activation

CellKind = Literal["rnn", "lstm", "gru"]
BLOCKS = {
    "rnn": ("state",),
    "lstm": ("forget", "input", "output", "memory"),  # (7.17), (7.16)
    "gru": ("reset", "update", "state"),  # (7.19), (7.18)
}
State = tuple[Value, ...]  # (h,), or (h, c) of an LSTM, each [B, m]


class Cell(Layer):
    """One recurrence: x W_x + b for every row in one product, then the state from step to step.

    The blocks of weights and biases are named by the gates they belong to, as the book writes them one by one.
    """

    weights: Value
    biases: Value
    recurrent_weights: Value

    def __init__(
        self,
        kind: CellKind,
        inputs: int,
        units: int,
        initial: Initializer,
        activation: str = "tanh",
        reverse: bool = False,
    ) -> None:
        if kind not in BLOCKS:
            raise ConfigurationError(f"unknown cell '{kind}'; available: {', '.join(BLOCKS)}")
        find_activation(activation)
        names = BLOCKS[kind]
        self.weights = Parameter(initial.glorot(inputs, units, len(names)), _named(names, "weights"))
        self.biases = Parameter(_biases(kind, units, initial), _named(names, "biases"))
        self.recurrent_weights = Parameter(
            np.concatenate([initial.orthogonal(units) for _ in names], axis=1), _named(names, "recurrent_weights")
        )
        self.kind = kind
        self.units = units
        self.activation = activation
        self.reverse = reverse

    def inputs(self, x: Value) -> Value:
        """Compute the contribution of the inputs for all rows, [N, blocks m]."""
        return linear(x, self.weights, self.biases)

    def __call__(self, x: Value, offsets: Array, state: State = (), cut: int | None = None) -> tuple[Value, State]:
        """x [N, p] -> h [N, m] at every row, and the state after the last step."""
        return self.run(self.inputs(x), offsets, state, cut)

    def run(self, inputs: Value, offsets: Array, state: State = (), cut: int | None = None) -> tuple[Value, State]:
        """Run the recurrence on the result of `inputs`."""
        common = {"offsets": offsets, "reverse": self.reverse, "cut": cut}
        if self.kind == "lstm":
            h, _, final, final_cell = lstm(inputs, self.recurrent_weights, *state, **common)
            return h, (final, final_cell)
        if self.kind == "gru":
            h, final = gru(inputs, self.recurrent_weights, *state, **common)
        else:
            h, final = rnn(inputs, self.recurrent_weights, *state, activation=self.activation, **common)
        return h, (final,)

    def begin(self, count: int) -> State:
        """Return a zero state for this many sequences."""
        kind = self.weights.dtype
        return tuple(np.zeros((count, self.units), kind) for _ in range(2 if self.kind == "lstm" else 1))

    def step(self, inputs: Value, state: State) -> State:
        """Take one step of every sequence: inputs [B, blocks m]."""
        return self.run(inputs, np.arange(len(value_of(inputs)) + 1), state)[1]


def _named(names: Sequence[str], what: str) -> tuple[str, ...]:
    return tuple(f"{name}.{what}" for name in names)


def _biases(kind: CellKind, units: int, initial: Initializer) -> Array:
    """Return zeros, but 1 for the forget gate: an open gate lets gradients through many steps at first."""
    biases = initial.zeros(len(BLOCKS[kind]) * units)
    if kind == "lstm":
        biases[:units] = 1
    return biases


class Recurrent(Layer):
    """Layers of cells, each reading the states h of the one before (7.15), in one direction or in both (7.14).

    Of an LSTM only h is read by the layer above, never c. `dropout` acts between layers.
    """

    def __init__(
        self,
        kind: CellKind,
        inputs: int,
        units: int,
        initial: Initializer,
        layers: int = 1,
        bidirectional: bool = False,
        activation: str = "tanh",
        dropout: float = 0.0,
        sites: Iterator[int] | None = None,
    ) -> None:
        directions = 2 if bidirectional else 1
        widths = [inputs] + [units * directions] * (layers - 1)
        self.forward = tuple(Cell(kind, width, units, initial, activation) for width in widths)
        self.backward = tuple(Cell(kind, width, units, initial, activation, True) for width in widths if bidirectional)
        self.units = units * directions
        self.dropout = dropout
        self.sites = tuple(islice(sites or count(), layers - 1))

    def __call__(
        self,
        x: Value,
        offsets: Array,
        run: ForwardContext,
        states: Sequence[State] = (),
        cut: int | None = None,
        first_row: int = 0,
    ) -> tuple[Value, list[State]]:
        """x [N, p] -> the last layer's rows [N, m, or 2 m in both directions], and each layer's state after its end.

        states  what each layer begins with; 0 where none is given. In both directions, the two side by side.
        """
        finals: list[State] = []
        for i, cell in enumerate(self.forward):
            dropout = run.dropout(self.dropout, self.sites[i - 1], first_row) if i else None
            if dropout is not None:
                x = drop(x, dropout=dropout)
            state = states[i] if i < len(states) else ()
            if not self.backward:
                x, final = cell(x, offsets, state, cut)
            else:
                x, final = self._both(i, x, offsets, state, cut)
            finals.append(final)
        return x, finals

    def _both(self, i: int, x: Value, offsets: Array, state: State, cut: int | None) -> tuple[Value, State]:
        if state:
            raise ConfigurationError("a bidirectional layer always begins with a zero state")
        h_forward, forward = self.forward[i](x, offsets, (), cut)
        h_backward, backward = self.backward[i](x, offsets, (), cut)
        final = tuple(concatenate_columns(f, b) for f, b in zip(forward, backward, strict=True))
        return concatenate_columns(h_forward, h_backward), final

    def step(self, x: Value, states: Sequence[State], ready: bool = False) -> list[State]:
        """Take one step of every sequence, in one direction: x [B, p], or its contribution if `ready`."""
        return advance(self.forward, x, states, ready)


def advance(cells: Sequence[Cell], x: Value, states: Sequence[State], ready: bool = False) -> list[State]:
    """Take one step of stacked cells: each reads the new h of the one below."""
    new: list[State] = []
    for cell, state in zip(cells, states, strict=True):
        new.append(cell.step(x if ready and not new else cell.inputs(x), state))
        x = new[-1][0]
    return new


def select_states(states: Sequence[State], rows: Array) -> tuple[State, ...]:
    """Select the states of some sequences; plain arrays."""
    return tuple(tuple(value_of(part)[rows] for part in state) for state in states)
