"""What the claims of the book's section 7.2 share: a small recurrent network, as a plain recursion and by operations.

The book writes one state as a column, h = S(W h + ...); the operations take it as a row, h W^T. What is differentiated
numerically is always the plain recursion, which knows nothing of any derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dragoman.analysis.audit.claim import Evidence, agreement
from dragoman.graph import Array, Tensor, Value, backpropagate
from dragoman.graph.gradient_check import COMPLEX_TOLERANCE, DIFFERENCE_TOLERANCE, central_differences, complex_step
from dragoman.operations import activate, add, cross_entropy, linear, rnn, transpose

RNG = np.random.default_rng(7)
T, p, m, q = 6, 2, 3, 4
W_hh, W_hx, W_yh = (RNG.standard_normal(shape) for shape in ((m, m), (m, p), (q, m)))
b_h, b_y = RNG.standard_normal(m), RNG.standard_normal(q)
x, targets = RNG.standard_normal((T, p)), RNG.integers(0, q, T)  # x<1>, ..., x<T> and what is to be predicted
PARAMETERS = (W_hh, W_hx, b_h, W_yh, b_y)


def states(W: Array = W_hh, start: Array | None = None, inputs: Array = x) -> Array:
    """A state for each input, by (7.2), after h<0> = start"""
    h, found = np.zeros(m) if start is None else start, []
    for u in inputs:
        h = np.tanh(W @ h + W_hx @ u + b_h)
        found.append(h)
    return np.array(found)


def losses(h: Array, t: int = 0) -> Array:
    """C<t+1>, ..., C<T> of the states h<t+1>, ..., h<T>, by (7.5)"""
    e = np.exp(h @ W_yh.T + b_y)
    y = e / e.sum(axis=1, keepdims=True)
    steps: Array = -np.log((y * np.eye(q)[targets[t:]]).sum(axis=1))
    return steps


def loss(W: Array) -> Array:
    """(7.4) as a function of the shared weights"""
    total: Array = np.asarray(losses(states(W)).mean())
    return total


def loss_after(t: int, h: Array) -> Array:
    """(7.4) as a function of one state h<t>, but for the losses before it, which do not depend on it"""
    following = h[None] if t == T else np.concatenate((h[None], states(start=h, inputs=x[t:])))
    total: Array = losses(following, t - 1).sum() / T
    return total


def slopes(h: Array) -> Array:
    """Cdot<1>, ..., Cdot<T>: each step's loss by its own state"""
    e = np.exp(h @ W_yh.T + b_y)
    own: Array = (e / e.sum(axis=1, keepdims=True) - np.eye(q)[targets]) @ W_yh
    return own


def numerical(closed: Array, function: Callable[[Array], Array], at: Array) -> Evidence:
    """A closed form against both numerical derivatives of a scalar function"""
    tensor = Tensor(at)
    differences = central_differences(lambda: function(tensor.value), tensor)
    exact = complex_step(lambda: function(tensor.value), tensor)
    return agreement("central differences", closed, differences, DIFFERENCE_TOLERANCE) & agreement(
        "complex step", closed, exact, COMPLEX_TOLERANCE
    )


def network(W_hh: Value, W_hx: Value, b_h: Value, W_yh: Value, b_y: Value, cut: int | None = None) -> Value:
    """(7.4) of (7.2) by operations, all steps at once"""
    by_inputs = linear(x, W_hx, b_h, transposed=True)
    h, _ = rnn(by_inputs, transpose(W_hh, axes=(1, 0)), offsets=np.array([0, T]), cut=cut)
    return cross_entropy(linear(h, W_yh, b_y, transposed=True), targets=targets)[0]


def weight_gradient(cut: int | None = None) -> Array:
    """g_W by back-propagation through the operation"""
    W = Tensor(W_hh)
    (g,) = backpropagate(network(W, *PARAMETERS[1:], cut=cut), [W])
    return g


def unrolled(weights: Sequence[Value], start: Array) -> tuple[list[Value], list[Value]]:
    """A feedforward net of T layers with their own weights, each with an input and a loss: its losses and its states"""
    h: Value = start[None]
    steps, found = [], []
    for t, W in enumerate(weights):
        by_input = x[t : t + 1] @ W_hx.T + b_h
        h = activate(add(linear(h, W, transposed=True), by_input), activation="tanh")
        logits = linear(h, W_yh, b_y, transposed=True)
        steps.append(cross_entropy(logits, targets=targets[t : t + 1], total=T)[0])
        found.append(h)
    return steps, found
