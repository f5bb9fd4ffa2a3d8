"""Linear layers: the matrix product, then activation or cross-entropy on its rows while they are in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from dragoman.engines.activations import GELU, IDENTITY, RELU
from dragoman.engines.numba.gemm.gemm import (
    INIT_OUTPUT,
    INIT_ZERO,
    NOT_TRANSPOSED,
    TRANSPOSED,
    Operand,
    matmul,
    matmul_columns,
)
from dragoman.engines.numba.gemm.packed_weights import ZERO_INDEX
from dragoman.engines.numba.jit import DONE, Kinds, check_done, indirect_kernel, kernel
from dragoman.engines.numba.kernels import row_kernels
from dragoman.engines.numba.kernels.cross_entropy import WeightedTargets, cross_entropy_rows
from dragoman.engines.numba.threads.spin_gate import acquire, release

GEMMS = types.UniTuple(types.int64, 2)


def linear_kinds(real: Any, vectors: int) -> Kinds:
    vector, matrix = real[::1], real[:, ::1]
    return GEMMS, matrix, matrix, types.boolean, vector, types.int64, matrix, matrix


def linear_backward_kinds(real: Any, vectors: int) -> Kinds:
    vector, matrix = real[::1], real[:, ::1]
    return GEMMS, matrix, matrix, types.boolean, types.int64, matrix, matrix, vector, matrix


@indirect_kernel(linear_kinds)
def linear_rows(gemms: Any, x: Any, w: Any, transposed: Any, biases: Any, activation: Any, c: Any, y: Any) -> Any:
    """c = x op(w) + biases (none: empty), y = activation(c); c and y may be the same array, except for gelu"""
    matmul(gemms, x, NOT_TRANSPOSED, w, transposed, biases if activation == IDENTITY else biases[:0], c)
    if activation == GELU:
        row_kernels.gelu(c, biases, y)
    elif activation == RELU:
        row_kernels.add_biases_relu(c, biases)
    return DONE


call_linear = linear_rows.call


@kernel
def linear(address: Any, *given: Any) -> None:
    release()
    done = call_linear(address, given)
    acquire()
    check_done(done)


@indirect_kernel(linear_backward_kinds)
def linear_rows_backward(
    gemms: Any, dy: Any, w: Any, transposed: Any, activation: Any, c: Any, dc: Any, dbiases: Any, dx: Any
) -> Any:
    """dc and dbiases (none: an empty vector) from dy; dx = dc op(w)'. For identity, dc is dy."""
    if activation == GELU:
        row_kernels.gelu_backward(dy, c, dc, dbiases)
    elif activation == RELU:
        row_kernels.relu_backward(dy, c, dc, dbiases)
    elif dbiases.size > 0:
        row_kernels.sum_rows(dy, dbiases)
    matmul(gemms, dc, NOT_TRANSPOSED, w, not transposed, dbiases[:0], dx)
    return DONE


call_linear_backward = linear_rows_backward.call


@kernel
def linear_backward(address: Any, *given: Any) -> None:
    release()
    done = call_linear_backward(address, given)
    acquire()
    check_done(done)


@kernel
def weights_derivative(
    gemms: Any, a: Any, a_first: Any, b: Any, b_first: Any, out: Any, first: Any, columns: Any, add: Any
) -> None:
    """out = a' b, or out += a' b, for `columns` columns from `first` on; a_first, b_first: first columns of a and b"""
    release()
    init = INIT_OUTPUT if add else INIT_ZERO
    sides = Operand(a, a_first, TRANSPOSED), Operand(b, b_first, NOT_TRANSPOSED)
    matmul_columns(gemms, *sides, np.empty(0, out.dtype), init, out, first, columns)
    acquire()


@kernel
def linear_cross_entropy(
    gemms: Any,
    x: Any,
    w: Any,
    transposed: Any,
    biases: Any,
    targets: Any,
    delta: Any,
    dx: Any,
    dw: Any,
    dbiases: Any,
) -> Any:
    """(error, hits) of the logits x op(w) + biases, and their derivatives, one block of rows of delta at a time

    dw  empty if delta has all rows: then it is computed from delta later
    """
    release()
    labels, weights, total, smoothing = targets
    error, hits = 0.0, 0.0
    dbiases[:] = 0
    for first in range(0, x.shape[0], delta.shape[0]):
        end = min(first + delta.shape[0], x.shape[0])
        rows, logits = x[first:end], delta[: end - first]
        matmul(gemms, rows, NOT_TRANSPOSED, w, transposed, biases, logits)
        some = WeightedTargets(labels[first:end], weights[first:end], total, smoothing)
        more, right = cross_entropy_rows(logits, dbiases, some)
        error += more
        hits += right
        matmul(gemms, logits, NOT_TRANSPOSED, w, not transposed, dbiases[:0], dx[first:end])
        if dw.size > 0:
            a, b = (logits, rows) if transposed else (rows, logits)
            sides = Operand(a, ZERO_INDEX, TRANSPOSED), Operand(b, ZERO_INDEX, NOT_TRANSPOSED)
            init = INIT_OUTPUT if first > 0 else INIT_ZERO
            matmul_columns(gemms, *sides, dbiases[:0], init, dw, ZERO_INDEX, dw.shape[1])
    acquire()
    return error, hits
