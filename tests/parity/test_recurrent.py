"""Parity with PyTorch's RNN, LSTM and GRU: one or two layers, one or both directions, packed sequences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence, unpack_sequence

from dragoman.graph import Operation, Tensor, backpropagate
from dragoman.operations import concatenate_columns, gru, linear, lstm, rnn
from tests.strategies import generators, offsets, sizes

torch.set_num_threads(1)

TOLERANCE = 1e-10
FLOOR = 1e-3  # a gradient that vanishes has nothing to be relative to


@dataclass(frozen=True)
class Kind:
    """A recurrence of both. Block i of ours is block order[i] of PyTorch's, with that sign."""

    operation: Operation[Any]
    module: type[nn.RNNBase]
    order: tuple[int, ...] = (0,)
    signs: tuple[int, ...] = (1,)
    activation: str = "tanh"

    @property
    def states(self) -> int:
        return 2 if self.module is nn.LSTM else 1

    @property
    def resets_after(self) -> bool:
        return self.module is nn.GRU

    def build(self, p, m, layers, bidirectional):
        options = {"nonlinearity": self.activation} if self.module is nn.RNN else {}
        return self.module(p, m, layers, bidirectional=bidirectional, dtype=torch.float64, **options)

    def ours(self, theirs):
        """Rows in PyTorch's order of blocks -> ours."""
        blocks = np.split(theirs, len(self.order))
        return np.concatenate([sign * blocks[i] for i, sign in zip(self.order, self.signs, strict=True)])

    def theirs(self, ours):
        """And back."""
        blocks, places = np.split(ours, len(self.order)), np.argsort(self.order)
        return np.concatenate([self.signs[i] * blocks[i] for i in places])


KINDS = {
    "rnn tanh": Kind(rnn, nn.RNN),
    "rnn relu": Kind(rnn, nn.RNN, activation="relu"),
    # theirs: input, forget, new memory, output
    "lstm": Kind(lstm, nn.LSTM, order=(1, 0, 3, 2), signs=(1, 1, 1, 1)),
    # theirs: reset, update, new state; their update gate is what is kept, 1 - g_u: sigmoid(-z) = 1 - sigmoid(z)
    "gru": Kind(gru, nn.GRU, order=(0, 1, 2), signs=(1, -1, 1)),
}


class Layer:
    """One layer in one direction, its leaves in our layout, filled from a PyTorch module."""

    def __init__(self, kind, module, number, reverse):
        self.kind, self.reverse = kind, reverse
        self.suffix = f"_l{number}{'_reverse' if reverse else ''}"
        w_ih, w_hh, b_ih, b_hh = (
            kind.ours(getattr(module, name + self.suffix).detach().numpy())
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        m = w_hh.shape[1]
        inner = None
        if kind.resets_after:  # one of their biases stands inside the reset; the others add to those of the inputs
            inner, b_hh = b_hh[2 * m :], np.concatenate((b_hh[: 2 * m], np.zeros(m)))
        self.inputs, self.weights, self.biases = Tensor(w_ih.T.copy()), Tensor(w_hh.T.copy()), Tensor(b_ih + b_hh)
        self.inner = None if inner is None else Tensor(inner)
        self.leaves = [self.inputs, self.weights, self.biases, *([] if self.inner is None else [self.inner])]

    def __call__(self, x, states, offsets):
        arguments = [linear(x, self.inputs, self.biases), self.weights, *states]
        if self.inner is not None:
            arguments.append(self.inner)
        options = {"activation": self.kind.activation} if self.kind.operation is rnn else {}
        return self.kind.operation(*arguments, offsets=offsets, reverse=self.reverse, **options)

    def named(self, derivatives):
        """Derivatives by the leaves, under PyTorch's names and in its layout."""
        dinputs, dweights, dbiases, *dinner = derivatives
        b_ih = self.kind.theirs(dbiases)
        b_hh = b_ih
        if dinner:
            b_hh = np.concatenate((b_ih[: -len(dinner[0])], dinner[0]))
        found = {
            "weight_ih": self.kind.theirs(dinputs.T),
            "weight_hh": self.kind.theirs(dweights.T),
            "bias_ih": b_ih,
            "bias_hh": b_hh,
        }
        return {name + self.suffix: value for name, value in found.items()}


def stack(kind, module, x, states, starts):
    """Layer upon layer, both directions side by side. Outputs, final states of each layer and direction, the layers.

    states[i] are those of layer and direction i, a leaf or None for each.
    """
    directions = 2 if module.bidirectional else 1
    layers, finals = [], []
    for number in range(module.num_layers):
        columns = []
        for direction in range(directions):
            layers.append(Layer(kind, module, number, reverse=direction == 1))
            outputs = layers[-1](x, states[len(layers) - 1], starts)
            columns.append(outputs[0])
            finals.append(outputs[kind.states :])
        x = columns[0] if directions == 1 else concatenate_columns(*columns)
    return x, finals, layers


def assert_parity(kind, module, x, states, starts):
    """Outputs, final states, and every derivative of sum(c * outputs) + sum(c * final states)."""
    count = module.num_layers * (2 if module.bidirectional else 1)
    leaf = Tensor(x)
    leaves = [[None] * kind.states if states is None else [Tensor(s[i]) for s in states] for i in range(count)]
    y, finals, layers = stack(kind, module, leaf, leaves, starts)

    rows = torch.tensor(x, requires_grad=True)
    given = None if states is None else [torch.tensor(s, requires_grad=True) for s in states]
    packed = pack_sequence([rows[a:b] for a, b in pairwise(starts)], enforce_sorted=False)
    initial = None if given is None else given[0] if kind.states == 1 else tuple(given)
    expected, last = module(packed, initial)
    assert isinstance(expected, PackedSequence)
    expected = torch.cat(unpack_sequence(expected))
    last = [last] if kind.states == 1 else list(last)  # each [layers and directions, B, m]

    rng = np.random.default_rng(0)
    c, cs = rng.standard_normal(y.shape), [rng.standard_normal(tuple(state.shape)) for state in last]
    loss = (expected * torch.tensor(c)).sum() + sum((s * torch.tensor(d)).sum() for s, d in zip(last, cs, strict=True))
    loss.backward()
    own = [leaf for layer in layers for leaf in layer.leaves]
    initials = [leaf for pair in leaves for leaf in pair if leaf is not None]
    flat, deltas = [f for final in finals for f in final], [d[i] for i in range(count) for d in cs]
    dx, *rest = backpropagate([y, *flat], [leaf, *own, *initials], [c, *deltas])

    pairs = {"outputs": (y.value, expected), "x": (dx, rows.grad)}
    for s, state in enumerate(last):
        pairs[f"final state {s}"] = (np.stack([final[s].value for final in finals]), state)
    for layer in layers:
        for name, derivative in layer.named([rest.pop(0) for _ in layer.leaves]).items():
            pairs[name] = (derivative, getattr(module, name).grad)
    for s in range(kind.states if initials else 0):
        pairs[f"initial state {s}"] = (np.stack(rest[s :: kind.states]), given[s].grad)
    assert len(pairs) == 2 + kind.states * (2 if initials else 1) + len(list(module.parameters()))
    for name, (found, reference) in pairs.items():
        wanted = reference.detach().numpy()
        assert found.shape == wanted.shape, name
        error = np.abs(found - wanted).max() / max(np.abs(wanted).max(), FLOOR)
        assert error <= TOLERANCE, f"{name}: {error:.1e}"


STACKS = {"lstm": "B-7.3-lstmstack", "gru": "B-7.3-grustack"}


def combination(name, layers, bidirectional):
    """Stacked and reversed at once settles what the book says of either."""
    settled = [pytest.mark.ledger(STACKS.get(name, "B-7.3-combo"))] if layers == 2 and bidirectional else []
    directions = "both directions" if bidirectional else "forwards"
    return pytest.param(KINDS[name], layers, bidirectional, marks=settled, id=f"{name}, {layers} deep, {directions}")


@pytest.mark.parametrize(
    ("kind", "layers", "bidirectional"),
    [combination(name, layers, both) for name in KINDS for layers in (1, 2) for both in (False, True)],
)
@settings(max_examples=12)
@given(rng=generators(), starts=offsets(low=1, high=5), p=sizes(1, 3), m=sizes(1, 3), initial=st.booleans())
def test_values_and_gradients(kind, layers, bidirectional, rng, starts, p, m, initial):
    module = kind.build(p, m, layers, bidirectional)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.tensor(rng.standard_normal(tuple(parameter.shape))))
    count = layers * (2 if bidirectional else 1)
    states = [rng.standard_normal((count, len(starts) - 1, m)) for _ in range(kind.states)] if initial else None
    assert_parity(kind, module, rng.standard_normal((starts[-1], p)), states, starts)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_blocks_of_both_libraries_are_mapped_there_and_back(kind):
    rows = np.arange(1.0, 1 + 2 * len(kind.order))[:, None]
    np.testing.assert_array_equal(kind.theirs(kind.ours(rows)), rows)
