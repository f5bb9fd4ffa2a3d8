"""Packed sequences in time order, as operations.recurrent.Steps has them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dragoman.engines.numba.jit import device_function, kernel
from dragoman.engines.numba.threads.spin_gate import acquire, release
from dragoman.graph import Array


class TimeSteps(NamedTuple):
    """Packed sequences, whether they run in reverse, and after how many steps the gradient is cut (0: never).

    Python passes a plain tuple, which numba recognizes faster.
    """

    offsets: Array
    reverse: bool
    cut: int


@device_function
def sort_by_length(steps: TimeSteps) -> Any:
    """(order [B] longest first, first [B] rows of step 0, counts [T + 1] sequences at each step, direction 1 or -1)

    At step t, the i-th of the counts[t] sequences is at row first[i] + direction * t.
    """
    offsets, reverse = steps.offsets, steps.reverse
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


@device_function
def flows_back(t: Any, steps: TimeSteps) -> Any:
    """Whether the gradient flows from step t to t - 1"""
    return steps.cut == 0 or t == 0 or t % steps.cut != 0


@device_function
def gather_states(state: Any, order: Any, width: Any) -> Any:
    """[B, width] the states in sorted order, longest sequence first; 0 if none is given"""
    found = np.zeros((order.shape[0], width), state.dtype)
    if state.size > 0:
        for i in range(order.shape[0]):
            copy(state[order[i]], found[i], state.shape[1])
    return found


@device_function
def scatter_states(state: Any, order: Any, out: Any) -> None:
    """Write states in sorted order back to the order of the batch."""
    if out.size > 0:
        for i in range(order.shape[0]):
            copy(state[i], out[order[i]], out.shape[1])


@device_function
def copy(a: Any, out: Any, count: Any) -> None:
    for j in range(count):
        out[j] = a[j]


@device_function
def add(a: Any, out: Any, count: Any) -> None:
    for j in range(count):
        out[j] += a[j]


@device_function
def clear(rows: Any, count: Any) -> None:
    """Set the first rows to 0."""
    for i in range(count):
        row = rows[i]
        for j in range(row.shape[0]):
            row[j] = 0


@kernel
def states_before(h: Any, initial: Any, offsets: Any, reverse: Any) -> Any:
    """[N, m] the previous state of each row"""
    release()
    before, m, direction = np.empty_like(h), h.shape[1], -1 if reverse else 1
    for s in range(offsets.shape[0] - 1):
        first = offsets[s + 1] - 1 if reverse else offsets[s]
        for row in range(offsets[s], offsets[s + 1]):
            if row != first:
                copy(h[row - direction], before[row], m)
            elif initial.size > 0:
                copy(initial[s], before[row], m)
            else:
                clear(before[row : row + 1], 1)
    acquire()
    return before
