"""The decoder alone: a language model, which says what comes after every position (lecture; book 7.5)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.errors import ShapeError
from dragoman.graph import Array, Value, value_of
from dragoman.layers import ForwardContext, Initializer, KVCache, Perceptron
from dragoman.networks.blocks import (
    BlockSettings,
    EncoderBlock,
    Stream,
    finish,
    new_embedding,
    new_normalization,
    one_bias,
)
from dragoman.networks.network import Network
from dragoman.networks.sizes import MOST_LABELS, check_memory, count_language_model


class LanguageModelSettings(BlockSettings):
    """What is chosen of a LanguageModel. tied="output": the output's weights are the table of the labels."""

    tied: Literal["none", "output"] = "none"

    @model_validator(mode="after")
    def _tables_fit(self) -> Self:
        if self.tied != "none":
            self._can_be_tied()
        return self


class LanguageModelConfiguration(LanguageModelSettings):
    """Everything a LanguageModel is built from."""

    vocabulary: int = Field(ge=1, le=MOST_LABELS)

    def count(self) -> int:
        """p, without building the network."""
        return count_language_model(self)


@dataclass(frozen=True)
class LanguageModelState:
    """Where a writing stands: the past of each layer, and the next position, the same for all sequences."""

    past: tuple[KVCache, ...]
    position: int

    def __len__(self) -> int:
        return len(self.past[0])

    def select(self, rows: Array) -> LanguageModelState:
        """The state of some of the sequences, in the given order, with repetitions (beams)."""
        return LanguageModelState(tuple(cache.select(rows) for cache in self.past), self.position)


class LanguageModel(Network):
    """Labels -> embedding with positions -> causal blocks -> one logit per label, for the label that comes next."""

    def __init__(self, configuration: LanguageModelConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype, constants=c.constants())
        initial, sites = Initializer(seed, dtype), itertools.count()
        self.embedding = new_embedding(c, c.vocabulary, initial, sites)
        self.blocks = one_bias(EncoderBlock(c, initial, sites, causal=True) for _ in range(c.layers))
        self.normalization = new_normalization(c, initial, sites) if c.block == "pre" else None
        table = self.embedding.table if c.tied == "output" else None
        self.output = Perceptron(c.depth, c.vocabulary, initial, table=table)
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """Logits [N, V] of the label after every position, all in one pass."""
        x, output = self.before_output(batch, run)
        return output(x)

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> tuple[Value, Perceptron]:
        """What the last layer reads, [N, d], and that layer."""
        run = run or ForwardContext()
        stream = Stream(self.embedding(batch.labels, batch.positions, run, batch.first_row))
        for block in self.blocks:
            stream = block(stream, batch, run)
        return finish(self.normalization, stream, run, batch.first_row), self.output

    def encode(self, batch: Batch) -> LanguageModelState:
        """The state before anything is written; of the batch only its size counts."""
        caches = (KVCache.empty(len(batch), self.configuration.depth, self.theta.dtype) for _ in self.blocks)
        return LanguageModelState(tuple(caches), 0)

    def step(self, state: LanguageModelState, labels: Array) -> tuple[Array, LanguageModelState]:
        """Logits [B, V] for the label after `labels` [B], and the state that has seen them."""
        if len(labels) != len(state):
            raise ShapeError(f"step: {len(labels)} labels for a state of {len(state)} sequences")
        plain, run = self.plain, ForwardContext()
        stream = Stream(plain.embedding(labels, np.full(len(labels), state.position), run))
        past = []
        for block, before in zip(plain.blocks, state.past, strict=True):
            stream, after = block.step(stream, before)
            past.append(after)
        logits = plain.output(finish(plain.normalization, stream, run, 0))
        return value_of(logits), LanguageModelState(tuple(past), state.position + 1)

    @property
    def maximum_length(self) -> int | None:
        """Positions it has, where they end somewhere."""
        return self.configuration.maximum_length

    def attention(self, batch: Batch) -> dict[str, Array]:
        """The attention weights of every layer, [B, h, T, T], by the layer's name."""
        maps: list[Array] = []
        self.plain(batch, ForwardContext(maps=maps))
        return {f"blocks.{i}.self_attention": weights for i, weights in enumerate(maps)}
