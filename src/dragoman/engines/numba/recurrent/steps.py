"""Packed sequences in the order of time, as operations.recurrent.Steps has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import kernel, part


@part
def arranged(offsets: Any, reverse: Any) -> Any:
    """order [B] longest first; first [B] the rows of the first step; counts [T + 1] going on at each step; 1 or -1

    At step t, the i-th of the counts[t] sequences stands at the row first[i] + t, or - t.
    """
    samples, longest = offsets.shape[0] - 1, 0
    for s in range(samples):
        longest = max(longest, offsets[s + 1] - offsets[s])
    counts = np.zeros(longest + 1, np.int64)
    for s in range(samples):
        counts[offsets[s + 1] - offsets[s]] += 1
    longer = 0
    for t in range(longest, -1, -1):
        equal = counts[t]
        counts[t] = longer
        longer += equal
    order, first, place = np.empty(samples, np.int64), np.empty(samples, np.int64), counts.copy()
    for s in range(samples):
        length = offsets[s + 1] - offsets[s]
        i = place[length]
        place[length] += 1
        order[i], first[i] = s, offsets[s + 1] - 1 if reverse else offsets[s]
    return order, first, counts, -1 if reverse else 1


@part
def heard(t: Any, cut: Any) -> Any:
    """Whether the step before hears of step t; cut 0: always"""
    return cut == 0 or t == 0 or t % cut != 0


@part
def ordered(state: Any, order: Any, width: Any) -> Any:
    """[B, width] a state of each sequence, longest first; 0 where none is given"""
    found = np.zeros((order.shape[0], width), state.dtype)
    if state.size > 0:
        for i in range(order.shape[0]):
            copy(state[order[i]], found[i], state.shape[1])
    return found


@part
def restored(state: Any, order: Any, out: Any) -> None:
    """In the order in which the sequences were given"""
    if out.size > 0:
        for i in range(order.shape[0]):
            copy(state[i], out[order[i]], out.shape[1])


@part
def copy(a: Any, out: Any, count: Any) -> None:
    for j in range(count):
        out[j] = a[j]


@part
def add(a: Any, out: Any, count: Any) -> None:
    for j in range(count):
        out[j] += a[j]


@part
def clear(rows: Any, count: Any) -> None:
    """The first rows are 0"""
    for i in range(count):
        row = rows[i]
        for j in range(row.shape[0]):
            row[j] = 0


@kernel
def states_before(h: Any, initial: Any, offsets: Any, reverse: Any) -> Any:
    """[N, m] the state before each row"""
    leave()
    before, m, by = np.empty_like(h), h.shape[1], -1 if reverse else 1
    for s in range(offsets.shape[0] - 1):
        first = offsets[s + 1] - 1 if reverse else offsets[s]
        for row in range(offsets[s], offsets[s + 1]):
            if row != first:
                copy(h[row - by], before[row], m)
            elif initial.size > 0:
                copy(initial[s], before[row], m)
            else:
                clear(before[row : row + 1], 1)
    enter()
    return before
