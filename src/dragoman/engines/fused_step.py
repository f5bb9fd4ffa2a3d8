"""A whole training step of a Transformer in one call: error, hits and all derivatives, without a graph.

The network and back-propagation define what a step computes. An engine that registers `fused_step` computes it without
returning to Python between operations; where none does, or the network is not covered, the graph is recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from dragoman.batch import Batch
from dragoman.engines.transformer_reader import reader_of
from dragoman.engines.transformer_spec import ModelSpec
from dragoman.graph import Array, DeferredGradient, Parameter, dispatched
from dragoman.operations.dropout import DropoutKey

ERROR_OPTIONS = {"smoothing"}  # of loss.CrossEntropy
CONTEXT_OPTIONS = {"noise", "maps", "carried"}  # of layers.ForwardContext


class Sequences(NamedTuple):
    """Packed labels, and the row of the whole batch at which they begin."""

    labels: Array
    offsets: Array
    first_row: int


class Targets(NamedTuple):
    """The arguments of operations.cross_entropy."""

    targets: Array
    weights: Array | None
    smoothing: float
    total: float | None


class DropoutSites(NamedTuple):
    """The dropout of a Transformer.

    sites [2, 3 layers + 2]: of the encoders' and of the decoders' normalizations, the last of them the stack's own
    (pre-norm); the last column is the embedding's
    """

    rate: float
    noise: DropoutKey | None
    sites: Array


class StepResult(NamedTuple):
    """The error, the weighted number of hits, and derivatives by the index at which their parameters begin in theta.

    The derivatives are computed while they are taken from the iterator.
    """

    error: float
    hits: float
    derivatives: Iterator[tuple[int, Array | DeferredGradient]]


@dispatched
def fused_step(
    spec: ModelSpec, source: Sequences, reference: Sequences, targets: Targets, dropout_sites: DropoutSites
) -> StepResult | None:
    """Forward and backward through a Transformer for a batch of pairs. None: not covered, nothing was done."""
    return None


def differentiate(
    network: Any, batch: Batch, run: Any, error: Any, total: float | None
) -> tuple[float, float, Iterable[tuple[Parameter, Array | DeferredGradient]]] | None:
    """(error, hits, derivatives of all parameters) of the cross-entropy of a batch; None: record the graph instead.

    run    a ForwardContext     error  a CrossEntropy     total  the weight of the whole batch, when this is a shard
    """
    source = batch.source
    if source is None or batch.targets is None or batch.targets.ndim != 1 or batch.per != "position":
        return None
    if vars(error).keys() != ERROR_OPTIONS or vars(run).keys() != CONTEXT_OPTIONS or run.maps is not None:
        return None
    reader = reader_of(network)
    if reader is None or reader.reason or reader.training_reason:
        return None
    if any(parameter.frozen for parameter in network.theta.parameters):
        return None
    spec = reader.spec(network, int(source.lengths.max(initial=1)), int(batch.lengths.max(initial=1)) + 1)
    sides = [Sequences(side.labels, side.offsets, side.first_row) for side in (source, batch)]
    targets = Targets(batch.targets, batch.loss_weights, error.smoothing, total)
    found = fused_step(spec, *sides, targets, DropoutSites(network.configuration.dropout, run.noise, reader.sites))
    if found is None:
        return None
    parameters = reader.parameters
    return found.error, found.hits, ((parameters[start], delta) for start, delta in found.derivatives)
