"""linear in one call a pass: the matrix product, and what is done to its rows while they are at hand."""

from __future__ import annotations

from typing import Any

from dragoman.engines.numba import errors, rows
from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import kernel
from dragoman.engines.numba.products import ITSELF, NOTHING, multiply, multiply_columns

IDENTITY, RELU, GELU = 0, 1, 2
ACTIVATIONS = {"identity": IDENTITY, "relu": RELU, "gelu": GELU}


@kernel
def linear(products: Any, x: Any, w: Any, transposed: Any, biases: Any, activation: Any, c: Any, y: Any) -> None:
    """c = x op(w) + biases (none: a vector of no size), y = activation(c); c and y may be one, but for gelu"""
    leave()
    multiply(products, x, False, w, transposed, biases if activation == IDENTITY else biases[:0], c)
    if activation == GELU:
        rows.gelu(c, biases, y)
    elif activation == RELU:
        rows.add_biases_relu(c, biases)
    enter()


@kernel
def linear_backward(
    products: Any, dy: Any, w: Any, transposed: Any, activation: Any, c: Any, dc: Any, dbiases: Any, dx: Any
) -> None:
    """dc and dbiases (none: a vector of no size) from dy; dx = dc op(w)'. For identity, dc is dy."""
    leave()
    if activation == GELU:
        rows.gelu_backward(dy, c, dc, dbiases)
    elif activation == RELU:
        rows.relu_backward(dy, c, dc, dbiases)
    elif dbiases.size > 0:
        rows.sum_rows(dy, dbiases)
    multiply(products, dc, False, w, not transposed, dbiases[:0], dx)
    enter()


@kernel
def weights_derivative(
    products: Any, a: Any, a_first: Any, b: Any, b_first: Any, out: Any, first: Any, columns: Any, add: Any
) -> None:
    """So many columns of out from `first` on = a' b, or added to; of a and b, the columns from their first on"""
    leave()
    begins = ITSELF if add else NOTHING
    multiply_columns(products, a, a_first, True, b, b_first, False, out[0, :0], begins, out, first, columns)
    enter()


@kernel
def input_derivative(products: Any, dc: Any, w: Any, transpose: Any, dx: Any) -> None:
    """dx = dc op(w)"""
    leave()
    multiply(products, dc, False, w, transpose, dx[0, :0], dx)
    enter()


@kernel
def linear_cross_entropy(
    products: Any,
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
    multiply(products, x, False, w, transposed, biases, delta)
    found = errors.cross_entropy_delta(delta, dbiases, targets, weights, total, smoothing)
    enter()
    return found
