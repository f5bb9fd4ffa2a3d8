"""A recurrence that attends to other rows before every step (book, (7.22))."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.graph import Array, Value, value_of
from dragoman.layers.layer import ForwardContext, Layer
from dragoman.layers.recurrent import Recurrent, State
from dragoman.layers.scores import Keys, ScoredAttention
from dragoman.operations import add, concatenate_columns, join_rows, linear, split_rows, take_rows


class AttentionalDecoder(Layer):
    """s<t> = f(s<t-1>, y<t-1>, u<t>), u<t> attended with z_q = s<t-1>, the state of the last layer.

    The first layer reads [y, u]. What its inputs y contribute is computed for all rows at once; the rest step by step,
    for u depends on the state before. No dropout acts between its layers.
    """

    def __init__(self, cells: Recurrent, attention: ScoredAttention) -> None:
        self.cells = cells
        self.attention = attention

    def __call__(self, y: Value, offsets: Array, attended: Keys, states: Sequence[State], run: ForwardContext) -> Value:
        """y [N, p] -> s [N, m] of the last layer, beginning with `states` of each layer"""
        lengths = np.diff(offsets)
        going_on = lengths > np.arange(lengths.max(initial=0))[:, None]  # [T, B]
        rows = [offsets[:-1][on] + t for t, on in enumerate(going_on)]
        of_y, of_u = self._parts_of_inputs(value_of(y).shape[1])
        read = split_rows(linear(y, of_y, self.cells.forward[0].biases), rows=rows)
        s: list[Value] = []
        maps: list[Array] = []
        for t, on in enumerate(going_on):
            if t and not np.array_equal(on, going_on[t - 1]):
                left = np.flatnonzero(on[going_on[t - 1]])
                states = [tuple(take_rows(part, rows=left) for part in state) for state in states]
            z, ends = states[-1][0], np.concatenate(([0], np.cumsum(on)))
            if run.maps is not None:
                maps.append(self.attention.alpha(z, attended, ends))
            states = self.cells.step(add(read[t], linear(self.attention(z, attended, ends), of_u)), states, ready=True)
            s.append(states[-1][0])
        if run.maps is not None:
            run.maps.append(np.concatenate(maps, axis=1)[:, None])
        return join_rows(*s, rows=rows)

    def _parts_of_inputs(self, depth: int) -> tuple[Value, Value]:
        """The rows of the first layer's weights that belong to y, and those that belong to u."""
        weights = self.cells.forward[0].weights
        of_y, of_u = split_rows(weights, rows=np.split(np.arange(len(value_of(weights))), [depth]))
        return of_y, of_u

    def step(self, y: Value, attended: Keys, origins: Array, states: Sequence[State]) -> list[State]:
        """Take one step of B rows, y [B, p]; row b attends to sequence origins[b]. Decoding only, not recorded."""
        order = np.argsort(origins, kind="stable")  # the rows of one sequence are its queries
        counts = np.bincount(origins, minlength=len(attended.offsets) - 1)
        z = value_of(states[-1][0])
        u = np.empty_like(z)
        u[order] = value_of(self.attention(z[order], attended, np.concatenate(([0], np.cumsum(counts)))))
        return self.cells.step(concatenate_columns(y, u), states)
