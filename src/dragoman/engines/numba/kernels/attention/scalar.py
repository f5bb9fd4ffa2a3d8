"""Attention on packed rows for any head width and precision, one sentence and head at a time.

Only the scores of one query are held. The weights are not stored: the backward pass recomputes them from the
log-sum-exp of each row. W is the width of a head. Queries, keys and values are columns of wider matrices, as one
product of their weights leaves them; the values of a row begin d columns after its keys.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.engines.numba.jit import device_function, kernel
from dragoman.engines.numba.kernels.attention.arguments import AttentionSpec, Columns, is_long
from dragoman.engines.numba.kernels.attention.simd import bias_column
from dragoman.engines.numba.simd.elementwise import exponential, maximum
from dragoman.engines.numba.threads.spin_gate import acquire, release

SINGLE = 4  # bytes


@device_function
def transpose_head(x: Any, first: Any, rows: Any, column: Any, W: Any, xt: Any) -> None:
    for j in range(rows):
        row = x[first + j, column : column + W]
        for c in range(W):
            xt[c, j] = row[c]


@kernel
def forward(W: Any, queries: Columns, keys_values: Columns, spec: AttentionSpec, out: Any, lse: Any, work: Any) -> None:
    release()
    q, q0, _ = queries
    kv, k0, _ = keys_values
    offsets, memory_offsets, heads, causal, scale, bias = spec
    v0 = k0 + heads * W
    zero = q.dtype.type(0)
    relative = bias.shape[0] > 0
    reach = (bias.shape[1] - 1) // 2
    kt, scores, accumulated = work[:W], work[W], np.empty(W, q.dtype)
    for s in range(offsets.shape[0] - 1):
        first, rows = offsets[s], offsets[s + 1] - offsets[s]
        m0, keys = memory_offsets[s], memory_offsets[s + 1] - memory_offsets[s]
        for r in range(0 if q.itemsize == SINGLE and is_long(rows, keys) else heads):
            transpose_head(kv, m0, keys, k0 + r * W, W, kt)
            for i in range(rows):
                limit = min(i + 1, keys) if causal else keys
                qrow = q[first + i, q0 + r * W : q0 + (r + 1) * W]
                orow = out[first + i, r * W : (r + 1) * W]
                row = scores[:limit]
                for j in range(limit):
                    row[j] = zero
                for c in range(W):
                    factor, keyed = qrow[c] * scale, kt[c]
                    for j in range(limit):
                        row[j] += factor * keyed[j]
                if relative:
                    for j in range(limit):
                        row[j] += bias[r, bias_column(j, i, reach)]
                top = q.dtype.type(-math.inf)
                for j in range(limit):
                    top = maximum(top, row[j])
                total = zero
                for j in range(limit):
                    e = exponential(row[j] - top)
                    row[j] = e
                    total += e
                for c in range(W):
                    accumulated[c] = zero
                for j in range(limit):
                    p, vrow = row[j], kv[m0 + j, v0 + r * W : v0 + (r + 1) * W]
                    for c in range(W):
                        accumulated[c] += p * vrow[c]
                inverse = q.dtype.type(1) / total if limit else zero
                for c in range(W):
                    orow[c] = accumulated[c] * inverse
                lse[first + i, r] = top + q.dtype.type(math.log(total)) if limit else zero
    acquire()


@kernel
def backward(
    W: Any,
    queries: Columns,
    keys_values: Columns,
    spec: AttentionSpec,
    out: Any,
    lse: Any,
    dout: Any,
    dq: Any,
    dkv: Any,
    dbias: Any,
    work: Any,
) -> None:
    """(4.3.22), (4.3.25), (4.3.26); sum_j w_ij dw_ij = dout_i . out_i, so one pass over the keys is enough"""
    release()
    q, q0, _ = queries
    kv, k0, _ = keys_values
    offsets, memory_offsets, heads, causal, scale, bias = spec
    v0 = k0 + heads * W
    zero = q.dtype.type(0)
    relative = bias.shape[0] > 0
    reach = (bias.shape[1] - 1) // 2
    kt, vt, weights, dweights = work[:W], work[W : 2 * W], work[2 * W], work[2 * W + 1]
    accumulated = np.empty(W, q.dtype)
    for s in range(offsets.shape[0] - 1):
        first, rows = offsets[s], offsets[s + 1] - offsets[s]
        m0, keys = memory_offsets[s], memory_offsets[s + 1] - memory_offsets[s]
        for r in range(0 if q.itemsize == SINGLE and is_long(rows, keys) else heads):
            transpose_head(kv, m0, keys, k0 + r * W, W, kt)
            transpose_head(kv, m0, keys, v0 + r * W, W, vt)
            for j in range(keys):
                dkrow = dkv[m0 + j, k0 + r * W : k0 + (r + 1) * W]
                dvrow = dkv[m0 + j, v0 + r * W : v0 + (r + 1) * W]
                for c in range(W):
                    dkrow[c] = zero
                    dvrow[c] = zero
            for i in range(rows):
                limit = min(i + 1, keys) if causal else keys
                qrow = q[first + i, q0 + r * W : q0 + (r + 1) * W]
                orow = out[first + i, r * W : (r + 1) * W]
                drow = dout[first + i, r * W : (r + 1) * W]
                row, drow_weights = weights[:limit], dweights[:limit]
                start = -lse[first + i, r]
                mean = zero
                for c in range(W):
                    mean += drow[c] * orow[c]
                for j in range(limit):
                    row[j] = start
                    drow_weights[j] = -mean
                for c in range(W):
                    factor, keyed = qrow[c] * scale, kt[c]
                    delta, valued = drow[c], vt[c]
                    for j in range(limit):
                        row[j] += factor * keyed[j]
                        drow_weights[j] += delta * valued[j]
                if relative:
                    for j in range(limit):
                        row[j] += bias[r, bias_column(j, i, reach)]
                for j in range(limit):
                    p = exponential(row[j])
                    row[j] = p
                    drow_weights[j] *= p
                if relative:
                    for j in range(limit):
                        dbias[r, bias_column(j, i, reach)] += drow_weights[j]
                for c in range(W):
                    accumulated[c] = zero
                for j in range(limit):
                    p, ds = row[j], drow_weights[j] * scale
                    krow = kv[m0 + j, k0 + r * W : k0 + (r + 1) * W]
                    dkrow = dkv[m0 + j, k0 + r * W : k0 + (r + 1) * W]
                    dvrow = dkv[m0 + j, v0 + r * W : v0 + (r + 1) * W]
                    for c in range(W):
                        dvrow[c] += p * drow[c]
                    for c in range(W):
                        dkrow[c] += ds * qrow[c]
                    for c in range(W):
                        accumulated[c] += ds * krow[c]
                dqrow = dq[first + i, q0 + r * W : q0 + (r + 1) * W]
                for c in range(W):
                    dqrow[c] = accumulated[c]
    acquire()


NO_BIAS = {np.dtype(t): np.zeros((0, 1), t) for t in (np.float32, np.float64)}
