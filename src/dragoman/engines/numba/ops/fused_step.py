"""Registers the fused training step: a few kernel calls for a whole pass, forward and backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dragoman.engines import fused_step as dispatch
from dragoman.engines import transformer_spec as columns
from dragoman.engines.fused_step import DropoutSites, Sequences, StepResult, Targets
from dragoman.engines.numba.fused_step.layers import LayerStack
from dragoman.engines.numba.fused_step.program import ProgramRun, program_of
from dragoman.engines.numba.gemm import blas
from dragoman.engines.numba.gemm.gemm import gemm_addresses
from dragoman.engines.numba.ops.arguments import longest_of
from dragoman.engines.numba.ops.dense import checked_labels, linear_cross_entropy, scatter_writer, weights_derivative
from dragoman.engines.transformer_spec import ModelSpec
from dragoman.graph import Array, DeferredGradient

ENGINE = "numba"
MOST_BYTES = 1 << 26  # of the buffers of one step: beyond, the graph takes less memory and hardly more time
SINGLE = np.dtype(np.float32)

Derivative = tuple[int, Array | DeferredGradient]  # start of the parameter in theta, its derivative


@dispatch.fused_step.register(ENGINE)
def fused_step(
    spec: ModelSpec, source: Sequences, reference: Sequences, targets: Targets, dropout_sites: DropoutSites
) -> Any:
    longest = [longest_of(side.labels, side.offsets) for side in (source, reference)]
    if not _fit(spec, longest) or source.labels.ndim != 1 or reference.labels.ndim != 1:
        return NotImplemented
    read, written = _checked(source, spec.source_vocabulary), _checked(reference, spec.vocabulary)
    program = program_of(spec, 0.0 if dropout_sites.noise is None else dropout_sites.rate, dropout_sites.sites)
    if program.size(len(read.labels), len(written.labels)) > MOST_BYTES:
        return NotImplemented
    found = ProgramRun(program, spec, read, written, max(longest), dropout_sites.noise)
    found.run("forward")
    weights, biases = _last_layer(spec)
    outcome = linear_cross_entropy(
        found.array(program.output),
        weights,
        biases,
        targets=targets.targets,
        loss_weights=targets.weights,
        smoothing=targets.smoothing,
        total=targets.total,
        transposed=spec.tied,
    )
    if outcome is NotImplemented:
        return NotImplemented
    (error, hits), last_backward = outcome

    def derivatives() -> Iterator[Derivative]:
        """Derivatives of each stack as soon as it is done; other threads write them while the next one runs."""
        dx, dweights, dbiases = last_backward(1)
        yield int(spec.ends[columns.LOGITS]), dweights
        yield int(spec.ends[columns.LOGITS + 1]), dbiases
        found.array(program.dx)[...] = dx
        found.array(program.dmemory)[...] = 0
        for name, stack, side in (("decoders", program.decoder, written), ("encoders", program.encoder, read)):
            found.run(name)
            yield from _of_stack(found, stack)
            yield _of_table(spec, found, program.embedded[name], stack, side, dropout_sites)

    return StepResult(float(error), hits, derivatives())


def _fit(spec: ModelSpec, longest: list[int]) -> bool:
    """Whether the kernels support such a network; if not, and for invalid input, the graph is recorded."""
    theta, added = spec.theta, (spec.source_positions, spec.reference_positions)
    if blas.GEMM is None or theta.dtype != SINGLE or not theta.flags.c_contiguous or spec.epsilon <= 0:
        return False
    known = not spec.positioned or all(most <= len(rows) for most, rows in zip(longest, added, strict=True))
    return known and spec.depth // spec.heads % 8 == 0 and min(longest) > 0


def _checked(side: Sequences, vocabulary: int) -> Sequences:
    """Checked and contiguous int64 arrays."""
    labels, offsets = checked_labels("embed", side.labels, vocabulary), side.offsets.astype(np.int64, copy=False)
    return Sequences(np.ascontiguousarray(labels), np.ascontiguousarray(offsets), side.first_row)


def _last_layer(spec: ModelSpec) -> tuple[Array, Array]:
    d = spec.depth
    v = spec.vocabulary
    start = spec.ends[columns.LOGITS]
    biases = spec.ends[columns.LOGITS + 1]
    weights = spec.theta[start : start + d * v].reshape((v, d) if spec.tied else (d, v))
    return weights, spec.theta[biases : biases + v]


def _of_stack(found: ProgramRun, stack: LayerStack) -> Iterator[Derivative]:
    gemms = gemm_addresses(SINGLE)
    for start, x, dc in stack.products:
        shape = x.columns, dc.columns
        yield start, weights_derivative(gemms, found.array(x), found.array(dc), shape, False)
    for start, derivative, vector in stack.sums:
        there = found.array(derivative)
        yield start, there[0] if vector else there


def _of_table(
    spec: ModelSpec, found: ProgramRun, embedded: Any, stack: LayerStack, side: Sequences, dropout_sites: DropoutSites
) -> Derivative:
    delta, noise = found.array(embedded), dropout_sites.noise
    dropout = None if noise is None else noise.dropout(dropout_sites.rate, stack.sites[-1], side.first_row)
    table = columns.REFERENCE_TABLE if stack.is_decoder else columns.SOURCE_TABLE
    size = spec.vocabulary if stack.is_decoder else spec.source_vocabulary
    write = scatter_writer(delta, side.labels, spec.scale, dropout)
    return int(spec.ends[table]), DeferredGradient((size, spec.depth), SINGLE, write, kept=delta.nbytes)
