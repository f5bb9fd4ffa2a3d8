"""The encoder-decoder Transformer of the thesis (3.2), with tau encoders and tau decoders."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeVar

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.errors import ShapeError
from dragoman.graph import Array, Value, value_of
from dragoman.layers import (
    CrossAttention,
    CrossKV,
    Embedding,
    FeedForward,
    ForwardContext,
    Initializer,
    KVCache,
    Layer,
    Normalization,
    Perceptron,
    Positions,
    SelfAttention,
)
from dragoman.layers.embedding import CONCATENATED, NEEDS_MAXIMUM_LENGTH
from dragoman.networks.network import Configuration, Network
from dragoman.networks.sizes import (
    LONGEST,
    MOST_HIDDEN,
    MOST_LABELS,
    MOST_LAYERS,
    WIDEST,
    check_memory,
    count_transformer,
)


class TransformerSettings(Configuration):
    """Settings of a Transformer. The defaults are the thesis's Small, with the book's normalization."""

    depth: int = Field(default=64, ge=1, le=WIDEST)
    perceptron_depth: int = Field(default=128, ge=1, le=MOST_HIDDEN)
    heads: int = Field(default=4, ge=1, le=WIDEST)
    layers: int = Field(default=1, ge=1, le=MOST_LAYERS)
    block: Literal["post", "pre"] = "post"
    normalization: Literal["inside", "outside"] = "inside"
    epsilon: float = Field(default=1e-5, ge=0, allow_inf_nan=False)
    activation: Literal["identity", "relu", "logistic", "tanh", "gelu"] = "relu"
    positions: Positions = "half_sinusoid"
    maximum_length: int | None = Field(default=None, ge=1, le=LONGEST)
    position_depth: int | None = Field(default=None, ge=2, le=WIDEST)
    relative_reach: int = Field(default=16, ge=1, le=LONGEST)
    tied: Literal["none", "output", "all"] = "none"
    attention_biases: bool = True
    dropout: float = Field(default=0.0, ge=0, lt=1)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.depth % self.heads:
            raise ValueError(f"{self.heads} heads do not divide the depth {self.depth}")
        self._positions_fit()
        if self.tied != "none" and self.positions in CONCATENATED:
            raise ValueError("concatenated positions leave the table narrower than the output, so they cannot be tied")
        return self

    def summary(self) -> str:
        """Describe the sizes in one line, in the thesis's letters."""
        return f"d = {self.depth}, d_p = {self.perceptron_depth}, h = {self.heads}, tau = {self.layers}"

    def _positions_fit(self) -> None:
        if self.positions in NEEDS_MAXIMUM_LENGTH and self.maximum_length is None:
            raise ValueError(f"positions '{self.positions}' need a maximum_length")
        if self.positions in ("half_sinusoid", "interleaved_sinusoid") and self.depth % 2:
            raise ValueError(f"sinusoids need an even depth, got {self.depth}")
        if (self.position_depth or 0) % 2:
            raise ValueError(f"sinusoids need an even position_depth, got {self.position_depth}")
        taken = self.maximum_length if self.positions == "one_hot" else self.position_depth
        if taken is not None and self.positions in CONCATENATED and taken >= self.depth:
            raise ValueError(f"positions take {taken} of {self.depth} columns and leave none for words")


class TransformerConfiguration(TransformerSettings):
    """Settings of a Transformer, with its vocabularies."""

    source_vocabulary: int = Field(ge=1, le=MOST_LABELS)
    target_vocabulary: int = Field(ge=1, le=MOST_LABELS)

    @model_validator(mode="after")
    def _one_table_has_one_vocabulary(self) -> Self:
        if self.tied == "all" and self.source_vocabulary != self.target_vocabulary:
            raise ValueError(
                f"tied='all' shares one table, but the vocabularies have {self.source_vocabulary} and "
                f"{self.target_vocabulary} labels; use tied='output' or one joint vocabulary"
            )
        return self

    def count(self) -> int:
        """Count the parameters without building the network."""
        return count_transformer(self)


@dataclass(frozen=True)
class Stream:
    """The residual stream between sub-layers: the normalized sum (post), or the sum and its pending update (pre)."""

    total: Value
    update: Value | None = None


class Block(Layer):
    """A stack of sub-layers, each with its residual addition and normalization, in either published order."""

    pre: bool

    def _residual(
        self, sublayer: Any, normalization: Normalization, stream: Stream, run: ForwardContext, first_row: int
    ) -> Stream:
        """post: N(x + f(x)) (book 7.31);   pre: x + f(N(x)) (lecture), where N also takes in the update before it."""
        if not self.pre:
            _, normalized = normalization.add(sublayer(stream.total), stream.total, run, first_row)
            return Stream(normalized)
        total, normalized = _apply_update(normalization, stream, run, first_row)
        return Stream(total, sublayer(normalized))


def _apply_update(
    normalization: Normalization, stream: Stream, run: ForwardContext, first_row: int
) -> tuple[Value, Value]:
    """Add the pending update: (the sum, the sum normalized)."""
    if stream.update is None:
        return stream.total, normalization(stream.total)
    return normalization.add(stream.update, stream.total, run, first_row)


class EncoderBlock(Block):
    def __init__(
        self, configuration: TransformerConfiguration, initial: Initializer, sites: itertools.count[int]
    ) -> None:
        c = configuration
        reach = c.relative_reach if c.positions == "relative" else 0
        self.pre = c.block == "pre"
        self.self_attention = SelfAttention(c.depth, c.heads, initial, biases=c.attention_biases, reach=reach)
        self.self_attention_normalization = _normalization(c, initial, sites)
        self.perceptron = FeedForward(c.depth, c.perceptron_depth, c.activation, initial)
        self.perceptron_normalization = _normalization(c, initial, sites)

    def __call__(self, stream: Stream, batch: Batch, run: ForwardContext) -> Stream:
        stream = self._residual(
            lambda x: self.self_attention(x, batch.offsets, run),
            self.self_attention_normalization,
            stream,
            run,
            batch.first_row,
        )
        return self._residual(self.perceptron, self.perceptron_normalization, stream, run, batch.first_row)


class DecoderBlock(Block):
    def __init__(
        self, configuration: TransformerConfiguration, initial: Initializer, sites: itertools.count[int]
    ) -> None:
        c = configuration
        reach = c.relative_reach if c.positions == "relative" else 0
        self.pre = c.block == "pre"
        self.self_attention = SelfAttention(
            c.depth, c.heads, initial, causal=True, biases=c.attention_biases, reach=reach
        )
        self.self_attention_normalization = _normalization(c, initial, sites)
        self.cross_attention = CrossAttention(c.depth, c.heads, initial, biases=c.attention_biases)
        self.cross_attention_normalization = _normalization(c, initial, sites)
        self.perceptron = FeedForward(c.depth, c.perceptron_depth, c.activation, initial)
        self.perceptron_normalization = _normalization(c, initial, sites)

    def __call__(self, stream: Stream, batch: Batch, memory: Value, source: Batch, run: ForwardContext) -> Stream:
        def look_back(x: Value) -> Value:
            return self.self_attention(x, batch.offsets, run)

        def look_across(x: Value) -> Value:
            return self.cross_attention(x, memory, batch.offsets, source.offsets, run)

        return self._sublayers(look_back, look_across, stream, run, batch.first_row)

    def step(self, stream: Stream, past: KVCache, remembered: CrossKV) -> tuple[Stream, KVCache]:
        """One new position of every sequence: [B, d]."""
        seen = past

        def look_back(x: Value) -> Value:
            nonlocal seen
            y, seen = self.self_attention.step(value_of(x), past)
            return y

        def look_across(x: Value) -> Value:
            return self.cross_attention.step(value_of(x), remembered)

        return self._sublayers(look_back, look_across, stream, ForwardContext(), 0), seen

    def _sublayers(
        self, look_back: Any, look_across: Any, stream: Stream, run: ForwardContext, first_row: int
    ) -> Stream:
        stream = self._residual(look_back, self.self_attention_normalization, stream, run, first_row)
        stream = self._residual(look_across, self.cross_attention_normalization, stream, run, first_row)
        return self._residual(self.perceptron, self.perceptron_normalization, stream, run, first_row)


B = TypeVar("B", EncoderBlock, DecoderBlock)


def _normalization(c: TransformerConfiguration, initial: Initializer, sites: itertools.count[int]) -> Normalization:
    return Normalization(c.depth, initial, c.normalization, c.epsilon, c.dropout, next(sites))


def _share_distance_bias(blocks: list[B]) -> list[B]:
    """Share one bias of relative positions in a stack, as T5 does, so that other runtimes support it."""
    for block in blocks:
        block.self_attention.distance_bias = blocks[0].self_attention.distance_bias
    return blocks


@dataclass(frozen=True)
class TransformerState:
    """The state of decoding: cross-attention keys and values, KV caches, and the next position.

    All sequences of a state are at the same position.
    """

    remembered: tuple[CrossKV, ...]
    past: tuple[KVCache, ...]
    position: int

    def __len__(self) -> int:
        return len(self.past[0])

    def select(self, rows: Array) -> TransformerState:
        """Return the state of some sequences, in the given order, with repetitions (beams)."""
        return TransformerState(
            tuple(kv.select(rows) for kv in self.remembered), tuple(kv.select(rows) for kv in self.past), self.position
        )


class Transformer(Network):
    """Source -> encoders; reference -> decoders, which look at the last encoder's output; -> one logit per label.

    Every decoder uses the last encoder's output (Observation 3.4). Pre-norm adds one final normalization to each
    stack, because its residual stream is never normalized otherwise.
    """

    def __init__(self, configuration: TransformerConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = configuration
        length = c.maximum_length or 0
        check_memory(c.count(), dtype, constants=2 * length * (length if c.positions == "one_hot" else c.depth))
        initial, sites = Initializer(seed, dtype), itertools.count()
        self.configuration = c

        def embedding(vocabulary: int, table: Value | None = None) -> Embedding:
            return Embedding(
                vocabulary,
                c.depth,
                initial,
                c.positions,
                c.maximum_length,
                c.position_depth,
                c.dropout,
                next(sites),
                table,
            )

        self.source_embedding = embedding(c.source_vocabulary)
        self.encoder = _share_distance_bias([EncoderBlock(c, initial, sites) for _ in range(c.layers)])
        self.encoder_normalization = _normalization(c, initial, sites) if c.block == "pre" else None
        self.reference_embedding = embedding(
            c.target_vocabulary, self.source_embedding.table if c.tied == "all" else None
        )
        self.decoder = _share_distance_bias([DecoderBlock(c, initial, sites) for _ in range(c.layers)])
        self.decoder_normalization = _normalization(c, initial, sites) if c.block == "pre" else None
        table = None if c.tied == "none" else self.reference_embedding.table
        self.output = Perceptron(c.depth, c.target_vocabulary, initial, table=table)
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """Logits [N, V] for every reference position of a batch of pairs, all in one pass."""
        x, output = self.before_output(batch, run)
        return output(x)

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> tuple[Value, Perceptron]:
        """What the last layer reads, [N, d], and that layer."""
        run = run or ForwardContext()
        source = batch.source
        if source is None:
            raise ShapeError("a Transformer reads pairs: the batch has no source; build it with Batch.pairs")
        memory = self._encode(source, run)
        stream = Stream(self.reference_embedding(batch.labels, batch.positions, run, batch.first_row))
        for block in self.decoder:
            stream = block(stream, batch, memory, source, run)
        return self._final_output(self.decoder_normalization, stream, run, batch.first_row), self.output

    def _encode(self, source: Batch, run: ForwardContext) -> Value:
        stream = Stream(self.source_embedding(source.labels, source.positions, run, source.first_row))
        for block in self.encoder:
            stream = block(stream, source, run)
        return self._final_output(self.encoder_normalization, stream, run, source.first_row)

    @staticmethod
    def _final_output(
        normalization: Normalization | None, stream: Stream, run: ForwardContext, first_row: int
    ) -> Value:
        """Return the output of a stack: its last output (post-norm), or its stream summed and normalized (pre-norm)."""
        if normalization is None:
            return stream.total
        return _apply_update(normalization, stream, run, first_row)[1]

    def encode(self, batch: Batch) -> TransformerState:
        """Encode the sources (of a batch of pairs, too); return the first state for `step`."""
        source = batch if batch.source is None else batch.source
        plain = self.plain
        memory = value_of(plain._encode(source, ForwardContext()))
        return TransformerState(
            tuple(block.cross_attention.remember(memory, source.offsets) for block in plain.decoder),
            tuple(KVCache.empty(len(source), self.configuration.depth, memory.dtype) for _ in plain.decoder),
            0,
        )

    def step(self, state: TransformerState, labels: Array) -> tuple[Array, TransformerState]:
        """Return the logits [B, V] of the label after `labels` [B], and the next state."""
        if len(labels) != len(state):
            raise ShapeError(f"step: {len(labels)} labels for a state of {len(state)} sequences")
        plain = self.plain
        positions = np.full(len(labels), state.position)
        stream = Stream(plain.reference_embedding(labels, positions, ForwardContext()))
        past = []
        for block, before, remembered in zip(plain.decoder, state.past, state.remembered, strict=True):
            stream, after = block.step(stream, before, remembered)
            past.append(after)
        logits = plain.output(self._final_output(plain.decoder_normalization, stream, ForwardContext(), 0))
        return value_of(logits), TransformerState(state.remembered, tuple(past), state.position + 1)

    @property
    def maximum_length(self) -> int | None:
        """The number of positions, if it is limited, else None."""
        return self.configuration.maximum_length

    def alignment(self, batch: Batch) -> Array:
        """Return [B, Tq, Tk], the attention from reference to source: last decoder, mean of all heads."""
        mean: Array = self.attention(batch)[f"decoder.{len(self.decoder) - 1}.cross_attention"].mean(axis=1)
        return mean

    def attention(self, batch: Batch) -> dict[str, Array]:
        """Return the attention weights of every layer, [B, h, Tq, Tk], by layer name."""
        maps: list[Array] = []
        self.plain(batch, ForwardContext(maps=maps))
        names = [f"encoder.{i}.self_attention" for i in range(len(self.encoder))]
        for i in range(len(self.decoder)):
            names += [f"decoder.{i}.self_attention", f"decoder.{i}.cross_attention"]
        return dict(zip(names, maps, strict=True))
