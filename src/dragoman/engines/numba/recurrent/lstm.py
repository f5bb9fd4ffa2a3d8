"""Long short-term memory: operations.recurrent.lstm."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dragoman.engines.numba.gemm.packed_weights import round_up_to_panel
from dragoman.engines.numba.gemm.recurrent_gemm import multiply_step, pack_weights
from dragoman.engines.numba.jit import inlined, kernel
from dragoman.engines.numba.kernels.activations import logistic, tanh
from dragoman.engines.numba.recurrent.time_steps import (
    TimeSteps,
    add,
    clear,
    copy,
    flows_back,
    gather_states,
    scatter_states,
    sort_by_length,
)
from dragoman.engines.numba.threads.spin_gate import acquire, release
from dragoman.graph import Array


class LSTMState(NamedTuple):
    """Hidden and cell states, or their deltas; empty if there are none.

    Python passes plain tuples, which numba recognizes faster.
    """

    h: Array
    c: Array


@kernel
def forward(
    gemms: Any,
    x: Any,
    weights: Any,
    initial: Any,
    steps: Any,
    states: Any,
    final: Any,
    gates: Any,
) -> None:
    """gates [N, 4 m] after their activations are saved for the backward pass"""
    release()
    start, rows, end = LSTMState(*initial), LSTMState(*states), LSTMState(*final)
    m, columns = weights.shape
    time_steps = TimeSteps(*steps)
    order, first, counts, direction = sort_by_length(time_steps)
    packed = pack_weights(gemms, weights, 0, columns, False)
    state, cell = gather_states(start.h, order, m), gather_states(start.c, order, m)
    sums = np.zeros((counts[0], round_up_to_panel(columns)), x.dtype)
    for t in range(counts.shape[0] - 1):
        if t > 0 or start.h.size > 0:
            multiply_step(gemms, state, counts[t], packed, weights, 0, columns, False, sums)
        for i in range(counts[t]):
            row = first[i] + direction * t
            _gates(x[row], sums[i], gates[row])
            _update_cell(gates[row], cell[i], rows.c[row])
            _output(gates[row], cell[i], state[i], rows.h[row])
    scatter_states(state, order, end.h)
    scatter_states(cell, order, end.c)
    acquire()


@inlined
def _gates(x: Any, sums: Any, gates: Any) -> None:
    """Gates and new cell of one row; loops with more arrays would not be vectorized"""
    m = gates.shape[0] // 4
    for j in range(3 * m):
        gates[j] = logistic(x[j] + sums[j])
    for j in range(3 * m, 4 * m):
        gates[j] = tanh(x[j] + sums[j])


@inlined
def _update_cell(gates: Any, cell: Any, c: Any) -> None:
    """c = f c + i new"""
    m = cell.shape[0]
    forget_gate, input_gate, new = gates[:m], gates[m : 2 * m], gates[3 * m :]
    for j in range(m):
        memory = forget_gate[j] * cell[j] + input_gate[j] * new[j]
        cell[j] = memory
        c[j] = memory


@inlined
def _output(gates: Any, cell: Any, state: Any, h: Any) -> None:
    """h = o tanh(c)"""
    m = cell.shape[0]
    output_gate = gates[2 * m : 3 * m]
    for j in range(m):
        shown = output_gate[j] * tanh(cell[j])
        state[j] = shown
        h[j] = shown


@kernel
def backward(
    gemms: Any,
    weights: Any,
    initial: Any,
    steps: Any,
    c: Any,
    gates: Any,
    dstates: Any,
    dfinal: Any,
    dinitial: Any,
) -> None:
    """dx overwrites the gates"""
    release()
    start, drows, dend, dstart = LSTMState(*initial), LSTMState(*dstates), LSTMState(*dfinal), LSTMState(*dinitial)
    m, columns = weights.shape
    time_steps = TimeSteps(*steps)
    order, first, counts, direction = sort_by_length(time_steps)
    packed = pack_weights(gemms, weights, 0, columns, True)
    cell = gather_states(start.c, order, m)
    passed, kept = gather_states(dend.h, order, round_up_to_panel(m)), gather_states(dend.c, order, m)
    dsums = np.empty((counts[0], columns), gates.dtype)
    for t in range(counts.shape[0] - 2, -1, -1):
        for i in range(counts[t]):
            row = first[i] + direction * t
            if drows.h.size > 0:
                add(drows.h[row], passed[i], m)
            if drows.c.size > 0:
                add(drows.c[row], kept[i], m)
            _differentiate(passed[i], kept[i], c[row], c[row - direction] if t > 0 else cell[i], gates[row])
            copy(gates[row], dsums[i], columns)
        if not flows_back(t, time_steps):
            clear(passed, counts[t])
            clear(kept, counts[t])
        elif t > 0 or start.h.size > 0:
            multiply_step(gemms, dsums, counts[t], packed, weights, 0, columns, True, passed)
    scatter_states(passed, order, dstart.h)
    scatter_states(kept, order, dstart.c)
    acquire()


@inlined
def _differentiate(zeta: Any, xi: Any, c: Any, before: Any, gates: Any) -> None:
    """One row, given the deltas zeta of h and xi of c; xi becomes the delta of the previous cell"""
    m, one = c.shape[0], c.dtype.type(1)
    forget_gate, input_gate, output_gate, new = gates[:m], gates[m : 2 * m], gates[2 * m : 3 * m], gates[3 * m :]
    for j in range(m):
        o, s = output_gate[j], tanh(c[j])
        xi[j] += zeta[j] * o * (one - s * s)
        output_gate[j] = zeta[j] * s * o * (one - o)
    for j in range(m):
        f, i, n, d = forget_gate[j], input_gate[j], new[j], xi[j]
        forget_gate[j] = d * before[j] * f * (one - f)
        input_gate[j] = d * n * i * (one - i)
        new[j] = d * i * (one - n * n)
        xi[j] = d * f
