"""Recurrent encoder-decoders (book 7.4): the translators that came before transformers, with any cell."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import END, START, Batch
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, Value, value_of
from dragoman.layers import (
    AttentionalDecoder,
    CellKind,
    Embedding,
    ForwardContext,
    Initializer,
    Keys,
    Perceptron,
    Recurrent,
    Score,
    ScoredAttention,
    State,
    select_states,
)
from dragoman.networks.network import Configuration, Network
from dragoman.networks.sizes import MOST_LABELS, MOST_LAYERS, WIDEST, check_memory, count_recurrent
from dragoman.operations import concatenate_columns, drop, take_rows

EMBEDDING_DEVIATION = 1.0  # initial, for cells with gates, which halve what comes in and out (docs/recurrent.md)


class RecurrentSettings(Configuration):
    """What is chosen of a recurrent encoder-decoder.

    context  how the decoder hears of the source: its last state as the decoder's first (Figure 7.9 a), also beside
             every step's input and output (Figure 7.9 b), or by attention at every step (7.22)
    reversed the encoder reads the source from its last label to its first
    units    of the decoder, and of the encoder: half of them in each direction when it reads in both
    """

    cell: CellKind = "gru"
    context: Literal["initial", "every_step", "attention"] = "attention"
    score: Score = "additive"
    bidirectional: bool = False
    reversed: bool = False
    depth: int = Field(default=64, ge=1, le=WIDEST)
    units: int = Field(default=128, ge=1, le=WIDEST)
    layers: int = Field(default=1, ge=1, le=MOST_LAYERS)
    activation: Literal["identity", "relu", "logistic", "tanh", "gelu"] = "tanh"
    dropout: float = Field(default=0.0, ge=0, lt=1)

    def summary(self) -> str:
        """Its sizes by the book's letters, and how the decoder hears of the source."""
        attention = f"attention by the {self.score.replace('_', ' ')} score"
        heard = {"initial": "first state", "every_step": "context at every step", "attention": attention}
        ways = [way for way in ("bidirectional", "reversed") if getattr(self, way)]
        return ", ".join([f"p = {self.depth}, m = {self.units}, L = {self.layers}", heard[self.context], *ways])

    @model_validator(mode="after")
    def _halves(self) -> Self:
        if self.bidirectional and self.units % 2:
            raise ValueError(f"an encoder in both directions has half the units in each, got {self.units}")
        return self


class RecurrentConfiguration(RecurrentSettings):
    """Everything a recurrent encoder-decoder is built from."""

    source_vocabulary: int = Field(ge=1, le=MOST_LABELS)
    target_vocabulary: int = Field(ge=1, le=MOST_LABELS)

    def count(self) -> int:
        """p, without building the network."""
        return count_recurrent(self)


@dataclass(frozen=True, eq=False)
class RecurrentState:
    """Where a decoding stands.

    states   (h,) or (h, c) of each layer of the decoder, [B, m]
    looked   the source as attention sees it, shared by all; None without attention
    context  z* [B, m]
    origins  [B] which source each row is for
    """

    states: tuple[State, ...]
    looked: Keys | None
    context: Array
    origins: Array

    def __len__(self) -> int:
        return len(self.origins)

    def select(self, rows: Array) -> RecurrentState:
        return RecurrentState(select_states(self.states, rows), self.looked, self.context[rows], self.origins[rows])


class EncoderDecoder(Network):
    """Source -> encoder; its last state, and with attention all of its rows, -> decoder -> one logit per label."""

    decoder: Recurrent | AttentionalDecoder

    def __init__(self, configuration: RecurrentConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype)
        initial, sites = Initializer(seed, dtype), itertools.count()

        def embedding(vocabulary: int) -> Embedding:
            deviation = None if c.cell == "rnn" else EMBEDDING_DEVIATION
            settings: dict[str, Any] = {"dropout": c.dropout, "site": next(sites), "deviation": deviation}
            return Embedding(vocabulary, c.depth, initial, "none", **settings)

        def recurrent(inputs: int, units: int, both: bool) -> Recurrent:
            return Recurrent(c.cell, inputs, units, initial, c.layers, both, c.activation, c.dropout, sites)

        self.source_embedding = embedding(c.source_vocabulary)
        self.encoder = recurrent(c.depth, c.units // 2 if c.bidirectional else c.units, c.bidirectional)
        self.reference_embedding = embedding(c.target_vocabulary)
        self.decoder = recurrent(c.depth if c.context == "initial" else c.depth + c.units, c.units, False)
        if c.context == "attention":
            self.decoder = AttentionalDecoder(self.decoder, ScoredAttention(c.score, c.units, c.units, initial))
        self.output = Perceptron(2 * c.units if c.context == "every_step" else c.units, c.target_vocabulary, initial)
        self.output_site = next(sites)
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """Logits [N, V] for every reference position of a batch of pairs."""
        x, output = self.before_output(batch, run)
        return output(x)

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> tuple[Value, Perceptron]:
        """What the last layer reads, and that layer."""
        run, source = run or ForwardContext(), batch.source
        if source is None:
            raise ShapeError("an encoder-decoder reads pairs: the batch has no source; build it with Batch.pairs")
        rows, states = self._encode(source, run)
        y = self.reference_embedding(batch.labels, batch.positions, run, batch.first_row)
        if isinstance(self.decoder, AttentionalDecoder):
            looked = self.decoder.attention.look_at(rows, source.offsets)
            s = self.decoder(y, batch.offsets, looked, states, run)
        elif self.configuration.context == "every_step":
            context = take_rows(states[-1][0], rows=np.repeat(np.arange(len(batch)), batch.lengths))
            x = concatenate_columns(y, context)
            s, _ = self.decoder(x, batch.offsets, run, states, first_row=batch.first_row)
            s = concatenate_columns(s, context)
        else:
            s, _ = self.decoder(y, batch.offsets, run, states, first_row=batch.first_row)
        dropout = run.dropout(self.configuration.dropout, self.output_site, batch.first_row)
        return (s if dropout is None else drop(s, dropout=dropout)), self.output

    def _encode(self, source: Batch, run: ForwardContext) -> tuple[Value, list[State]]:
        """The encoder's rows, and the state of each layer after the whole source."""
        labels = source.labels[reversed_rows(source)] if self.configuration.reversed else source.labels
        x = self.source_embedding(labels, source.positions, run, source.first_row)
        return self.encoder(x, source.offsets, run, first_row=source.first_row)

    def encode(self, batch: Batch) -> RecurrentState:
        """Read the sources once; the state from which `step` writes their references. Of pairs, the sources count."""
        source, plain = batch if batch.source is None else batch.source, self.plain
        rows, states = plain._encode(source, ForwardContext())
        looked = None
        if isinstance(plain.decoder, AttentionalDecoder):
            looked = plain.decoder.attention.look_at(rows, source.offsets)
        return RecurrentState(tuple(states), looked, value_of(states[-1][0]), np.arange(len(source)))

    def step(self, state: RecurrentState, labels: Array) -> tuple[Array, RecurrentState]:
        """Logits [B, V] for the label after `labels` [B], and the state that has seen them."""
        if len(labels) != len(state):
            raise ShapeError(f"step: {len(labels)} labels for a state of {len(state)} sequences")
        plain, shown = self.plain, self.configuration.context == "every_step"
        y = plain.reference_embedding(labels, np.zeros(len(labels), np.int64), ForwardContext())
        if isinstance(plain.decoder, AttentionalDecoder):
            assert state.looked is not None
            states = plain.decoder.step(y, state.looked, state.origins, state.states)
        else:
            states = plain.decoder.step(concatenate_columns(y, state.context) if shown else y, state.states)
        s = states[-1][0]
        logits = plain.output(concatenate_columns(s, state.context) if shown else s)
        return value_of(logits), replace(state, states=tuple(states))

    @property
    def maximum_length(self) -> None:
        """Nothing in it counts positions."""
        return

    def attention(self, batch: Batch) -> dict[str, Array]:
        """The attention weights, [B, 1, Tq, Tk], by the layer's name; none without attention."""
        maps: list[Array] = []
        self.plain(batch, ForwardContext(maps=maps))
        return {"decoder.attention": self._in_order(batch.source, maps[0])} if maps else {}

    def _in_order(self, source: Batch | None, maps: Array) -> Array:
        """Columns in the order of the source, also when it was read from its end."""
        if source is None or not self.configuration.reversed:
            return maps
        ordered, rows = np.zeros_like(maps), reversed_rows(source)
        for i, (a, b) in enumerate(itertools.pairwise(source.offsets)):
            ordered[i, :, :, rows[a:b] - a] = maps[i, :, :, : b - a].transpose(2, 0, 1)
        return ordered

    def alignment(self, batch: Batch) -> Array:
        """[B, Tq, Tk]: where each position of the reference looked."""
        maps = self.attention(batch)
        if not maps:
            raise ConfigurationError(
                f"the context of this network is '{self.configuration.context}', so it looks nowhere; "
                f"`--architecture {self.configuration.cell}-attention` trains one that does"
            )
        return maps["decoder.attention"][:, 0]


def reversed_rows(batch: Batch) -> Array:
    """[N] the rows of each sequence from its last to its first; start and end labels stay where they are."""
    rows = np.arange(len(batch.labels))
    for a, b in itertools.pairwise(batch.offsets):
        first = a + (b > a and batch.labels[a] == START)
        last = b - (b > first and batch.labels[b - 1] == END)
        rows[first:last] = rows[first:last][::-1]
    return rows
