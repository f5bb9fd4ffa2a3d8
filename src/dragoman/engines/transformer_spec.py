"""A Transformer as kernels read it: theta, and where in it each parameter begins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dragoman.graph import Array

# Columns of the tables of encoders and decoders: the start of a matrix (or gamma), then of its biases (or beta).
# An encoder has no cross attention. int64: kernels would be compiled again for Python integers.
ATTENTION, DISTANCES, PROJECTION, NORMALIZATION = map(np.int64, (0, 2, 3, 5))
HIDDEN, OUTPUT, LAST_NORMALIZATION = map(np.int64, (7, 9, 11))
CROSS_QUERY, CROSS, CROSS_PROJECTION, CROSS_NORMALIZATION = map(np.int64, (13, 15, 17, 19))
COLUMNS = 21
# Columns of `ends`: parameters outside of the layers.
SOURCE_TABLE, REFERENCE_TABLE, LOGITS, ENCODED, DECODED = map(np.int64, (0, 1, 2, 4, 6))
ENDS = 8
ABSENT = np.int64(-1)


class ModelSpec(NamedTuple):
    """A Transformer by value: its settings, theta, and the index at which each parameter begins.

    theta     all parameters; the network's own memory, so never out of date
    ends      [ENDS] tables, output layer, final normalizations (pre-norm); ABSENT where there is none
    encoders  [layers, COLUMNS] as named above
    decoders  [layers, COLUMNS]
    source_positions, reference_positions   [P, d] rows added to the vectors of the labels; empty if nothing is added
    activation                              one of activations.CODES
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
