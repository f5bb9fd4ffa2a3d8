"""The recurrent network of book 7.2 and 7.3: one output for every input, from labels or rows of real numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, Value, value_of
from dragoman.layers import CellKind, ForwardContext, Initializer, Perceptron, Recurrent, State, select_states
from dragoman.networks.feedback import with_feedback
from dragoman.networks.network import Configuration, Network
from dragoman.operations.shapes import check_labels

NONE = -1  # no feedback: the first step of a sequence


class RecurrentNetworkConfiguration(Configuration):
    """Settings: inputs p, units m and outputs q of the book; labels are one-hot vectors, so p is the vocabulary size.

    feedback  the previous output, as a one-hot vector, is added to every input (7.3); then q = p
    """

    inputs: int = Field(ge=1)
    units: int = Field(ge=1)
    outputs: int = Field(ge=1)
    cell: CellKind = "rnn"
    layers: int = Field(default=1, ge=1)
    bidirectional: bool = False
    activation: Literal["identity", "relu", "logistic", "tanh", "gelu"] = "tanh"  # S_h
    output_activation: Literal["identity", "relu", "logistic", "tanh", "gelu"] = "identity"  # S_y; the loss has softmax
    feedback: bool = False

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.feedback and self.inputs != self.outputs:
            raise ValueError(
                f"feedback is added to the inputs, but there are {self.inputs} inputs and {self.outputs} outputs"
            )
        if self.feedback and self.bidirectional:
            raise ValueError("a bidirectional network cannot use feedback")
        return self


@dataclass(frozen=True, eq=False)
class RecurrentNetworkState:
    """The state of reading: (h,) or (h, c) of each layer, and the label to feed back, NONE at the start."""

    states: tuple[State, ...]
    fed: Array

    def __len__(self) -> int:
        return len(self.fed)

    def select(self, rows: Array) -> RecurrentNetworkState:
        return RecurrentNetworkState(select_states(self.states, rows), self.fed[rows])


class RecurrentNetwork(Network):
    """h<t> = S_h(W_hh h<t-1> + W_hx x<t> + b_h),   y<t> = S_y(W_yh h<t> + b_y)          (book, (7.2))

    with any cell (7.16)-(7.19), in both directions (7.14), stacked (7.15), with output feedback (7.3).
    """

    def __init__(self, configuration: RecurrentNetworkConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        initial = Initializer(seed, dtype)
        self.hidden = Recurrent(c.cell, c.inputs, c.units, initial, c.layers, c.bidirectional, c.activation)
        self.output = Perceptron(self.hidden.units, c.outputs, initial, c.output_activation)
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """Outputs [N, q] at every row."""
        return self.read(batch, run)[0]

    def read(
        self,
        batch: Batch,
        run: ForwardContext | None = None,
        states: Sequence[State] = (),
        cut: int | None = None,
        fed: Array | None = None,
    ) -> tuple[Value, list[State]]:
        """Return the outputs, and the state of each layer after the last step.

        states  what it begins with: those of a batch whose sequences go on here (plain arrays, so that nothing is
                passed back to that batch)
        cut     truncated back-propagation, see dragoman.operations.recurrent.Steps
        fed     [N] the labels fed back, as `fed_back` finds them; None: the target before (teacher forcing)
        """
        x = self.rows(batch)
        if self.configuration.feedback:
            x = x + self._unit(self.fed_back(batch) if fed is None else fed, x.dtype)
        h, finals = self.hidden(x, batch.offsets, run or ForwardContext(), states, cut)
        return self.output(h), finals

    def fed_back(self, batch: Batch, taught: Array | None = None) -> Array:
        """Return [N], the label fed to each step: the previous target where `taught` is True, else the previous output.

        taught  None: everywhere, or nowhere in a batch without targets; a part of them is scheduled sampling
        """
        fed, later = np.full(len(batch.labels), NONE), np.flatnonzero(batch.positions > 0)
        if batch.targets is not None:
            fed[later] = batch.targets[later - 1]
        if taught is None:
            taught = np.full(len(fed), batch.targets is not None)
        if taught[later].all():
            return fed
        x = self.rows(batch)

        def step(state: RecurrentNetworkState, rows: Array, labels: Array) -> tuple[Array, RecurrentNetworkState]:
            _, state = self._advance(replace(state, fed=labels), x[rows])
            return state.fed, state

        return with_feedback(batch, self.encode(batch), fed, ~taught, step)

    def forecast(self, past: Array, steps: int) -> Array:
        """The next rows of a series, each predicted from those before, of which the last are predictions (book 7.1).

        past [T, p], T at least 1   ->   [steps, p]
        """
        c = self.configuration
        if c.inputs != c.outputs:
            raise ConfigurationError(
                f"a forecast is read again as an input, but there are {c.inputs} inputs and {c.outputs} outputs"
            )
        states: Sequence[State] = self.encode(Batch.pack([past])).states
        rows, predicted = past, np.empty((steps, c.outputs))
        for t in range(steps):
            outputs, states = self.plain.read(Batch.pack([rows]), states=states)
            predicted[t] = value_of(outputs)[-1]
            rows = predicted[t : t + 1]
        return predicted

    def rows(self, batch: Batch) -> Array:
        """x [N, p]: the rows themselves, or the unit vectors of labels."""
        c, kind = self.configuration, self.theta.dtype
        if batch.labels.ndim == 1:
            check_labels("RecurrentNetwork", batch.labels, c.inputs)
            return self._unit(batch.labels, kind)
        if batch.labels.shape[1] != c.inputs:
            raise ShapeError(f"rows of {c.inputs} numbers expected, the batch has shape {batch.labels.shape}")
        return batch.labels.astype(kind)

    def _unit(self, labels: Array, kind: Any) -> Array:
        """T: the unit vector of each label, 0 for NONE."""
        rows = np.zeros((len(labels), self.configuration.inputs), kind)
        there = np.flatnonzero(labels != NONE)
        rows[there, labels[there]] = 1
        return rows

    def encode(self, batch: Batch) -> RecurrentNetworkState:
        """Return the initial state for the sequences of a batch."""
        if self.configuration.bidirectional:
            raise ConfigurationError("a bidirectional network cannot write label by label")
        states = tuple(cell.begin(len(batch)) for cell in self.hidden.forward)
        return RecurrentNetworkState(states, np.full(len(batch), NONE))

    def step(self, state: RecurrentNetworkState, labels: Array) -> tuple[Array, RecurrentNetworkState]:
        """Return the outputs [B, q] after reading one more label of each sequence, and the next state."""
        return self._advance(state, self._unit(labels, self.theta.dtype))

    def _advance(self, state: RecurrentNetworkState, x: Array) -> tuple[Array, RecurrentNetworkState]:
        plain = self.plain
        if self.configuration.feedback:
            x = x + self._unit(state.fed, x.dtype)
        states = plain.hidden.step(x, state.states)
        outputs = value_of(plain.output(states[-1][0]))
        return outputs, RecurrentNetworkState(tuple(states), outputs.argmax(axis=1))
