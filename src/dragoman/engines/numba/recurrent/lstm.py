"""Long short-term memory: operations.recurrent.lstm."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import kernel, part
from dragoman.engines.numba.panels import widened
from dragoman.engines.numba.recurrent.curves import logistic, tanh
from dragoman.engines.numba.recurrent.products import lay_out, multiply
from dragoman.engines.numba.recurrent.steps import add, arranged, clear, copy, heard, ordered, restored


@kernel
def forward(
    products: Any,
    x: Any,
    weights: Any,
    initial: Any,
    initial_cell: Any,
    offsets: Any,
    reverse: Any,
    h: Any,
    c: Any,
    final: Any,
    final_cell: Any,
    gates: Any,
) -> None:
    """gates [N, 4 m] after their curves are kept for the way back"""
    leave()
    m, columns = weights.shape
    order, first, counts, by = arranged(offsets, reverse)
    panels = lay_out(products, weights, 0, columns, False)
    state, cell = ordered(initial, order, m), ordered(initial_cell, order, m)
    sums = np.zeros((counts[0], widened(columns)), x.dtype)
    for t in range(counts.shape[0] - 1):
        if t > 0 or initial.size > 0:
            multiply(products, state, counts[t], panels, weights, 0, columns, False, sums)
        for i in range(counts[t]):
            row = first[i] + by * t
            _open(x[row], sums[i], gates[row])
            _remember(gates[row], cell[i], c[row])
            _show(gates[row], cell[i], state[i], h[row])
    restored(state, order, final)
    restored(cell, order, final_cell)
    enter()


@part
def _open(x: Any, sums: Any, gates: Any) -> None:
    """Gates and new memory of one row; few arrays in a loop, or the compiler leaves it as it is"""
    m = gates.shape[0] // 4
    for j in range(3 * m):
        gates[j] = logistic(x[j] + sums[j])
    for j in range(3 * m, 4 * m):
        gates[j] = tanh(x[j] + sums[j])


@part
def _remember(gates: Any, cell: Any, c: Any) -> None:
    """c = f c + i new"""
    m = cell.shape[0]
    forget, take, new = gates[:m], gates[m : 2 * m], gates[3 * m :]
    for j in range(m):
        memory = forget[j] * cell[j] + take[j] * new[j]
        cell[j] = memory
        c[j] = memory


@part
def _show(gates: Any, cell: Any, state: Any, h: Any) -> None:
    """h = o tanh(c)"""
    m = cell.shape[0]
    give = gates[2 * m : 3 * m]
    for j in range(m):
        shown = give[j] * tanh(cell[j])
        state[j] = shown
        h[j] = shown


@kernel
def backward(
    products: Any,
    weights: Any,
    initial: Any,
    initial_cell: Any,
    offsets: Any,
    reverse: Any,
    cut: Any,
    c: Any,
    gates: Any,
    dh: Any,
    dc: Any,
    dfinal: Any,
    dfinal_cell: Any,
    dinitial: Any,
    dinitial_cell: Any,
) -> None:
    """dx is written over the gates; dh, dc ... of no size: there is none"""
    leave()
    m, columns = weights.shape
    order, first, counts, by = arranged(offsets, reverse)
    panels = lay_out(products, weights, 0, columns, True)
    cell = ordered(initial_cell, order, m)
    passed, kept = ordered(dfinal, order, widened(m)), ordered(dfinal_cell, order, m)
    dsums = np.empty((counts[0], columns), gates.dtype)
    for t in range(counts.shape[0] - 2, -1, -1):
        for i in range(counts[t]):
            row = first[i] + by * t
            if dh.size > 0:
                add(dh[row], passed[i], m)
            if dc.size > 0:
                add(dc[row], kept[i], m)
            _differentiate(passed[i], kept[i], c[row], c[row - by] if t > 0 else cell[i], gates[row])
            copy(gates[row], dsums[i], columns)
        if not heard(t, cut):
            clear(passed, counts[t])
            clear(kept, counts[t])
        elif t > 0 or initial.size > 0:
            multiply(products, dsums, counts[t], panels, weights, 0, columns, True, passed)
    restored(passed, order, dinitial)
    restored(kept, order, dinitial_cell)
    enter()


@part
def _differentiate(zeta: Any, xi: Any, c: Any, before: Any, gates: Any) -> None:
    """One row, from the adjoints zeta of h and xi of c; what comes through h is added to xi, and passed on there"""
    m, one = c.shape[0], c.dtype.type(1)
    forget, take, give, new = gates[:m], gates[m : 2 * m], gates[2 * m : 3 * m], gates[3 * m :]
    for j in range(m):
        o, s = give[j], tanh(c[j])
        xi[j] += zeta[j] * o * (one - s * s)
        give[j] = zeta[j] * s * o * (one - o)
    for j in range(m):
        f, i, n, d = forget[j], take[j], new[j], xi[j]
        forget[j] = d * before[j] * f * (one - f)
        take[j] = d * n * i * (one - i)
        new[j] = d * i * (one - n * n)
        xi[j] = d * f
