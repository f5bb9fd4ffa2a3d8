"""Count the parameters of a configuration and check the memory before a network is built."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.layers.embedding import columns_of_positions
from dragoman.layers.recurrent import BLOCKS

if TYPE_CHECKING:
    from dragoman.networks.blocks import BlockSettings
    from dragoman.networks.encoder import EncoderConfiguration
    from dragoman.networks.encoder_decoder import RecurrentConfiguration
    from dragoman.networks.image_decoders import ConvolutionalDecoderConfiguration, PatchTransformerConfiguration
    from dragoman.networks.language_model import LanguageModelConfiguration
    from dragoman.networks.recurrent_models import (
        RecurrentEncoderConfiguration,
        RecurrentLanguageModelConfiguration,
    )
    from dragoman.networks.transformer import TransformerConfiguration

# Larger than any network for one computer; a larger value is a mistake or a damaged file.
MOST_LAYERS = 1_000
WIDEST = 65_536
MOST_HIDDEN = 1_048_576
MOST_LABELS = 10_000_000
LONGEST = 1_000_000
COPIES = 2  # while a network is built: the single parameters, and theta


def count_transformer(c: TransformerConfiguration) -> int:
    """p, the number of parameters of a Transformer."""
    d = c.depth
    across = _attention(c) + 2 * d
    stacks = 2 * _stack(c) + c.layers * across
    vocabularies = c.target_vocabulary if c.tied == "all" else c.source_vocabulary + c.target_vocabulary
    tables = vocabularies * _own_columns(c) + 2 * _positions(c)
    return stacks + tables + _output(d, c.target_vocabulary, tied=c.tied != "none")


def count_encoder(c: EncoderConfiguration) -> int:
    """p, the number of parameters of an Encoder."""
    inputs = c.vocabulary if c.inputs is None else c.inputs + 1
    embedding = (inputs or 0) * _own_columns(c) + _positions(c)
    pooling = c.depth if c.pooling in ("class_token", "attention") else 0
    return embedding + _stack(c) + pooling + _output(c.depth, c.outputs)


def count_language_model(c: LanguageModelConfiguration) -> int:
    """p, the number of parameters of a LanguageModel."""
    embedding = c.vocabulary * _own_columns(c) + _positions(c)
    return embedding + _stack(c) + _output(c.depth, c.vocabulary, tied=c.tied == "output")


def count_patch_transformer(c: PatchTransformerConfiguration) -> int:
    """p, the number of parameters of a PatchTransformer."""
    d, seen = c.depth, c.encoder()
    patches = (c.inputs + 1) * d + _positions(seen)
    captions = c.target_vocabulary * _own_columns(c) + _positions(c)
    stacks = _stack(seen) + _stack(c) + c.layers * (_attention(c) + 2 * d)
    return patches + captions + stacks + _output(d, c.target_vocabulary, tied=c.tied != "none")


def _attention(c: BlockSettings) -> int:
    return 4 * c.depth * c.depth + (4 * c.depth if c.attention_biases else 0)


def _stack(c: BlockSettings) -> int:
    """Blocks of self-attention and perceptrons, with all that belongs to a stack."""
    d, k = c.depth, c.perceptron_depth
    perceptron = 2 * d * k + k + d + (c.hidden_layers - 1) * (k * k + k)
    distances = c.heads * (2 * c.relative_reach + 1) if c.positions == "relative" else 0
    last = 2 * d if c.block == "pre" else 0
    return c.layers * (_attention(c) + perceptron + 4 * d) + distances + last


def _own_columns(c: BlockSettings) -> int:
    """Columns of an embedded label that positions leave to it."""
    return c.depth - columns_of_positions(c.positions, c.depth, c.maximum_length, c.position_depth)


def _positions(c: BlockSettings) -> int:
    """What an embedding learns of positions."""
    d = c.depth
    table = (c.maximum_length or 0) * d if c.positions in ("learned", "joint") else 0
    return table + (2 * d * d + d if c.positions == "joint" else 0)


def _output(inputs: int, outputs: int, tied: bool = False) -> int:
    return outputs * (1 if tied else inputs + 1)


def count_recurrent(c: RecurrentConfiguration) -> int:
    """p, the number of parameters of a recurrent encoder-decoder."""
    m, d = c.units, c.depth
    reads = d if c.context == "initial" else d + m
    directions, units = (2, m // 2) if c.bidirectional else (1, m)
    encoder = directions * (_cell(c.cell, d, units) + (c.layers - 1) * _cell(c.cell, m, units))
    decoder = _cell(c.cell, reads, m) + (c.layers - 1) * _cell(c.cell, m, m)
    scores = {"dot": 0, "scaled_dot": 0, "general": m * m}
    attention = scores.get(c.score, 2 * m * m + m) if c.context == "attention" else 0
    tables = (c.source_vocabulary + c.target_vocabulary) * d
    output = _output(2 * m if c.context == "every_step" else m, c.target_vocabulary)
    return encoder + decoder + attention + tables + output


def count_recurrent_encoder(c: RecurrentEncoderConfiguration) -> int:
    """p, the number of parameters of a RecurrentEncoder."""
    inputs = c.vocabulary if c.inputs is None else c.inputs + 1
    directions, units = (2, c.units // 2) if c.bidirectional else (1, c.units)
    cells = directions * (_cell(c.cell, c.depth, units) + (c.layers - 1) * _cell(c.cell, c.units, units))
    query = c.units if c.pooling == "attention" else 0
    return (inputs or 0) * c.depth + cells + query + _output(c.units, c.outputs)


def count_recurrent_language_model(c: RecurrentLanguageModelConfiguration) -> int:
    """p, the number of parameters of a RecurrentLanguageModel."""
    cells = _cell(c.cell, c.depth, c.units) + (c.layers - 1) * _cell(c.cell, c.units, c.units)
    return c.vocabulary * c.depth + cells + _output(c.units, c.vocabulary, tied=c.tied == "output")


def count_convolutional_decoder(c: ConvolutionalDecoderConfiguration) -> int:
    """p, the number of parameters of a ConvolutionalDecoder."""
    m, d, window = c.units, c.depth, c.window**2
    convolutions = sum((window * a + 1) * b for a, b in pairwise((c.channels, *c.filters)))
    decoder = _cell(c.cell, d, m) + (c.layers - 1) * _cell(c.cell, m, m)
    return (
        convolutions + c.states * (c.flat + 1) * m + decoder + c.target_vocabulary * d + _output(m, c.target_vocabulary)
    )


def _cell(kind: str, inputs: int, units: int) -> int:
    return len(BLOCKS[kind]) * (inputs * units + units + units * units)


def physical_memory() -> int | None:
    """Return the bytes of memory of this computer; None if unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check_memory(parameters: int, dtype: Any = np.float32, copies: int = COPIES, constants: int = 0) -> None:
    """Raise an error if a network does not fit into the memory of this computer.

    copies     vectors as long as theta
    constants  other numbers, in double precision
    """
    needed, there = parameters * np.dtype(dtype).itemsize * copies + 8 * constants, physical_memory()
    if there is not None and needed > there:
        raise ConfigurationError(
            f"a network of {parameters:,} parameters needs {needed / 1e9:,.1f} GB of memory, this computer has "
            f"{there / 1e9:,.1f} GB; make its depth, its layers or its vocabularies smaller"
        )
