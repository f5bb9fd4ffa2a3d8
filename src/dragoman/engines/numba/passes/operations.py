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
from dragoman.graph import Array, Pending
from dragoman.operations import passing, writing
from dragoman.operations.passing import Dropping, Goals, Passed, Sequences
from dragoman.operations.writing import Flat

ENGINE = "numba"
MOST = 1 << 26  # bytes that may be kept: with more, the graph takes less memory and hardly more time
SINGLE = np.dtype(np.float32)

Derivative = tuple[int, Array | Pending]  # and where its parameter begins


@passing.pass_through.register(ENGINE)
def pass_through(flat: Flat, source: Sequences, reference: Sequences, goals: Goals, dropping: Dropping) -> Any:
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
        yield int(flat.ends[writing.LOGITS]), dweights
        yield int(flat.ends[writing.LOGITS + 1]), dbiases
        found.array(program.dx)[...] = dx
        found.array(program.dmemory)[...] = 0
        for name, stack, side in (("decoders", program.decoder, written), ("encoders", program.encoder, read)):
            found.run(name)
            yield from _of_stack(found, stack)
            yield _of_table(flat, found, program.embedded[name], stack, side, dropping)

    return Passed(float(error), hits, derivatives())


def _fit(flat: Flat, longest: list[int]) -> bool:
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


def _last_layer(flat: Flat) -> tuple[Array, Array]:
    d, v, start, biases = flat.depth, flat.vocabulary, flat.ends[writing.LOGITS], flat.ends[writing.LOGITS + 1]
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


def _of_table(flat: Flat, found: Pass, embedded: Any, stack: Stack, side: Sequences, dropping: Dropping) -> Derivative:
    delta, noise = found.array(embedded), dropping.noise
    dropout = None if noise is None else noise.dropout(dropping.rate, stack.sites[-1], side.first_row)
    table = writing.REFERENCE_TABLE if stack.writing else writing.SOURCE_TABLE
    size = flat.vocabulary if stack.writing else flat.source_vocabulary
    write = scattered(delta, side.labels, flat.scale, dropout)
    return int(flat.ends[table]), Pending((size, flat.depth), SINGLE, write, kept=delta.nbytes)
