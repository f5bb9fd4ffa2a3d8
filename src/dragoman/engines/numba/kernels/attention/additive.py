"""Attention with the additive score, one sentence and query at a time; the backward pass recomputes tanh."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.jit import inlined, kernel
from dragoman.engines.numba.simd.elementwise import exponential
from dragoman.engines.numba.threads.spin_gate import acquire, release


@inlined
def _tanh(x: Any, one: Any, two: Any) -> Any:
    """1 - 2 / (1 + e^2x); one, two: in the precision of x"""
    return one - two / (one + exponential(two * x))


@kernel
def forward(inputs: Any, offsets: Any, memory_offsets: Any, y: Any, weights: Any) -> None:
    """inputs: queries, keys, score weights and values   weights: the attention weights of all queries, concatenated"""
    release()
    q, k, w, v = inputs
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
                    score += w[c] * _tanh(qrow[c] + krow[c], one, two)
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
    acquire()


@kernel
def backward(
    inputs: Any,
    offsets: Any,
    memory_offsets: Any,
    y: Any,
    weights: Any,
    dy: Any,
    derivatives: Any,
) -> None:
    """derivatives: of the inputs, starting at 0; sum_j p_j dp_j = dy . y"""
    release()
    q, k, w, v = inputs
    dq, dk, dw, dv = derivatives
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
                    bent = _tanh(qrow[c] + krow[c], one, two)
                    dsum = ds * w[c] * (one - bent * bent)
                    dw[c] += ds * bent
                    dqrow[c] += dsum
                    dkrow[c] += dsum
    acquire()
