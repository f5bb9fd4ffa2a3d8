"""Recurrent encoder-decoders (book 7.4) with any cell."""

from __future__ import annotations

import itertools
from abc import abstractmethod
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
from dragoman.operations import concatenate_columns, drop, mean_rows, take_rows
from dragoman.operations.structure import sequences_of_rows

EMBEDDING_DEVIATION = 1.0  # initial, for cells with gates, which halve what comes in and out (docs/recurrent.md)


class RecurrentSettings(Configuration):
    """Settings of a recurrent encoder-decoder.

    context   how the decoder gets the source: the last encoder state is its first state (Figure 7.9 a), is also given
              to every step's input and output (Figure 7.9 b), or there is attention at every step (7.22)
    reversed  whether the encoder reads the source from its last label to its first
    units     of the decoder, and of the encoder: half of them per direction if it is bidirectional
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
        """Describe sizes, in the book's letters, and context in one line."""
        attention = f"attention by the {self.score.replace('_', ' ')} score"
        heard = {"initial": "first state", "every_step": "context at every step", "attention": attention}
        ways = [way for way in ("bidirectional", "reversed") if getattr(self, way)]
        return ", ".join([f"p = {self.depth}, m = {self.units}, L = {self.layers}", heard[self.context], *ways])

    @model_validator(mode="after")
    def _halves(self) -> Self:
        if self.bidirectional and self.units % 2:
            raise ValueError(f"a bidirectional encoder needs an even number of units, got {self.units}")
        return self


class RecurrentConfiguration(RecurrentSettings):
    """Settings of a recurrent encoder-decoder, with its vocabularies."""

    source_vocabulary: int = Field(ge=1, le=MOST_LABELS)
    target_vocabulary: int = Field(ge=1, le=MOST_LABELS)

    def count(self) -> int:
        """Count the parameters without building the network."""
        return count_recurrent(self)


@dataclass(frozen=True, eq=False)
class RecurrentState:
    """The state of decoding.

    states   (h,) or (h, c) of each layer of the decoder, [B, m]
    attended   keys of the source, shared by all rows; None without attention
    context  z* [B, m]
    origins  [B] the source of each row
    """

    states: tuple[State, ...]
    attended: Keys | None
    context: Array
    origins: Array

    def __len__(self) -> int:
        return len(self.origins)

    def select(self, rows: Array) -> RecurrentState:
        return RecurrentState(select_states(self.states, rows), self.attended, self.context[rows], self.origins[rows])


class RecurrentDecoder(Network):
    """What a recurrent decoder writes: it begins with a state that was made out of a source.

    Subclasses make that state from sentences, or from images. They build their encoder first, and then the decoder.
    """

    configuration: Any
    reference_embedding: Embedding
    decoder: Recurrent | AttentionalDecoder
    output: Perceptron
    output_site: int

    @abstractmethod
    def _encode(self, source: Batch, run: ForwardContext) -> tuple[Value, list[State]]:
        """Return the encoder's rows, and the state that each layer of the decoder begins with."""

    def _embedding(self, vocabulary: int, initial: Initializer, sites: itertools.count[int]) -> Embedding:
        c = self.configuration
        deviation = None if c.cell == "rnn" else EMBEDDING_DEVIATION
        return Embedding(vocabulary, c.depth, initial, "none", dropout=c.dropout, site=next(sites), deviation=deviation)

    def _recurrent(
        self, inputs: int, units: int, initial: Initializer, sites: itertools.count[int], both: bool = False
    ) -> Recurrent:
        c = self.configuration
        return Recurrent(c.cell, inputs, units, initial, c.layers, both, c.activation, c.dropout, sites)

    def _build_decoder(self, initial: Initializer, sites: itertools.count[int]) -> None:
        c = self.configuration
        self.reference_embedding = self._embedding(c.target_vocabulary, initial, sites)
        inputs = c.depth if c.context == "initial" else c.depth + c.units
        self.decoder = self._recurrent(inputs, c.units, initial, sites)
        if c.context == "attention":
            self.decoder = AttentionalDecoder(self.decoder, ScoredAttention(c.score, c.units, c.units, initial))
        self.output = Perceptron(2 * c.units if c.context == "every_step" else c.units, c.target_vocabulary, initial)
        self.output_site = next(sites)

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """Logits [N, V] for every reference position of a batch of pairs."""
        x, output = self.before_output(batch, run)
        return output(x)

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> tuple[Value, Perceptron]:
        """Return the input of the output layer, and that layer."""
        run, source = run or ForwardContext(), batch.source
        if source is None:
            raise ShapeError("an encoder-decoder reads pairs: the batch has no source; build it with Batch.pairs")
        rows, states = self._encode(source, run)
        y = self.reference_embedding(batch.labels, batch.positions, run, batch.first_row)
        if isinstance(self.decoder, AttentionalDecoder):
            attended = self.decoder.attention.look_at(rows, source.offsets)
            s = self.decoder(y, batch.offsets, attended, states, run)
        elif self.configuration.context == "every_step":
            context = take_rows(states[-1][0], rows=sequences_of_rows(batch.offsets, batch.positions))
            x = concatenate_columns(y, context)
            s, _ = self.decoder(x, batch.offsets, run, states, first_row=batch.first_row)
            s = concatenate_columns(s, context)
        else:
            s, _ = self.decoder(y, batch.offsets, run, states, first_row=batch.first_row)
        dropout = run.dropout(self.configuration.dropout, self.output_site, batch.first_row)
        return (s if dropout is None else drop(s, dropout=dropout)), self.output

    def encode(self, batch: Batch) -> RecurrentState:
        """Encode the sources (of a batch of pairs, too); return the first state for `step`."""
        source, plain = batch if batch.source is None else batch.source, self.plain
        rows, states = plain._encode(source, ForwardContext())
        attended = None
        if isinstance(plain.decoder, AttentionalDecoder):
            attended = plain.decoder.attention.look_at(rows, source.offsets)
        return RecurrentState(tuple(states), attended, value_of(states[-1][0]), np.arange(len(source)))

    def step(self, state: RecurrentState, labels: Array) -> tuple[Array, RecurrentState]:
        """Return the logits [B, V] of the label after `labels` [B], and the next state."""
        if len(labels) != len(state):
            raise ShapeError(f"step: {len(labels)} labels for a state of {len(state)} sequences")
        plain, shown = self.plain, self.configuration.context == "every_step"
        y = plain.reference_embedding(labels, np.zeros(len(labels), np.int64), ForwardContext())
        if isinstance(plain.decoder, AttentionalDecoder):
            assert state.attended is not None
            states = plain.decoder.step(y, state.attended, state.origins, state.states)
        else:
            states = plain.decoder.step(concatenate_columns(y, state.context) if shown else y, state.states)
        s = states[-1][0]
        logits = plain.output(concatenate_columns(s, state.context) if shown else s)
        return value_of(logits), replace(state, states=tuple(states))

    @property
    def maximum_length(self) -> None:
        """None: there is no limit, because it has no positions."""
        return


class EncoderDecoder(RecurrentDecoder):
    """Source -> encoder; its last state, and with attention all of its rows, -> decoder -> one logit per label."""

    configuration: RecurrentConfiguration

    def __init__(self, configuration: RecurrentConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype)
        initial, sites = Initializer(seed, dtype), itertools.count()
        self.source_embedding = self._embedding(c.source_vocabulary, initial, sites)
        units = c.units // 2 if c.bidirectional else c.units
        self.encoder = self._recurrent(c.depth, units, initial, sites, c.bidirectional)
        self._build_decoder(initial, sites)
        self._bind()

    def _encode(self, source: Batch, run: ForwardContext) -> tuple[Value, list[State]]:
        """Return the encoder's rows, and the state of each layer after the source."""
        read = source.derive(_reversed) if self.configuration.reversed else source
        x = self.source_embedding(read.labels, source.positions, run, source.first_row)
        return self.encoder(x, source.offsets, run, first_row=source.first_row)

    def features(self, batch: Batch) -> tuple[Array, Array]:
        """The encoder's rows of the sources, [N, m], and their mean for each source, [B, m]."""
        source = batch if batch.source is None else batch.source
        rows = value_of(self.plain._encode(source, ForwardContext())[0])
        if self.configuration.reversed:
            rows = rows[reversed_rows(source)]
        return rows, value_of(mean_rows(rows, offsets=source.offsets))

    def attention(self, batch: Batch) -> dict[str, Array]:
        """Return the attention weights, [B, 1, Tq, Tk], by layer name; empty without attention."""
        maps: list[Array] = []
        self.plain(batch, ForwardContext(maps=maps))
        return {"decoder.attention": self._in_order(batch.source, maps[0])} if maps else {}

    def _in_order(self, source: Batch | None, maps: Array) -> Array:
        """Put columns into the order of the source if it was read in reverse."""
        if source is None or not self.configuration.reversed:
            return maps
        ordered, rows = np.zeros_like(maps), reversed_rows(source)
        for i, (a, b) in enumerate(itertools.pairwise(source.offsets)):
            ordered[i, :, :, rows[a:b] - a] = maps[i, :, :, : b - a].transpose(2, 0, 1)
        return ordered

    def alignment(self, batch: Batch) -> Array:
        """Return [B, Tq, Tk], the attention from each reference position to the source."""
        maps = self.attention(batch)
        if not maps:
            raise ConfigurationError(
                f"this network has no attention (its context is '{self.configuration.context}'); "
                f"`--architecture {self.configuration.cell}-attention` trains one with attention"
            )
        return maps["decoder.attention"][:, 0]


def _reversed(batch: Batch) -> Batch:
    return replace(batch, labels=batch.labels[reversed_rows(batch)])


def reversed_rows(batch: Batch) -> Array:
    """Return [N], the rows of each sequence in reverse; start and end labels keep their places."""
    rows = np.arange(len(batch.labels))
    for a, b in itertools.pairwise(batch.offsets):
        first = a + (b > a and batch.labels[a] == START)
        last = b - (b > first and batch.labels[b - 1] == END)
        rows[first:last] = rows[first:last][::-1]
    return rows
