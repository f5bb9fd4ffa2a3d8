"""The encoder alone: bidirectional attention, with one output per sample or per position."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dragoman.batch import Batch
from dragoman.graph import Array, Parameter, Value
from dragoman.layers import ForwardContext, Initializer, Perceptron, Pooling, PoolingKind
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
from dragoman.networks.heads import EncoderSizes, EncodingNetwork
from dragoman.networks.sizes import check_memory, count_encoder
from dragoman.operations import append_row, appended_offsets, appended_rows


class EncoderSettings(BlockSettings):
    """What is chosen of an Encoder.

    pooling  what stands for a whole sample: a learned row appended to it, which looks at all others ("class_token"),
             the mean or the maximum of its rows, or a mean weighted by attention; "none": one output per position
    """

    pooling: PoolingKind = "mean"


class EncoderConfiguration(EncoderSettings, EncoderSizes):
    """Everything an Encoder is built from."""

    def count(self) -> int:
        """p, without building the network."""
        return count_encoder(self)


class Encoder(EncodingNetwork):
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
        self.blocks = one_bias([EncoderBlock(c, initial, sites) for _ in range(c.layers)])
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

    @property
    def maximum_length(self) -> int | None:
        """Positions it has, where they end somewhere."""
        return self.configuration.maximum_length

    def attention(self, batch: Batch) -> dict[str, Array]:
        """The attention weights of every layer, [B, h, T, T], by the layer's name. A class token is the last row."""
        maps: list[Array] = []
        self.plain(batch, ForwardContext(maps=maps))
        return {f"blocks.{i}.self_attention": weights for i, weights in enumerate(maps)}
