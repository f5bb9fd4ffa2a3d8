"""The encoder alone: attention in both directions or causal, with one output per sample or per position."""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np
from pydantic import model_validator

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Parameter, Value, value_of
from dragoman.layers import ForwardContext, Initializer, KVCache, Perceptron, Pooling, PoolingKind
from dragoman.networks.blocks import (
    BlockSettings,
    EncoderBlock,
    Layout,
    Stream,
    finish,
    new_embedding,
    new_normalization,
    new_row_embedding,
    one_bias,
)
from dragoman.networks.heads import EncoderSizes
from dragoman.networks.language_model import LanguageModelState
from dragoman.networks.sizes import check_memory, count_encoder
from dragoman.networks.stepwise import StepwiseEncoder
from dragoman.operations import append_row, appended_offsets, appended_rows


class EncoderSettings(BlockSettings):
    """What is chosen of an Encoder.

    pooling  what stands for a whole sample: a learned row appended to it, which looks at all others ("class_token"),
             the mean or the maximum of its rows, a mean weighted by attention, or its last row; "none": one output
             per position
    causal   whether a position looks at itself and what came before alone
    """

    pooling: PoolingKind = "mean"
    causal: bool = False

    @model_validator(mode="after")
    def _some_row_sees_all(self) -> Self:
        if self.pooling == "last" and not self.causal:
            raise ValueError("pooling 'last' is for causal encoders; others have 'class_token', 'mean', 'max' ...")
        return self


class EncoderConfiguration(EncoderSettings, EncoderSizes):
    """Everything an Encoder is built from."""

    def count(self) -> int:
        """p, without building the network."""
        return count_encoder(self)


class Encoder(StepwiseEncoder):
    """Labels or real rows -> embedding with positions -> blocks -> pooling -> outputs."""

    configuration: EncoderConfiguration
    class_token: Value | None

    def __init__(self, configuration: EncoderConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype, constants=c.constants())
        initial, sites = Initializer(seed, dtype), itertools.count()
        if c.vocabulary is not None:
            self.embedding: Any = new_embedding(c, c.vocabulary, initial, sites)
        elif c.inputs is not None:
            self.embedding = new_row_embedding(c, c.inputs, initial, sites)
        self.class_token = Parameter(initial.normal(1, c.depth, 1.0)[0]) if c.pooling == "class_token" else None
        self.blocks = one_bias(EncoderBlock(c, initial, sites, c.causal) for _ in range(c.layers))
        self.normalization = new_normalization(c, initial, sites) if c.block == "pre" else None
        self.pooling = Pooling(c.pooling, c.depth, initial)
        self.output = Perceptron(c.depth, c.outputs, initial, c.output_activation)
        self._bind()

    def _read(self, batch: Batch, run: ForwardContext) -> tuple[Value, Value]:
        x = self.embedding(batch.labels, batch.positions, run, batch.first_row)
        layout = Layout(batch.offsets, batch.first_row)
        if self.class_token is not None:
            x = append_row(x, self.class_token, offsets=batch.offsets)
            layout = Layout(appended_offsets(batch.offsets), batch.first_row + batch.first_sequence)
        stream = Stream(x)
        for block in self.blocks:
            stream = block(stream, layout, run)
        x = finish(self.normalization, stream, run, layout.first_row)
        return x, self.pooling(x, layout.offsets)

    def _without_tokens(self, rows: Array, batch: Batch) -> Array:
        return rows if self.class_token is None else np.delete(rows, appended_rows(batch.offsets), axis=0)

    def encode(self, batch: Batch) -> LanguageModelState:
        """The state of a causal encoder before it reads; of the batch only its size counts."""
        if not self.configuration.causal:
            raise ConfigurationError("an encoder that looks in both directions cannot read row by row; use causal=True")
        caches = (KVCache.empty(len(batch), self.configuration.depth, self.theta.dtype) for _ in self.blocks)
        return LanguageModelState(tuple(caches), 0)

    def step(self, state: LanguageModelState, rows: Array) -> tuple[Array, LanguageModelState]:
        """Outputs [B, outputs] after reading one more row (or label) of each sequence, and the next state."""
        plain, run = self.plain, ForwardContext()
        stream = Stream(plain.embedding(rows, np.full(len(rows), state.position), run))
        past = []
        for block, before in zip(plain.blocks, state.past, strict=True):
            stream, after = block.step(stream, before)
            past.append(after)
        outputs = plain.output(finish(plain.normalization, stream, run, 0))
        return value_of(outputs), LanguageModelState(tuple(past), state.position + 1)

    @property
    def maximum_length(self) -> int | None:
        """Positions it has, where they end somewhere."""
        return self.configuration.maximum_length

    def attention(self, batch: Batch) -> dict[str, Array]:
        """The attention weights of every layer, [B, h, T, T], by the layer's name. A class token is the last row."""
        maps: list[Array] = []
        self.plain(batch, ForwardContext(maps=maps))
        return {f"blocks.{i}.self_attention": weights for i, weights in enumerate(maps)}
