"""The gated recurrent unit: operations.recurrent.gru.

reset_after: the reset gate acts after the product with the weights of the new state (then there are biases), not
before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.gemm.packed_weights import round_up_to_panel
from dragoman.engines.numba.gemm.recurrent_gemm import multiply_step, pack_weights
from dragoman.engines.numba.jit import inlined, kernel
from dragoman.engines.numba.kernels.activations import logistic, tanh
from dragoman.engines.numba.kernels.row_kernels import sum_rows
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


@kernel
def forward(gemms: Any, x: Any, weights: Any, initial: Any, biases: Any, steps: Any, final: Any, saved: Any) -> None:
    """saved: h, gates and new state [N, 3 m] after their activations, reset_state [N, m], for the backward pass"""
    release()
    h, gates, reset_state = saved
    m, reset_after = weights.shape[0], biases.size > 0
    time_steps = TimeSteps(*steps)
    order, first, counts, direction = sort_by_length(time_steps)
    of_gates, of_new = pack_weights(gemms, weights, 0, 2 * m, False), pack_weights(gemms, weights, 2 * m, m, False)
    state, reset = gather_states(initial, order, m), np.empty((counts[0], m), x.dtype)
    sums = np.zeros((counts[0], round_up_to_panel(2 * m)), x.dtype)
    fresh = np.zeros((counts[0], round_up_to_panel(m)), x.dtype)
    for t in range(counts.shape[0] - 1):
        n, has_state = counts[t], t > 0 or initial.size > 0
        if has_state:
            multiply_step(gemms, state, n, of_gates, weights, 0, 2 * m, False, sums)
        for i in range(n):
            row = first[i] + direction * t
            _gates(x[row], sums[i], gates[row])
            if not reset_after:
                _reset_state(gates[row], state[i], reset_state[row])
                copy(reset_state[row], reset[i], m)
        if has_state:
            multiply_step(gemms, state if reset_after else reset, n, of_new, weights, 2 * m, m, False, fresh)
        for i in range(n):
            row = first[i] + direction * t
            if reset_after:
                _reset_product(fresh[i], biases, gates[row], reset_state[row])
            _update_state(x[row], fresh[i], gates[row], state[i])
            copy(state[i], h[row], m)
    scatter_states(state, order, final)
    acquire()


@inlined
def _gates(x: Any, sums: Any, gates: Any) -> None:
    for j in range(2 * (gates.shape[0] // 3)):
        gates[j] = logistic(x[j] + sums[j])


@inlined
def _reset_state(gates: Any, state: Any, reset_state: Any) -> None:
    for j in range(state.shape[0]):
        reset_state[j] = gates[j] * state[j]


@inlined
def _reset_product(fresh: Any, biases: Any, gates: Any, reset_state: Any) -> None:
    for j in range(biases.shape[0]):
        reset_state[j] = fresh[j] + biases[j]
        fresh[j] = gates[j] * reset_state[j]


@inlined
def _update_state(x: Any, fresh: Any, gates: Any, state: Any) -> None:
    """h = (1 - u) h + u new"""
    m, one = state.shape[0], state.dtype.type(1)
    update, new, of_new = gates[m : 2 * m], gates[2 * m :], x[2 * m :]
    for j in range(m):
        new[j] = tanh(of_new[j] + fresh[j])
    for j in range(m):
        state[j] = (one - update[j]) * state[j] + update[j] * new[j]


@kernel
def backward(
    gemms: Any,
    weights: Any,
    initial: Any,
    biases: Any,
    steps: Any,
    saved: Any,
    dh: Any,
    dfinal: Any,
    dinitial: Any,
    dbiases: Any,
) -> None:
    """dx overwrites the gates; with biases, the delta of reset_state overwrites it; dh, dfinal: empty if none

    The delta of a state has two parts: `passed` comes through the gates' product, `kept` is the rest.
    """
    release()
    h, gates, reset_state = saved
    m, reset_after = weights.shape[0], biases.size > 0
    time_steps = TimeSteps(*steps)
    order, first, counts, direction = sort_by_length(time_steps)
    of_gates, of_new = pack_weights(gemms, weights, 0, 2 * m, True), pack_weights(gemms, weights, 2 * m, m, True)
    start, kept = gather_states(initial, order, m), gather_states(dfinal, order, m)
    passed = np.zeros((order.shape[0], round_up_to_panel(m)), h.dtype)
    fresh = np.zeros((counts[0], round_up_to_panel(m)), h.dtype)
    dgates, dnew = np.empty((counts[0], 2 * m), h.dtype), np.empty((counts[0], m), h.dtype)
    for t in range(counts.shape[0] - 2, -1, -1):
        n, has_state = counts[t], t > 0 or initial.size > 0
        for i in range(n):
            row = first[i] + direction * t
            add(passed[i], kept[i], m)
            if dh.size > 0:
                add(dh[row], kept[i], m)
            _update_state_backward(kept[i], h[row - direction] if t > 0 else start[i], gates[row])
            if reset_after:
                _reset_product_backward(gates[row], reset_state[row])
            copy(reset_state[row] if reset_after else gates[row, 2 * m :], dnew[i], m)
        if has_state:
            multiply_step(gemms, dnew, n, of_new, weights, 2 * m, m, True, fresh)
        for i in range(n):
            row = first[i] + direction * t
            if not reset_after:
                _reset_state_backward(fresh[i], h[row - direction] if t > 0 else start[i], gates[row])
            add(fresh[i], kept[i], m)
            copy(gates[row], dgates[i], 2 * m)
        if not flows_back(t, time_steps):
            clear(passed, n)
            clear(kept, n)
        elif has_state:
            multiply_step(gemms, dgates, n, of_gates, weights, 0, 2 * m, True, passed)
    if dinitial.size > 0:
        for i in range(order.shape[0]):
            add(passed[i], kept[i], m)
    scatter_states(kept, order, dinitial)
    if reset_after:
        sum_rows(reset_state, dbiases)
    acquire()


@inlined
def _update_state_backward(zeta: Any, old: Any, gates: Any) -> None:
    """Deltas of update gate and new state of one row, given the delta zeta of h, which becomes (1 - u) zeta"""
    m, one = old.shape[0], old.dtype.type(1)
    update, new = gates[m : 2 * m], gates[2 * m :]
    for j in range(m):
        u, n, z = update[j], new[j], zeta[j]
        update[j] = z * (n - old[j]) * u * (one - u)
        new[j] = z * u * (one - n * n)
        zeta[j] = z * (one - u)


@inlined
def _reset_product_backward(gates: Any, reset_state: Any) -> None:
    """The deltas of product and reset gate overwrite them, if the gate resets after the product"""
    m, one = reset_state.shape[0], reset_state.dtype.type(1)
    reset, new = gates[:m], gates[2 * m :]
    for j in range(m):
        r, d = reset[j], new[j]
        reset[j] = d * reset_state[j] * r * (one - r)
        reset_state[j] = d * r


@inlined
def _reset_state_backward(fresh: Any, old: Any, gates: Any) -> None:
    """The deltas of reset gate and previous state overwrite gates and fresh, if the gate resets before the product"""
    one = old.dtype.type(1)
    for j in range(old.shape[0]):
        r, d = gates[j], fresh[j]
        gates[j] = d * old[j] * r * (one - r)
        fresh[j] = d * r
