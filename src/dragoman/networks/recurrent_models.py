"""Recurrent encoders and language models: many to one, many to many, one to many (book 7.2)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, Value, value_of
from dragoman.layers import (
    CarriedStates,
    CellKind,
    Embedding,
    ForwardContext,
    Initializer,
    Perceptron,
    Pooling,
    Recurrent,
    RowEmbedding,
    State,
    select_states,
)
from dragoman.networks.blocks import Activation
from dragoman.networks.heads import EncoderSizes
from dragoman.networks.network import Configuration, Network
from dragoman.networks.sizes import (
    MOST_LABELS,
    MOST_LAYERS,
    WIDEST,
    check_memory,
    count_recurrent_encoder,
    count_recurrent_language_model,
)
from dragoman.networks.stepwise import StepwiseEncoder
from dragoman.operations import drop


class CellSettings(Configuration):
    """What is chosen of any recurrent network that reads one sequence."""

    cell: CellKind = "gru"
    depth: int = Field(default=64, ge=1, le=WIDEST)
    units: int = Field(default=128, ge=1, le=WIDEST)
    layers: int = Field(default=1, ge=1, le=MOST_LAYERS)
    activation: Activation = "tanh"
    dropout: float = Field(default=0.0, ge=0, lt=1)

    def summary(self) -> str:
        """Its sizes by the book's letters."""
        return f"p = {self.depth}, m = {self.units}, L = {self.layers}"


class RecurrentEncoderSettings(CellSettings):
    """What is chosen of a RecurrentEncoder.

    units    half of them in each direction when it reads in both
    pooling  what stands for a whole sample: the last state, of both directions where there are two ("last"), the mean
             or the maximum of its rows, or a mean weighted by attention; "none": one output per position
    """

    bidirectional: bool = True
    pooling: Literal["last", "mean", "max", "attention", "none"] = "last"

    def summary(self) -> str:
        return super().summary() + (", bidirectional" if self.bidirectional else "")

    @model_validator(mode="after")
    def _halves(self) -> Self:
        if self.bidirectional and self.units % 2:
            raise ValueError(f"an encoder in both directions has half the units in each, got {self.units}")
        return self


class RecurrentEncoderConfiguration(RecurrentEncoderSettings, EncoderSizes):
    """Everything a RecurrentEncoder is built from."""

    def count(self) -> int:
        """p, without building the network."""
        return count_recurrent_encoder(self)


class RecurrentEncoder(StepwiseEncoder):
    """Labels or real rows -> embedding -> recurrent layers -> pooling -> outputs."""

    def __init__(self, configuration: RecurrentEncoderConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype)
        initial, sites = Initializer(seed, dtype), itertools.count()
        common: dict[str, Any] = {"encoding": "none", "dropout": c.dropout, "site": next(sites)}
        if c.vocabulary is not None:
            self.embedding: Any = Embedding(c.vocabulary, c.depth, initial, **common)
        elif c.inputs is not None:
            self.embedding = RowEmbedding(c.inputs, c.depth, initial, **common)
        units = c.units // 2 if c.bidirectional else c.units
        self.recurrent = Recurrent(
            c.cell, c.depth, units, initial, c.layers, c.bidirectional, c.activation, c.dropout, sites
        )
        self.pooling = None if c.pooling == "last" else Pooling(c.pooling, c.units, initial)
        self.output = Perceptron(c.units, c.outputs, initial, c.output_activation)
        self._bind()

    def _read(self, batch: Batch, run: ForwardContext) -> tuple[Value, Value]:
        x = self.embedding(batch.labels, batch.positions, run, batch.first_row)
        rows, finals = self.recurrent(x, batch.offsets, run, first_row=batch.first_row)
        return rows, (finals[-1][0] if self.pooling is None else self.pooling(rows, batch.offsets))

    def encode(self, batch: Batch) -> RecurrentLanguageModelState:
        """The state before anything is read; of the batch only its size counts."""
        if self.configuration.bidirectional:
            raise ConfigurationError("a bidirectional encoder cannot read row by row; use bidirectional=False")
        states = (tuple(map(value_of, cell.begin(len(batch)))) for cell in self.recurrent.forward)
        return RecurrentLanguageModelState(tuple(states))

    def step(self, state: RecurrentLanguageModelState, rows: Array) -> tuple[Array, RecurrentLanguageModelState]:
        """Outputs [B, outputs] after reading one more row (or label) of each sequence, and the next state."""
        plain = self.plain
        x = plain.embedding(rows, np.zeros(len(rows), np.int64), ForwardContext())
        states = plain.recurrent.step(x, state.states)
        return value_of(plain.output(states[-1][0])), RecurrentLanguageModelState(tuple(states))

    @property
    def maximum_length(self) -> None:
        """Nothing in it counts positions."""
        return

    def attention(self, batch: Batch) -> dict[str, Array]:
        """Empty: there is no attention in it."""
        return {}


class RecurrentLanguageModelSettings(CellSettings):
    """What is chosen of a RecurrentLanguageModel. tied="output": the output's weights are the table of the labels."""

    tied: Literal["none", "output"] = "none"

    @model_validator(mode="after")
    def _table_fits(self) -> Self:
        if self.tied == "output" and self.units != self.depth:
            raise ValueError(
                f"tied='output' uses the table of depth {self.depth} on {self.units} units; they must be equal"
            )
        return self


class RecurrentLanguageModelConfiguration(RecurrentLanguageModelSettings):
    """Everything a RecurrentLanguageModel is built from."""

    vocabulary: int = Field(ge=1, le=MOST_LABELS)

    def count(self) -> int:
        """p, without building the network."""
        return count_recurrent_language_model(self)


@dataclass(frozen=True, eq=False)
class RecurrentLanguageModelState:
    """Where a writing stands: (h,) or (h, c) of each layer, [B, m]."""

    states: tuple[State, ...]

    def __len__(self) -> int:
        return len(value_of(self.states[0][0]))

    def select(self, rows: Array) -> RecurrentLanguageModelState:
        return RecurrentLanguageModelState(select_states(self.states, rows))


class RecurrentLanguageModel(Network):
    """Labels -> embedding -> recurrent layers -> one logit per label, for the label that comes next."""

    def __init__(
        self, configuration: RecurrentLanguageModelConfiguration, seed: int = 0, dtype: Any = np.float32
    ) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype)
        initial, sites = Initializer(seed, dtype), itertools.count()
        self.embedding = Embedding(c.vocabulary, c.depth, initial, "none", dropout=c.dropout, site=next(sites))
        self.recurrent = Recurrent(c.cell, c.depth, c.units, initial, c.layers, False, c.activation, c.dropout, sites)
        table = self.embedding.table if c.tied == "output" else None
        self.output = Perceptron(c.units, c.vocabulary, initial, table=table)
        self.output_site = next(sites)
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """Logits [N, V] of the label after every position."""
        x, output = self.before_output(batch, run)
        return output(x)

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> tuple[Value, Perceptron]:
        """What the last layer reads, and that layer. With carried states it begins and ends with them."""
        run = run or ForwardContext()
        x = self.embedding(batch.labels, batch.positions, run, batch.first_row)
        begun: list[State] = [] if run.carried is None else [*run.carried.read(batch)]
        h, finals = self.recurrent(x, batch.offsets, run, begun, first_row=batch.first_row)
        if run.carried is not None:
            run.carried.write(batch, finals)
        return drop(h, dropout=run.dropout(self.configuration.dropout, self.output_site, batch.first_row)), self.output

    def new_carried(self, sequences: int) -> CarriedStates:
        """The states 0 of so many sequences, for `ForwardContext(carried=...)`."""
        return CarriedStates(self._begin(sequences))

    def _begin(self, sequences: int) -> list[tuple[Array, ...]]:
        return [tuple(map(value_of, cell.begin(sequences))) for cell in self.recurrent.forward]

    def encode(self, batch: Batch) -> RecurrentLanguageModelState:
        """The state before anything is written; of the batch only its size counts."""
        return RecurrentLanguageModelState(tuple(self._begin(len(batch))))

    def step(self, state: RecurrentLanguageModelState, labels: Array) -> tuple[Array, RecurrentLanguageModelState]:
        """Logits [B, V] for the label after `labels` [B], and the state that has seen them."""
        if len(labels) != len(state):
            raise ShapeError(f"step: {len(labels)} labels for a state of {len(state)} sequences")
        plain = self.plain
        x = plain.embedding(labels, np.zeros(len(labels), np.int64), ForwardContext())
        states = plain.recurrent.step(x, state.states)
        return value_of(plain.output(states[-1][0])), RecurrentLanguageModelState(tuple(states))

    @property
    def maximum_length(self) -> None:
        """Nothing in it counts positions."""
        return

    def attention(self, batch: Batch) -> dict[str, Array]:
        """Empty: there is no attention in it."""
        return {}
