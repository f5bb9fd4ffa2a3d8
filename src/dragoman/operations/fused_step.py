"""Whole passes of training at once. Without an engine that can, nothing is done and the graph is recorded and followed.

What a pass computes is defined by the network and by back-propagation. Here is the place where an engine runs all of it
without coming back between operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dragoman.graph import Array, DeferredGradient, dispatched
from dragoman.operations.dropout import DropoutKey
from dragoman.operations.fused_search import ModelSpec


class Sequences(NamedTuple):
    """Labels packed as a Batch has them, and the row of the whole batch at which they begin."""

    labels: Array
    offsets: Array
    first_row: int


class Targets(NamedTuple):
    """What the cross-entropy of the logits is taken from: as operations.cross_entropy."""

    targets: Array
    weights: Array | None
    smoothing: float
    total: float | None


class DropoutSites(NamedTuple):
    """Where a Transformer drops: the sites of its encoders' and of its decoders' normalizations, then of the embedding.

    sites [2, 3 layers + 2]: the last normalization is the stack's own (pre-norm); the last column is the embedding's
    """

    rate: float
    noise: DropoutKey | None
    sites: Array


class StepResult(NamedTuple):
    """The error, the weighted number of right predictions, and derivatives by the index at which parameters begin.

    They come as they are found: whoever takes one lets the next be computed.
    """

    error: float
    hits: float
    derivatives: Iterator[tuple[int, Array | DeferredGradient]]


@dispatched
def pass_through(
    flat: ModelSpec, source: Sequences, reference: Sequences, goals: Targets, dropping: DropoutSites
) -> StepResult | None:
    """A Transformer's pass over pairs, forward and backward. None: nothing was done."""
    return None
