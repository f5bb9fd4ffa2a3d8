"""linear in one call a pass: the matrix product, and what is done to its rows while they are at hand."""

from __future__ import annotations

from typing import Any

from dragoman.engines.numba import errors, rows
from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.blas import gemm
from dragoman.engines.numba.jit import kernel, part

IDENTITY, RELU, GELU = 0, 1, 2
ACTIVATIONS = {"identity": IDENTITY, "relu": RELU, "gelu": GELU}


@part
def multiply(product: Any, a: Any, transpose_a: Any, b: Any, transpose_b: Any, c: Any) -> None:
    """c = op(a) op(b)"""
    inner = a.shape[0] if transpose_a else a.shape[1]
    zero = c.dtype.type(0)
    gemm(
        product,
        transpose_a,
        transpose_b,
        c.shape[0],
        c.shape[1],
        inner,
        a.ctypes.data,
        a.shape[1],
        b.ctypes.data,
        b.shape[1],
        zero,
        c.ctypes.data,
        c.shape[1],
    )


@kernel
def linear(product: Any, x: Any, w: Any, transposed: Any, biases: Any, activation: Any, c: Any, y: Any) -> None:
    """c = x op(w) + biases (none: a vector of no size), y = activation(c); c and y may be one, but for gelu"""
    leave()
    multiply(product, x, False, w, transposed, c)
    if activation == GELU:
        rows.gelu(c, biases, y)
    elif activation == RELU:
        rows.add_biases_relu(c, biases)
    elif biases.size > 0:
        rows.add_biases(c, biases)
    enter()


@kernel
def linear_backward(
    product: Any, dy: Any, w: Any, transposed: Any, activation: Any, c: Any, dc: Any, dbiases: Any, dx: Any
) -> None:
    """dc and dbiases (none: a vector of no size) from dy; dx = dc op(w)'. For identity, dc is dy."""
    leave()
    if activation == GELU:
        rows.gelu_backward(dy, c, dc, dbiases)
    elif activation == RELU:
        rows.relu_backward(dy, c, dc, dbiases)
    elif dbiases.size > 0:
        rows.sum_rows(dy, dbiases)
    multiply(product, dc, False, w, not transposed, dx)
    enter()


@kernel
def weights_derivative(product: Any, a: Any, b: Any, out: Any) -> None:
    """out = a' b"""
    leave()
    multiply(product, a, True, b, False, out)
    enter()


@kernel
def input_derivative(product: Any, dc: Any, w: Any, transpose: Any, dx: Any) -> None:
    """dx = dc op(w)"""
    leave()
    multiply(product, dc, False, w, transpose, dx)
    enter()


@kernel
def linear_cross_entropy(
    product: Any,
    x: Any,
    w: Any,
    transposed: Any,
    biases: Any,
    delta: Any,
    dbiases: Any,
    targets: Any,
    weights: Any,
    total: Any,
    smoothing: Any,
) -> Any:
    """(error, hits) of the logits x op(w) + biases, whose delta is written"""
    leave()
    multiply(product, x, False, w, transposed, delta)
    found = errors.cross_entropy_delta(delta, biases, dbiases, targets, weights, total, smoothing)
    enter()
    return found
