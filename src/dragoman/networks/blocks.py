"""The blocks of Transformer networks, and the settings all of them have."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, Self, TypeVar

from pydantic import Field, model_validator

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
    PositionalEncoding,
    Positions,
    RowEmbedding,
    SelfAttention,
)
from dragoman.layers.embedding import CONCATENATED, NEEDS_MAXIMUM_LENGTH
from dragoman.networks.network import Configuration
from dragoman.networks.sizes import LONGEST, MOST_HIDDEN, MOST_LAYERS, WIDEST

Activation = Literal["identity", "relu", "logistic", "tanh", "gelu"]


class BlockSettings(Configuration):
    """What is chosen of any Transformer network. The defaults are the thesis's Small, with the book's normalization.

    hidden_layers     of the perceptrons after attention (lecture, stage 2)
    joint_activation  S of the positions "joint" (7.28)
    """

    depth: int = Field(default=64, ge=1, le=WIDEST)
    perceptron_depth: int = Field(default=128, ge=1, le=MOST_HIDDEN)
    hidden_layers: Literal[1, 2] = 1
    heads: int = Field(default=4, ge=1, le=WIDEST)
    layers: int = Field(default=1, ge=1, le=MOST_LAYERS)
    block: Literal["post", "pre"] = "post"
    normalization: Literal["inside", "outside"] = "inside"
    epsilon: float = Field(default=1e-5, ge=0, allow_inf_nan=False)
    activation: Activation = "relu"
    positions: Positions = "half_sinusoid"
    maximum_length: int | None = Field(default=None, ge=1, le=LONGEST)
    position_depth: int | None = Field(default=None, ge=2, le=WIDEST)
    joint_activation: Activation = "tanh"
    relative_reach: int = Field(default=16, ge=1, le=LONGEST)
    attention_biases: bool = True
    dropout: float = Field(default=0.0, ge=0, lt=1)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.depth % self.heads:
            raise ValueError(f"{self.heads} heads do not divide the depth {self.depth}")
        self._positions_fit()
        return self

    def summary(self) -> str:
        """Its sizes by the thesis's letters."""
        return f"d = {self.depth}, d_p = {self.perceptron_depth}, h = {self.heads}, tau = {self.layers}"

    def _check_length(self) -> None:
        if self.positions in NEEDS_MAXIMUM_LENGTH and self.maximum_length is None:
            raise ValueError(f"positions '{self.positions}' need a maximum_length")

    def _positions_fit(self) -> None:
        self._check_length()
        if self.positions in ("half_sinusoid", "interleaved_sinusoid") and self.depth % 2:
            raise ValueError(f"sinusoids need an even depth, got {self.depth}")
        if (self.position_depth or 0) % 2:
            raise ValueError(f"sinusoids need an even position_depth, got {self.position_depth}")
        taken = self.maximum_length if self.positions == "one_hot" else self.position_depth
        if taken is not None and self.positions in CONCATENATED and taken >= self.depth:
            raise ValueError(f"positions take {taken} of {self.depth} columns, so that none is left for words")

    def _can_be_tied(self) -> None:
        if self.positions in CONCATENATED:
            raise ValueError("concatenated positions leave the table narrower than the output, so they cannot be tied")

    def constants(self) -> int:
        """Numbers of a fixed table of positions."""
        length = self.maximum_length or 0
        return length * (length if self.positions == "one_hot" else self.depth)


class Layout(NamedTuple):
    """Where the sequences of packed rows begin, and which row of the whole batch the first one is."""

    offsets: Array
    first_row: int


class Packed(Protocol):
    """Rows packed one after the other: those of a batch, or others with a Layout."""

    @property
    def offsets(self) -> Array: ...

    @property
    def first_row(self) -> int: ...


@dataclass(frozen=True)
class Stream:
    """The residual stream between sub-layers: the normalized sum (post), or the sum and its pending update (pre)."""

    total: Value
    update: Value | None = None


Sublayer = Callable[[Value], Value]


class Block(Layer):
    """A stack of sub-layers, each with its residual addition and normalization, in either published order."""

    pre: bool

    def _around(
        self, sublayer: Sublayer, normalization: Normalization, stream: Stream, run: ForwardContext, first_row: int
    ) -> Stream:
        """post: N(x + f(x)) (book 7.31);   pre: x + f(N(x)) (lecture), where N also takes in the update before it."""
        if not self.pre:
            _, normalized = normalization.add(sublayer(stream.total), stream.total, run, first_row)
            return Stream(normalized)
        total, normalized = settle(normalization, stream, run, first_row)
        return Stream(total, sublayer(normalized))


def settle(normalization: Normalization, stream: Stream, run: ForwardContext, first_row: int) -> tuple[Value, Value]:
    """Take the pending update into the sum: (the sum, the sum normalized)."""
    if stream.update is None:
        return stream.total, normalization(stream.total)
    return normalization.add(stream.update, stream.total, run, first_row)


class EncoderBlock(Block):
    """Self-attention and perceptrons. Causal: a position looks at itself and what came before (language models)."""

    def __init__(
        self, settings: BlockSettings, initial: Initializer, sites: itertools.count[int], causal: bool = False
    ) -> None:
        c = settings
        self.pre = c.block == "pre"
        self.self_attention = _self_attention(c, initial, causal)
        self.self_attention_normalization = new_normalization(c, initial, sites)
        self.perceptron = _perceptron(c, initial)
        self.perceptron_normalization = new_normalization(c, initial, sites)

    def __call__(self, stream: Stream, batch: Packed, run: ForwardContext) -> Stream:
        return self._sublayers(lambda x: self.self_attention(x, batch.offsets, run), stream, run, batch.first_row)

    def step(self, stream: Stream, past: KVCache) -> tuple[Stream, KVCache]:
        """One new position of every sequence: [B, d]."""
        seen = past

        def look_back(x: Value) -> Value:
            nonlocal seen
            y, seen = self.self_attention.step(value_of(x), past)
            return y

        return self._sublayers(look_back, stream, ForwardContext(), 0), seen

    def _sublayers(self, look: Sublayer, stream: Stream, run: ForwardContext, first_row: int) -> Stream:
        stream = self._around(look, self.self_attention_normalization, stream, run, first_row)
        return self._around(self.perceptron, self.perceptron_normalization, stream, run, first_row)


class DecoderBlock(Block):
    """Causal self-attention, attention to another sequence, and perceptrons."""

    def __init__(self, settings: BlockSettings, initial: Initializer, sites: itertools.count[int]) -> None:
        c = settings
        self.pre = c.block == "pre"
        self.self_attention = _self_attention(c, initial, causal=True)
        self.self_attention_normalization = new_normalization(c, initial, sites)
        self.cross_attention = CrossAttention(c.depth, c.heads, initial, biases=c.attention_biases)
        self.cross_attention_normalization = new_normalization(c, initial, sites)
        self.perceptron = _perceptron(c, initial)
        self.perceptron_normalization = new_normalization(c, initial, sites)

    def __call__(self, stream: Stream, batch: Packed, memory: Value, source: Packed, run: ForwardContext) -> Stream:
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
        self, look_back: Sublayer, look_across: Sublayer, stream: Stream, run: ForwardContext, first_row: int
    ) -> Stream:
        stream = self._around(look_back, self.self_attention_normalization, stream, run, first_row)
        stream = self._around(look_across, self.cross_attention_normalization, stream, run, first_row)
        return self._around(self.perceptron, self.perceptron_normalization, stream, run, first_row)


def _self_attention(c: BlockSettings, initial: Initializer, causal: bool) -> SelfAttention:
    reach = c.relative_reach if c.positions == "relative" else 0
    return SelfAttention(c.depth, c.heads, initial, causal, c.attention_biases, reach=reach)


def _perceptron(c: BlockSettings, initial: Initializer) -> FeedForward:
    return FeedForward(c.depth, c.perceptron_depth, c.activation, initial, c.hidden_layers)


def new_embedding(
    c: BlockSettings, vocabulary: int, initial: Initializer, sites: itertools.count[int], table: Value | None = None
) -> Embedding:
    return Embedding(vocabulary, c.depth, initial, positional_encoding(c), c.dropout, next(sites), table)


def new_row_embedding(c: BlockSettings, inputs: int, initial: Initializer, sites: itertools.count[int]) -> RowEmbedding:
    return RowEmbedding(inputs, c.depth, initial, positional_encoding(c), c.dropout, next(sites))


def positional_encoding(c: BlockSettings) -> PositionalEncoding:
    return PositionalEncoding(c.positions, c.maximum_length, c.position_depth, c.joint_activation)


def new_normalization(c: BlockSettings, initial: Initializer, sites: itertools.count[int]) -> Normalization:
    return Normalization(c.depth, initial, c.normalization, c.epsilon, c.dropout, next(sites))


B = TypeVar("B", EncoderBlock, DecoderBlock)


def one_bias(blocks: Iterable[B]) -> tuple[B, ...]:
    """The layers of a stack share the bias of relative positions, as those of T5 do: what others know to serve."""
    first, *others = blocks
    for block in others:
        block.self_attention.distance_bias = first.self_attention.distance_bias
    return first, *others


def finish(normalization: Normalization | None, stream: Stream, run: ForwardContext, first_row: int) -> Value:
    """What a stack hands on: post-norm, its last output; pre-norm, its stream settled and normalized."""
    if normalization is None:
        return stream.total
    return settle(normalization, stream, run, first_row)[1]
