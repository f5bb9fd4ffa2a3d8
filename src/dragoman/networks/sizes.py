"""Count the parameters of a configuration and check the memory before a network is built."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.layers.embedding import CONCATENATED
from dragoman.layers.recurrent import BLOCKS

if TYPE_CHECKING:
    from dragoman.networks.encoder_decoder import RecurrentConfiguration
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
    d, k = c.depth, c.perceptron_depth
    attention = 4 * d * d + (4 * d if c.attention_biases else 0)
    normalization, perceptron = 2 * d, 2 * d * k + k + d
    encoder = attention + perceptron + 2 * normalization
    decoder = 2 * attention + perceptron + 3 * normalization
    stacks = c.layers * (encoder + decoder)
    if c.block == "pre":
        stacks += 2 * normalization
    if c.positions == "relative":
        stacks += 2 * c.heads * (2 * c.relative_reach + 1)
    vocabularies = c.target_vocabulary if c.tied == "all" else c.source_vocabulary + c.target_vocabulary
    tables = vocabularies * (d - _position_depth(c))
    if c.positions in ("learned", "joint"):
        tables += 2 * (c.maximum_length or 0) * d
    if c.positions == "joint":
        tables += 2 * (2 * d * d + d)
    output = c.target_vocabulary * (1 if c.tied != "none" else d + 1)
    return stacks + tables + output


def _position_depth(c: TransformerConfiguration) -> int:
    """Return the number of columns that positions take from words."""
    if c.positions not in CONCATENATED:
        return 0
    return (c.maximum_length or 0) if c.positions == "one_hot" else c.position_depth or max(2, c.depth // 4 * 2)


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
    output = ((2 * m if c.context == "every_step" else m) + 1) * c.target_vocabulary
    return encoder + decoder + attention + tables + output


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
