"""Whole sentences written at once. Without an engine that can, nothing is done and the caller goes step by step.

What is to be written stands in `decoding`, where the searches are defined. Here are the places where an engine runs a
whole search, network and all, without coming back between labels; and the form in which it is told of the network.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dragoman.graph import Array, dispatched

FREE = -1  # where a prefix is over: the method chooses

# Where an encoder's or a decoder's parameters stand in its row of a table: a matrix (or gamma), then its biases (or
# beta). An encoder has no cross attention. Machine integers: kernels would be compiled anew for each Python one.
ATTENTION, DISTANCES, PROJECTION, NORMALIZATION = map(np.int64, (0, 2, 3, 5))
HIDDEN, OUTPUT, LAST_NORMALIZATION = map(np.int64, (7, 9, 11))
CROSS_QUERY, CROSS, CROSS_PROJECTION, CROSS_NORMALIZATION = map(np.int64, (13, 15, 17, 19))
COLUMNS = 21
# Where the parameters stand that are not of a layer.
SOURCE_TABLE, REFERENCE_TABLE, LOGITS, ENCODED, DECODED = map(np.int64, (0, 1, 2, 4, 6))
ENDS = 8
ABSENT = np.int64(-1)

ACTIVATIONS = ("identity", "relu", "gelu")  # those that engines write with


class ModelSpec(NamedTuple):
    """A Transformer as an engine reads it: theta, and the index at which each of its parameters begins.

    theta     all parameters
    ends      [ENDS] tables, logits, final normalizations (pre-norm); ABSENT where there is none
    encoders  [layers, COLUMNS] as named above
    decoders  [layers, COLUMNS]
    source_positions, reference_positions   [P, d] what is added to a label's vector; no rows where nothing is
    """

    theta: Array
    ends: Array
    encoders: Array
    decoders: Array
    source_positions: Array
    reference_positions: Array
    depth: int
    hidden: int
    heads: int
    source_vocabulary: int
    vocabulary: int
    pre: bool
    outside: bool
    tied: bool
    positioned: bool
    activation: int
    reach: int
    epsilon: float
    scale: float


class SearchResult(NamedTuple):
    """Hypotheses of the sentences of a batch, best first, those of the first sentence before those of the second.

    counts [B] how many each sentence has   labels, offsets   those of hypothesis i from offsets[i] to offsets[i + 1]
    totals [H] log-probabilities            finished [H] whether each wrote its end label
    """

    counts: Array
    labels: Array
    offsets: Array
    totals: Array
    finished: Array


@dispatched
def write_greedily(
    flat: ModelSpec, labels: Array, offsets: Array, longest: Array, prefixes: Array, *, scored: bool = True
) -> SearchResult | None:
    """What decoding.Greedy finds for sources packed as a Batch has them. None: nothing was done."""
    return None


@dispatched
def write_beams(
    flat: ModelSpec,
    labels: Array,
    offsets: Array,
    longest: Array,
    prefixes: Array,
    *,
    width: int,
    length_penalty: float,
    best: int,
) -> SearchResult | None:
    """What decoding.Beam finds. None: nothing was done."""
    return None
