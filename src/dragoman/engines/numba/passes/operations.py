"""operations.passing: a pass in four calls, none of which comes back to Python between its steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dragoman.engines.numba import blas
from dragoman.engines.numba.arguments import longest_of
from dragoman.engines.numba.operations import checked, linear_cross_entropy, scattered, weights_derivative
from dragoman.engines.numba.passes.program import Pass, program_of
from dragoman.engines.numba.passes.stacks import Stack
from dragoman.engines.numba.products import products_of
from dragoman.graph import Array, DeferredGradient
from dragoman.operations import fused_search, fused_step
from dragoman.operations.fused_search import ModelSpec
from dragoman.operations.fused_step import DropoutSites, Sequences, StepResult, Targets

ENGINE = "numba"
MOST = 1 << 26  # bytes that may be kept: with more, the graph takes less memory and hardly more time
SINGLE = np.dtype(np.float32)

Derivative = tuple[int, Array | DeferredGradient]  # and where its parameter begins


@fused_step.pass_through.register(ENGINE)
def pass_through(
    flat: ModelSpec, source: Sequences, reference: Sequences, goals: Targets, dropping: DropoutSites
) -> Any:
    longest = [longest_of(side.labels, side.offsets) for side in (source, reference)]
    if not _fit(flat, longest) or source.labels.ndim != 1 or reference.labels.ndim != 1:
        return NotImplemented
    read, written = _known(source, flat.source_vocabulary), _known(reference, flat.vocabulary)
    program = program_of(flat, 0.0 if dropping.noise is None else dropping.rate, dropping.sites)
    if program.size(len(read.labels), len(written.labels)) > MOST:
        return NotImplemented
    found = Pass(program, flat, read, written, max(longest), dropping.noise)
    found.run("forward")
    weights, biases = _last_layer(flat)
    outcome = linear_cross_entropy(
        found.array(program.output),
        weights,
        biases,
        targets=goals.targets,
        loss_weights=goals.weights,
        smoothing=goals.smoothing,
        total=goals.total,
        transposed=flat.tied,
    )
    if outcome is NotImplemented:
        return NotImplemented
    (error, hits), last_backward = outcome

    def derivatives() -> Iterator[Derivative]:
        """Of a part of the network as soon as it is done: others write them while the next is computed."""
        dx, dweights, dbiases = last_backward(1)
        yield int(flat.ends[fused_search.LOGITS]), dweights
        yield int(flat.ends[fused_search.LOGITS + 1]), dbiases
        found.array(program.dx)[...] = dx
        found.array(program.dmemory)[...] = 0
        for name, stack, side in (("decoders", program.decoder, written), ("encoders", program.encoder, read)):
            found.run(name)
            yield from _of_stack(found, stack)
            yield _of_table(flat, found, program.embedded[name], stack, side, dropping)

    return StepResult(float(error), hits, derivatives())


def _fit(flat: ModelSpec, longest: list[int]) -> bool:
    """Whether the steps know such a network; where not, and for every mistake, the graph is recorded."""
    theta, added = flat.theta, (flat.source_positions, flat.reference_positions)
    if blas.GEMM is None or theta.dtype != SINGLE or not theta.flags.c_contiguous or flat.epsilon <= 0:
        return False
    known = not flat.positioned or all(most <= len(rows) for most, rows in zip(longest, added, strict=True))
    return known and flat.depth // flat.heads % 8 == 0 and min(longest) > 0


def _known(side: Sequences, vocabulary: int) -> Sequences:
    """As steps take it."""
    labels, offsets = checked("embed", side.labels, vocabulary), side.offsets.astype(np.int64, copy=False)
    return Sequences(np.ascontiguousarray(labels), np.ascontiguousarray(offsets), side.first_row)


def _last_layer(flat: ModelSpec) -> tuple[Array, Array]:
    d, v, start, biases = (
        flat.depth,
        flat.vocabulary,
        flat.ends[fused_search.LOGITS],
        flat.ends[fused_search.LOGITS + 1],
    )
    weights = flat.theta[start : start + d * v].reshape((v, d) if flat.tied else (d, v))
    return weights, flat.theta[biases : biases + v]


def _of_stack(found: Pass, stack: Stack) -> Iterator[Derivative]:
    products = products_of(SINGLE)
    for start, x, dc in stack.products:
        shape = x.columns, dc.columns
        yield start, weights_derivative(products, found.array(x), found.array(dc), shape, False)
    for start, derivative, vector in stack.sums:
        there = found.array(derivative)
        yield start, there[0] if vector else there


def _of_table(
    flat: ModelSpec, found: Pass, embedded: Any, stack: Stack, side: Sequences, dropping: DropoutSites
) -> Derivative:
    delta, noise = found.array(embedded), dropping.noise
    dropout = None if noise is None else noise.dropout(dropping.rate, stack.sites[-1], side.first_row)
    table = fused_search.REFERENCE_TABLE if stack.fused_search else fused_search.SOURCE_TABLE
    size = flat.vocabulary if stack.fused_search else flat.source_vocabulary
    write = scattered(delta, side.labels, flat.scale, dropout)
    return int(flat.ends[table]), DeferredGradient((size, flat.depth), SINGLE, write, kept=delta.nbytes)
