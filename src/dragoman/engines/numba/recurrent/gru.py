"""The gated recurrent unit: operations.recurrent.gru.

`after` says whether the gate resets after the product with the weights of the new state (there are biases) or before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import kernel, part
from dragoman.engines.numba.panels import widened
from dragoman.engines.numba.recurrent.curves import logistic, tanh
from dragoman.engines.numba.recurrent.products import lay_out, multiply
from dragoman.engines.numba.recurrent.steps import add, arranged, clear, copy, heard, ordered, restored
from dragoman.engines.numba.rows import sum_rows


@kernel
def forward(
    products: Any,
    x: Any,
    weights: Any,
    initial: Any,
    biases: Any,
    offsets: Any,
    reverse: Any,
    h: Any,
    final: Any,
    gates: Any,
    reached: Any,
) -> None:
    """gates [N, 3 m] after their curves, with the new state, and reached [N, m] are kept for the way back"""
    leave()
    m, after = weights.shape[0], biases.size > 0
    order, first, counts, by = arranged(offsets, reverse)
    of_gates, of_new = lay_out(products, weights, 0, 2 * m, False), lay_out(products, weights, 2 * m, m, False)
    state, reset = ordered(initial, order, m), np.empty((counts[0], m), x.dtype)
    sums, fresh = np.zeros((counts[0], widened(2 * m)), x.dtype), np.zeros((counts[0], widened(m)), x.dtype)
    for t in range(counts.shape[0] - 1):
        n, known = counts[t], t > 0 or initial.size > 0
        if known:
            multiply(products, state, n, of_gates, weights, 0, 2 * m, False, sums)
        for i in range(n):
            row = first[i] + by * t
            _open(x[row], sums[i], gates[row])
            if not after:
                _reset(gates[row], state[i], reached[row])
                copy(reached[row], reset[i], m)
        if known:
            multiply(products, state if after else reset, n, of_new, weights, 2 * m, m, False, fresh)
        for i in range(n):
            row = first[i] + by * t
            if after:
                _reach(fresh[i], biases, gates[row], reached[row])
            _renew(x[row], fresh[i], gates[row], state[i])
            copy(state[i], h[row], m)
    restored(state, order, final)
    enter()


@part
def _open(x: Any, sums: Any, gates: Any) -> None:
    for j in range(2 * (gates.shape[0] // 3)):
        gates[j] = logistic(x[j] + sums[j])


@part
def _reset(gates: Any, state: Any, reached: Any) -> None:
    for j in range(state.shape[0]):
        reached[j] = gates[j] * state[j]


@part
def _reach(fresh: Any, biases: Any, gates: Any, reached: Any) -> None:
    for j in range(biases.shape[0]):
        reached[j] = fresh[j] + biases[j]
        fresh[j] = gates[j] * reached[j]


@part
def _renew(x: Any, fresh: Any, gates: Any, state: Any) -> None:
    """h = (1 - u) h + u new"""
    m, one = state.shape[0], state.dtype.type(1)
    update, new, of_new = gates[m : 2 * m], gates[2 * m :], x[2 * m :]
    for j in range(m):
        new[j] = tanh(of_new[j] + fresh[j])
    for j in range(m):
        state[j] = (one - update[j]) * state[j] + update[j] * new[j]


@kernel
def backward(
    products: Any,
    weights: Any,
    initial: Any,
    biases: Any,
    offsets: Any,
    reverse: Any,
    cut: Any,
    h: Any,
    gates: Any,
    reached: Any,
    dh: Any,
    dfinal: Any,
    dinitial: Any,
    dbiases: Any,
) -> None:
    """dx is written over the gates, with biases dreached over reached; dh, dfinal of no size: there is none

    What is passed back to a state comes in two parts: `passed` through the gates' product, `kept` otherwise.
    """
    leave()
    m, after = weights.shape[0], biases.size > 0
    order, first, counts, by = arranged(offsets, reverse)
    of_gates, of_new = lay_out(products, weights, 0, 2 * m, True), lay_out(products, weights, 2 * m, m, True)
    start, kept = ordered(initial, order, m), ordered(dfinal, order, m)
    passed, fresh = np.zeros((order.shape[0], widened(m)), h.dtype), np.zeros((counts[0], widened(m)), h.dtype)
    dgates, dnew = np.empty((counts[0], 2 * m), h.dtype), np.empty((counts[0], m), h.dtype)
    for t in range(counts.shape[0] - 2, -1, -1):
        n, known = counts[t], t > 0 or initial.size > 0
        for i in range(n):
            row = first[i] + by * t
            add(passed[i], kept[i], m)
            if dh.size > 0:
                add(dh[row], kept[i], m)
            _differentiate(kept[i], h[row - by] if t > 0 else start[i], gates[row])
            if after:
                _differentiate_reached(gates[row], reached[row])
            copy(reached[row] if after else gates[row, 2 * m :], dnew[i], m)
        if known:
            multiply(products, dnew, n, of_new, weights, 2 * m, m, True, fresh)
        for i in range(n):
            row = first[i] + by * t
            if not after:
                _differentiate_reset(fresh[i], h[row - by] if t > 0 else start[i], gates[row])
            add(fresh[i], kept[i], m)
            copy(gates[row], dgates[i], 2 * m)
        if not heard(t, cut):
            clear(passed, n)
            clear(kept, n)
        elif known:
            multiply(products, dgates, n, of_gates, weights, 0, 2 * m, True, passed)
    if dinitial.size > 0:
        for i in range(order.shape[0]):
            add(passed[i], kept[i], m)
    restored(kept, order, dinitial)
    if after:
        sum_rows(reached, dbiases)
    enter()


@part
def _differentiate(zeta: Any, old: Any, gates: Any) -> None:
    """du and dnew of one row from the adjoint of h, of which the share of the state before is left"""
    m, one = old.shape[0], old.dtype.type(1)
    update, new = gates[m : 2 * m], gates[2 * m :]
    for j in range(m):
        u, n, z = update[j], new[j], zeta[j]
        update[j] = z * (n - old[j]) * u * (one - u)
        new[j] = z * u * (one - n * n)
        zeta[j] = z * (one - u)


@part
def _differentiate_reached(gates: Any, reached: Any) -> None:
    """dreached over reached and dr over r, where the gate resets after the product"""
    m, one = reached.shape[0], reached.dtype.type(1)
    reset, new = gates[:m], gates[2 * m :]
    for j in range(m):
        r, d = reset[j], new[j]
        reset[j] = d * reached[j] * r * (one - r)
        reached[j] = d * r


@part
def _differentiate_reset(fresh: Any, old: Any, gates: Any) -> None:
    """dr over r and what is passed to the state before over dreached, where the gate resets before the product"""
    one = old.dtype.type(1)
    for j in range(old.shape[0]):
        r, d = gates[j], fresh[j]
        gates[j] = d * old[j] * r * (one - r)
        fresh[j] = d * r
