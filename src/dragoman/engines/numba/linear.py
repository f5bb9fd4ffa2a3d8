"""linear in one call a pass: the matrix product, and what is done to its rows while they are at hand."""

from __future__ import annotations

from typing import Any

from dragoman.engines.numba import errors, rows
from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import DONE, distant, kernel
from dragoman.engines.numba.panels import FIRST
from dragoman.engines.numba.products import ITSELF, NOTHING, STRAIGHT, TURNED, multiply, multiply_columns

IDENTITY, RELU, GELU = 0, 1, 2
ACTIVATIONS = {"identity": IDENTITY, "relu": RELU, "gelu": GELU}


@distant
def apply(products: Any, x: Any, w: Any, transposed: Any, biases: Any, activation: Any, c: Any, y: Any) -> Any:
    """c = x op(w) + biases (none: a vector of no size), y = activation(c); c and y may be one, but for gelu"""
    multiply(products, x, STRAIGHT, w, transposed, biases if activation == IDENTITY else biases[:0], c)
    if activation == GELU:
        rows.gelu(c, biases, y)
    elif activation == RELU:
        rows.add_biases_relu(c, biases)
    return DONE


@kernel
def linear(*given: Any) -> None:
    leave()
    apply(*given)
    enter()


@distant
def apply_backward(
    products: Any, dy: Any, w: Any, transposed: Any, activation: Any, c: Any, dc: Any, dbiases: Any, dx: Any
) -> Any:
    """dc and dbiases (none: a vector of no size) from dy; dx = dc op(w)'. For identity, dc is dy."""
    if activation == GELU:
        rows.gelu_backward(dy, c, dc, dbiases)
    elif activation == RELU:
        rows.relu_backward(dy, c, dc, dbiases)
    elif dbiases.size > 0:
        rows.sum_rows(dy, dbiases)
    multiply(products, dc, STRAIGHT, w, not transposed, dbiases[:0], dx)
    return DONE


@kernel
def linear_backward(*given: Any) -> None:
    leave()
    apply_backward(*given)
    enter()


@kernel
def weights_derivative(
    products: Any, a: Any, a_first: Any, b: Any, b_first: Any, out: Any, first: Any, columns: Any, add: Any
) -> None:
    """So many columns of out from `first` on = a' b, or added to; of a and b, the columns from their first on"""
    leave()
    begins = ITSELF if add else NOTHING
    multiply_columns(products, a, a_first, TURNED, b, b_first, STRAIGHT, out[0, :0], begins, out, first, columns)
    enter()


@kernel
def linear_cross_entropy(
    products: Any,
    x: Any,
    w: Any,
    transposed: Any,
    biases: Any,
    targets: Any,
    weights: Any,
    total: Any,
    smoothing: Any,
    delta: Any,
    dx: Any,
    dw: Any,
    dbiases: Any,
) -> Any:
    """(error, hits) of the logits x op(w) + biases, and the derivatives, as many rows at a time as delta has

    dw  none (of no size) where delta has all rows: it can be had from delta later
    """
    leave()
    error, hits = 0.0, 0.0
    dbiases[:] = 0
    for first in range(0, x.shape[0], delta.shape[0]):
        end = min(first + delta.shape[0], x.shape[0])
        rows, strip = x[first:end], delta[: end - first]
        multiply(products, rows, STRAIGHT, w, transposed, biases, strip)
        goals = targets[first:end], weights[first:end], total, smoothing
        more, right = errors.delta_of_rows(strip, dbiases, *goals)
        error += more
        hits += right
        multiply(products, strip, STRAIGHT, w, not transposed, dbiases[:0], dx[first:end])
        if dw.size > 0:
            a, b = (strip, rows) if transposed else (rows, strip)
            begins = ITSELF if first > 0 else NOTHING
            multiply_columns(
                products, a, FIRST, TURNED, b, FIRST, STRAIGHT, dbiases[:0], begins, dw, FIRST, dw.shape[1]
            )
    enter()
    return error, hits
