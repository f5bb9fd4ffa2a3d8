"""The perceptron: a linear combination and an activation."""

from __future__ import annotations

from dragoman.graph import Array, Backward, operation
from dragoman.operations.activations import find_activation
from dragoman.operations.shapes import check_shapes


@operation
def linear(
    x: Array, weights: Array, biases: Array | None = None, *, activation: str = "identity", transposed: bool = False
) -> tuple[Array, Backward]:
    """y = a(x W + b)                    (thesis, Definition 3.12)

    x [N, d]   weights [d, k]   biases [k] or None   ->   y [N, k]
    transposed: weights [k, d] as an embedding table has them, y = a(x W^T + b)
    """
    check_shapes("linear", x=(x, "N d"), weights=(weights, "k d" if transposed else "d k"), biases=(biases, "k"))
    function, derivative = find_activation(activation)
    w = weights.T if transposed else weights
    c = x @ w
    if biases is not None:
        c = c + biases
    y = function(c)

    def backward(dy: Array) -> tuple[Array, Array, Array | None]:
        """(4.3.1)-(4.3.4), Propositions 4.18 and 4.19"""
        dc = dy if activation == "identity" else derivative(c, y) * dy
        dx = dc @ w.T
        dweights = dc.T @ x if transposed else x.T @ dc
        dbiases = None if biases is None else dc.sum(axis=0)
        return dx, dweights, dbiases

    return y, backward
