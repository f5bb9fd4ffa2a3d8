"""The recurrences of the book, one sequence and one step at a time, and small inputs for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dragoman.graph import Operation, Tensor, backpropagate
from dragoman.operations import gru, lstm, rnn
from tests.strategies import generators, offsets, sizes


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def gelu(z):
    return z / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


ACTIVATIONS = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0),
    "logistic": sigmoid,
    "tanh": np.tanh,
    "gelu": gelu,
}


def rnn_step(activation):
    def step(u, W, h):
        """(7.2), u = W_hx x + b_h"""
        return (ACTIVATIONS[activation](W[0] @ h + u[0]),)

    return step


def lstm_step(u, W, h, c):
    """(7.16) and (7.17); u are W_fx x + b_f, W_ix x + b_i, W_ox x + b_o, W_cx x + b_c"""
    g_f, g_i, g_o = (sigmoid(W[gate] @ h + u[gate]) for gate in range(3))
    c = g_f * c + g_i * np.tanh(W[3] @ h + u[3])
    return g_o * np.tanh(c), c


def gru_step(u, W, h, b=None):
    """(7.18) and (7.19); u are W_rx x + b_r, W_ux x + b_u, W_hx x + b_h. With b the reset comes after W h + b."""
    g_r, g_u = (sigmoid(W[gate] @ h + u[gate]) for gate in range(2))
    reached = W[2] @ (g_r * h) if b is None else g_r * (W[2] @ h + b)
    return ((1 - g_u) * h + g_u * np.tanh(reached + u[2]),)


@dataclass(frozen=True)
class Kind:
    """A recurrence: how many blocks its inputs have, how many states go from step to step, one step of the book's."""

    operation: Operation[Any]
    step: Callable[..., tuple[Any, ...]]
    blocks: int = 1
    states: int = 1
    biases: bool = False
    analytic: bool = True
    ledger: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, *inputs, **options):
        return self.operation(*inputs, **self.options, **options)

    def shapes(self, m, lengths, given=True):
        """Of x, weights, states (None for those not given) and biases."""
        given = [given] * self.states if isinstance(given, bool) else given
        states = [(len(lengths), m) if wanted else None for wanted in given]
        rows, width = sum(lengths), self.blocks * m
        return [(rows, width), (m, width), *states, *([(m,)] if self.biases else [])]


KINDS = {
    **{
        f"rnn {name}": Kind(
            rnn, rnn_step(name), analytic=name != "relu", ledger=("B-7.2eq",), options={"activation": name}
        )
        for name in ACTIVATIONS
    },
    "lstm": Kind(lstm, lstm_step, blocks=4, states=2, ledger=("B-7.16eq", "B-7.17eq", "B-F7.8")),
    "gru": Kind(gru, gru_step, blocks=3, ledger=("B-7.18eq", "B-7.19eq", "B-F7.8")),
    "gru, reset after": Kind(gru, gru_step, blocks=3, biases=True),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
every_kind_by_its_equations = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.ledger(*kind.ledger)) for kind in KINDS.values()], ids=KINDS
)
one_of_each = pytest.mark.parametrize(
    "kind",
    [KINDS[name] for name in ("rnn tanh", "lstm", "gru", "gru, reset after")],
    ids=("rnn", "lstm", "gru", "after"),
)


def normal(rng, shapes):
    return [None if shape is None else rng.standard_normal(shape) for shape in shapes]


def recorded(inputs):
    """A leaf for each input that is there."""
    return [None if x is None else Tensor(x) for x in inputs]


def random_deltas(outputs):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(y.shape) for y in outputs]


def derivatives(outputs, leaves, deltas=None):
    """By each leaf that is there."""
    present = [leaf for leaf in leaves if leaf is not None]
    return backpropagate(outputs, present, random_deltas(outputs) if deltas is None else deltas)


@st.composite
def cases(draw, kind, longest=4, low=0):
    """Inputs and options of a recurrence: ragged or empty sequences, some states given, forwards or backwards."""
    rng, starts = draw(generators()), draw(offsets(low=low, high=longest))
    given = [draw(st.booleans()) for _ in range(kind.states)]
    inputs = normal(rng, kind.shapes(draw(sizes(1, 3)), np.diff(starts), given))
    return inputs, {"offsets": starts, "reverse": draw(st.booleans())}


def by_the_book(kind, x, weights, *others, offsets, reverse=False):
    """What the operation returns: each state at every row, then each state after the last step."""
    m, count = len(weights), len(offsets) - 1
    W = [block.T for block in np.split(weights, kind.blocks, axis=1)]  # the book multiplies columns from the left
    initial, biases = others[: kind.states], others[kind.states :]
    at_rows = [np.full((len(x), m), np.nan) for _ in range(kind.states)]
    final = [np.full((count, m), np.nan) for _ in range(kind.states)]
    for b, (start, stop) in enumerate(pairwise(offsets)):
        state = [np.zeros(m) if given is None else given[b] for given in initial]
        for row in reversed(range(start, stop)) if reverse else range(start, stop):
            state = kind.step(np.split(x[row], kind.blocks), W, *state, *biases)
            for place, value in zip(at_rows, state, strict=True):
                place[row] = value
        for place, value in zip(final, state, strict=True):
            place[b] = value
    return *at_rows, *final
