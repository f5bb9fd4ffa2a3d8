"""The encoder-decoder Transformer of the thesis (3.2), with tau encoders and tau decoders."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.errors import ShapeError
from dragoman.graph import Array, Value, value_of
from dragoman.layers import CrossKV, Embedding, ForwardContext, Initializer, KVCache, Normalization, Perceptron
from dragoman.networks.blocks import (
    BlockSettings,
    DecoderBlock,
    EncoderBlock,
    Packed,
    Stream,
    finish,
    new_embedding,
    new_normalization,
    one_bias,
)
from dragoman.networks.network import Network
from dragoman.networks.sizes import MOST_LABELS, check_memory, count_transformer
from dragoman.operations import mean_rows


class TransformerSettings(BlockSettings):
    """What is chosen of a Transformer that translates.

    tied  the output's weights are the table of the references ("output"), which may be that of the sources ("all")
    """

    tied: Literal["none", "output", "all"] = "none"

    @model_validator(mode="after")
    def _tables_fit(self) -> Self:
        if self.tied != "none":
            self._can_be_tied()
        return self


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


class TransformerDecoder(Network):
    """The decoder: reference -> decoder blocks, which look at the rows of a source -> one logit per label.

    Subclasses make those rows from sentences, or from images. They build their encoder first, and then the decoder.
    """

    configuration: Any
    encoder: tuple[EncoderBlock, ...]
    reference_embedding: Embedding
    decoder: tuple[DecoderBlock, ...]
    decoder_normalization: Normalization | None
    output: Perceptron

    @abstractmethod
    def _encode(self, source: Batch, run: ForwardContext) -> tuple[Value, Packed]:
        """The rows [N, d] that the decoder looks at, and where those of each source begin."""

    def _build_decoder(
        self, c: Any, initial: Initializer, sites: itertools.count[int], shared: Value | None = None
    ) -> None:
        self.reference_embedding = new_embedding(c, c.target_vocabulary, initial, sites, shared)
        self.decoder = one_bias(DecoderBlock(c, initial, sites) for _ in range(c.layers))
        self.decoder_normalization = new_normalization(c, initial, sites) if c.block == "pre" else None
        table = None if c.tied == "none" else self.reference_embedding.table
        self.output = Perceptron(c.depth, c.target_vocabulary, initial, table=table)

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """Logits [N, V] for every reference position of a batch of pairs, all in one pass."""
        x, output = self.before_output(batch, run)
        return output(x)

    def before_output(self, batch: Batch, run: ForwardContext | None = None) -> tuple[Value, Perceptron]:
        """What the last layer reads, [N, d], and that layer."""
        run = run or ForwardContext()
        if batch.source is None:
            raise ShapeError("a Transformer reads pairs: the batch has no source; build it with Batch.pairs")
        memory, source = self._encode(batch.source, run)
        stream = Stream(self.reference_embedding(batch.labels, batch.positions, run, batch.first_row))
        for block in self.decoder:
            stream = block(stream, batch, memory, source, run)
        return finish(self.decoder_normalization, stream, run, batch.first_row), self.output

    def features(self, batch: Batch) -> tuple[Array, Array]:
        """The last encoder's rows of the sources, [N, d], and their mean for each source, [B, d]."""
        memory, source = self.plain._encode(batch if batch.source is None else batch.source, ForwardContext())
        rows = value_of(memory)
        return rows, value_of(mean_rows(rows, offsets=source.offsets))

    def encode(self, batch: Batch) -> TransformerState:
        """Encode the sources (of a batch of pairs, too); return the first state for `step`."""
        plain = self.plain
        rows, source = plain._encode(batch if batch.source is None else batch.source, ForwardContext())
        memory = value_of(rows)
        return TransformerState(
            tuple(block.cross_attention.remember(memory, source.offsets) for block in plain.decoder),
            tuple(
                KVCache.empty(len(source.offsets) - 1, self.configuration.depth, memory.dtype) for _ in plain.decoder
            ),
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
        logits = plain.output(finish(plain.decoder_normalization, stream, ForwardContext(), 0))
        return value_of(logits), TransformerState(state.remembered, tuple(past), state.position + 1)

    @property
    def maximum_length(self) -> int | None:
        """The number of positions, if it is limited, else None."""
        length: int | None = self.configuration.maximum_length
        return length

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


class Transformer(TransformerDecoder):
    """Source -> encoders; reference -> decoders, which look at the last encoder's output; -> one logit per label.

    Every decoder uses the last encoder's output (Observation 3.4). Pre-norm adds one final normalization to each
    stack, because its residual stream is never normalized otherwise.
    """

    configuration: TransformerConfiguration

    def __init__(self, configuration: TransformerConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = configuration
        check_memory(c.count(), dtype, constants=2 * c.constants())
        initial, sites = Initializer(seed, dtype), itertools.count()
        self.configuration = c
        self.source_embedding = new_embedding(c, c.source_vocabulary, initial, sites)
        self.encoder = one_bias(EncoderBlock(c, initial, sites) for _ in range(c.layers))
        self.encoder_normalization = new_normalization(c, initial, sites) if c.block == "pre" else None
        self._build_decoder(c, initial, sites, self.source_embedding.table if c.tied == "all" else None)
        self._bind()

    def _encode(self, source: Batch, run: ForwardContext) -> tuple[Value, Packed]:
        stream = Stream(self.source_embedding(source.labels, source.positions, run, source.first_row))
        for block in self.encoder:
            stream = block(stream, source, run)
        return finish(self.encoder_normalization, stream, run, source.first_row), source
