"""Attention by the additive score: one sentence and query after the other; tanh is computed again going back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman import operations
from dragoman.engines.numba.arguments import matrices, packed
from dragoman.engines.numba.arithmetic import exponential
from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import kernel
from dragoman.graph import Array


@kernel
def forward(q: Any, k: Any, w: Any, v: Any, offsets: Any, memory_offsets: Any, y: Any, weights: Any) -> None:
    """weights: those of the first query, of the second, ... one after the other"""
    leave()
    zero, one, two = q.dtype.type(0), q.dtype.type(1), q.dtype.type(2)
    place = 0
    for s in range(offsets.shape[0] - 1):
        m0, keys = memory_offsets[s], memory_offsets[s + 1] - memory_offsets[s]
        for i in range(offsets[s], offsets[s + 1]):
            qrow, out, row = q[i], y[i], weights[place : place + keys]
            place += keys
            top = q.dtype.type(-np.inf)
            for j in range(keys):
                krow, score = k[m0 + j], zero
                for c in range(w.shape[0]):
                    score += w[c] * (one - two / (one + exponential(two * (qrow[c] + krow[c]))))
                row[j] = score
                top = max(top, score)
            total = zero
            for j in range(keys):
                row[j] = exponential(row[j] - top)
                total += row[j]
            for c in range(out.shape[0]):
                out[c] = zero
            for j in range(keys):
                row[j] /= total
                p, vrow = row[j], v[m0 + j]
                for c in range(out.shape[0]):
                    out[c] += p * vrow[c]
    enter()


@kernel
def backward(
    q: Any,
    k: Any,
    w: Any,
    v: Any,
    offsets: Any,
    memory_offsets: Any,
    y: Any,
    weights: Any,
    dy: Any,
    dq: Any,
    dk: Any,
    dw: Any,
    dv: Any,
) -> None:
    """dq, dk, dw and dv are 0 at first; sum_j p_j dp_j = dy . y"""
    leave()
    zero, one, two = q.dtype.type(0), q.dtype.type(1), q.dtype.type(2)
    place = 0
    for s in range(offsets.shape[0] - 1):
        m0, keys = memory_offsets[s], memory_offsets[s + 1] - memory_offsets[s]
        for i in range(offsets[s], offsets[s + 1]):
            qrow, dqrow, drow, out = q[i], dq[i], dy[i], y[i]
            mean = zero
            for c in range(out.shape[0]):
                mean += drow[c] * out[c]
            for j in range(keys):
                p, krow, dkrow, vrow, dvrow = weights[place], k[m0 + j], dk[m0 + j], v[m0 + j], dv[m0 + j]
                place += 1
                dp = zero
                for c in range(out.shape[0]):
                    dp += drow[c] * vrow[c]
                    dvrow[c] += p * drow[c]
                ds = p * (dp - mean)
                for c in range(w.shape[0]):
                    bent = one - two / (one + exponential(two * (qrow[c] + krow[c])))
                    dsum = ds * w[c] * (one - bent * bent)
                    dw[c] += ds * bent
                    dqrow[c] += dsum
                    dkrow[c] += dsum
    enter()


@operations.attend_additive.register("numba")
def attend_additive(
    queries: Array, keys: Array, score_weights: Array, values: Array, *, offsets: Array, memory_offsets: Array
) -> Any:
    arrays = (queries, keys, score_weights, values)
    if not matrices(*arrays) or not _fits(*arrays, offsets, memory_offsets):
        return NotImplemented  # the definition says what is wrong
    ends, memory_ends = offsets.astype(np.int64, copy=False), memory_offsets.astype(np.int64, copy=False)
    y = np.empty((len(queries), values.shape[1]), queries.dtype)
    weights = np.empty(int(np.diff(ends) @ np.diff(memory_ends)), queries.dtype)
    forward(*arrays, ends, memory_ends, y, weights)

    def derivatives(dy: Array) -> tuple[Array, ...]:
        found = tuple(np.zeros_like(array) for array in arrays)
        backward(*arrays, ends, memory_ends, y, weights, np.ascontiguousarray(dy), *found)
        return found

    return y, derivatives


def _fits(q: Array, k: Array, w: Array, v: Array, offsets: Array, memory_offsets: Array) -> bool:
    if (q.ndim, k.ndim, w.ndim, v.ndim) != (2, 2, 1, 2) or not q.shape[1] == k.shape[1] == len(w) or len(k) != len(v):
        return False
    return len(offsets) == len(memory_offsets) and packed(q, offsets) and packed(k, memory_offsets)
