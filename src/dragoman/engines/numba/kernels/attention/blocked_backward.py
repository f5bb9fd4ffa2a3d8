"""The backward pass of `blocked`.

Weights and derivatives of the scores are held for QUERIES queries at a time, so memory does not grow with the square of
the length. Derivatives of keys and values are summed transposed: W rows, one column per key.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from dragoman.engines.numba.gemm.packed_weights import (
    PANEL,
    ZERO_INDEX,
    pack_padded,
    pack_transposed,
    round_up_to_panel,
    row_stride,
    transpose,
)
from dragoman.engines.numba.jit import DONE, check_done, device_function, indirect_kernel, inlined, kernel
from dragoman.engines.numba.kernels.attention.arguments import AttentionSpec, Columns, backward_kinds, is_long
from dragoman.engines.numba.kernels.attention.blocked import (
    ONE,
    ZERO,
    copy_row,
    count_blocks,
    count_distances,
    longest_of,
    multiply,
    prefetch_rows,
    spread_bias,
)
from dragoman.engines.numba.simd.float32x8 import (
    add,
    broadcast,
    exp_sub,
    first_lanes,
    horizontal_sum,
    load,
    multiply_add,
    store,
)
from dragoman.engines.numba.threads.spin_gate import acquire, release

QUERIES = np.int64(64)  # of a block
QUERY_STRIDE = QUERIES + PANEL
LANES = np.int64(8)  # sums of the derivative of the bias: query i adds to sum i % 8, always at the same alignment
LEAST_ROWS = np.int64(5)  # of a microkernel


class Work(NamedTuple):
    """Buffers of one head, all flat.

    dspread             LANES sums of the derivative of `spread_bias`
    k, kt, vt           packed: keys, transposed keys, transposed values
    q, dy, qt, dyt      queries times scale and deltas of a block of queries; both transposed
    p, ds, dq           weights, derivatives of scores; derivative of 6 queries
    dkt, dvt            derivatives of keys and values, transposed
    zeros               what sums start from
    """

    dspread: Any
    k: Any
    kt: Any
    vt: Any
    q: Any
    dy: Any
    qt: Any
    dyt: Any
    p: Any
    ds: Any
    dq: Any
    dkt: Any
    dvt: Any
    zeros: Any


@device_function
def padded_width(W: Any) -> Any:
    """Rows of a matrix of W rows that is multiplied 5 or 6 rows at a time."""
    return max(W, LEAST_ROWS * count_blocks(W))


@device_function
def zeros_of(size: Any) -> Any:
    return np.zeros(size, np.float32)


@device_function
def new_work(W: Any, heads: Any, most: Any, most_keys: Any) -> Work:
    wide, stride, height = round_up_to_panel(W), row_stride(most_keys), padded_width(W)
    packed, distances, block = stride * wide, count_distances(most, most_keys), QUERIES * W
    return Work(
        zeros_of(heads * LANES * distances),
        zeros_of(packed),
        zeros_of(packed),
        zeros_of(packed),
        zeros_of(block),
        zeros_of(block),
        zeros_of(height * QUERY_STRIDE),
        zeros_of(height * QUERY_STRIDE),
        zeros_of(QUERIES * stride),
        zeros_of(QUERIES * stride),
        zeros_of(6 * wide),
        zeros_of(height * stride),
        zeros_of(height * stride),
        zeros_of(max(stride, wide)),
    )


@inlined
def dot_row(a: Any, at: Any, b: Any, bt: Any, W: Any) -> Any:
    """The dot product of W columns of a, from `at` on, and of b, from `bt` on"""
    sums, whole = broadcast(ZERO), W - W % 8
    for c in range(0, whole, 8):
        sums = multiply_add(load(a, at + c), load(b, bt + c), sums)
    total = horizontal_sum(sums)
    for c in range(whole, W):
        total += a[at + c] * b[bt + c]
    return total


@device_function
def weigh_row(p: Any, ds: Any, at: Any, limit: Any, end: Any, start: Any, mean: Any) -> None:
    """p = e^(score - start), ds <- p (ds - mean); both 0 from `limit` to `end`"""
    starts, less, zero, whole = broadcast(start), broadcast(-mean), broadcast(ZERO), limit - limit % 8
    for j in range(0, whole, 8):
        weights = exp_sub(load(p, at + j), starts)
        store(p, at + j, weights)
        store(ds, at + j, multiply_add(weights, add(load(ds, at + j), less), zero))
    for j in range(whole, end, 8):
        weights = exp_sub(load(p, at + j), starts)
        delta = multiply_add(weights, add(load(ds, at + j), less), zero)
        store(p, at + j, first_lanes(weights, limit - j, zero))
        store(ds, at + j, first_lanes(delta, limit - j, zero))


@device_function
def add_row(x: Any, at: Any, end: Any, total: Any, tt: Any) -> None:
    """total += x, up to column `end`"""
    for j in range(0, end, 8):
        store(total, tt + j, add(load(total, tt + j), load(x, at + j)))


@inlined
def gather_bias(dspread: Any, most: Any, distances: Any, dbias: Any) -> None:
    """Add the derivative of `spread_bias` to dbias."""
    reach = (dbias.shape[1] - 1) // 2
    for r in range(dbias.shape[0]):
        for t in range(distances):
            total = ZERO
            for lane in range(LANES):
                total += dspread[(r * LANES + lane) * distances + t]
            dbias[r, min(max(t - most, -reach), reach) + reach] += total


@device_function
def derive_queries(
    W: Any,
    i0: Any,
    count: Any,
    keys: Any,
    spec: AttentionSpec,
    spread: Columns,
    dspread: Columns,
    lse: Any,
    mean: Any,
    work: Work,
    dq: Columns,
) -> None:
    """Weights, derivatives of the scores, and dq of `count` queries from i0 on; mean: dy . y of each query

    spread, dspread: the bias of query 0 and the sums of its derivative; the bias of query i begins i columns earlier
    """
    wide, stride, blocks = round_up_to_panel(W), row_stride(keys), count_blocks(count)
    zeros, found = Columns(work.zeros, ZERO_INDEX, ZERO_INDEX), Columns(work.dq, ZERO_INDEX, wide)
    for b in range(blocks):
        n, m = b * count // blocks, (b + 1) * count // blocks - b * count // blocks
        limit = min(i0 + n + m, keys) if spec.causal else keys
        end = round_up_to_panel(limit)
        p, ds = Columns(work.p, n * stride, stride), Columns(work.ds, n * stride, stride)
        bias = Columns(spread.data, spread.first - i0 - n, np.int64(-1))
        multiply(m, Columns(work.q, n * W, W), Columns(work.kt, ZERO_INDEX, PANEL), W * PANEL, W, end, bias, p)
        multiply(m, Columns(work.dy, n * W, W), Columns(work.vt, ZERO_INDEX, PANEL), W * PANEL, W, end, zeros, ds)
        for i in range(n, n + m):
            own = min(i0 + i + 1, keys) if spec.causal else keys
            weigh_row(work.p, work.ds, i * stride, own, end, lse[i], mean[i])
            if spec.bias.shape[0] > 0:
                lane = (i0 + i) % LANES * dspread.stride
                add_row(work.ds, i * stride, own, dspread.data, dspread.first + lane - i0 - i)
        multiply(m, ds, Columns(work.k, ZERO_INDEX, PANEL), keys * PANEL, limit, wide, zeros, found)
        for i in range(m):
            copy_row(work.dq, i * wide, W, spec.scale, dq.data, dq.first + (i0 + n + i) * dq.stride)


@device_function
def multiply_all(W: Any, x: Columns, w: Columns, k: Any, start: Columns, y: Columns) -> None:
    """y [W, 16] = start + x [W, k] w [k, 16]"""
    blocks, height = count_blocks(W), padded_width(W)
    for b in range(blocks):
        i, m = b * height // blocks, (b + 1) * height // blocks - b * height // blocks
        left, sums = Columns(x.data, x.first + i * x.stride, x.stride), start.first + i * start.stride
        out = Columns(y.data, y.first + i * y.stride, y.stride)
        multiply(m, left, w, ZERO_INDEX, k, PANEL, Columns(start.data, sums, start.stride), out)


@device_function
def derive_keys(W: Any, i0: Any, count: Any, keys: Any, causal: Any, work: Work) -> None:
    """Add what `count` queries from i0 on contribute to dkt = q' ds and dvt = dy' p; causal: as many keys as queries"""
    stride, zeros = row_stride(keys), Columns(work.zeros, ZERO_INDEX, ZERO_INDEX)
    for j in range(0, min(i0 + count, keys) if causal else keys, PANEL):
        n = max(j - i0, ZERO_INDEX) if causal else ZERO_INDEX  # earlier queries do not see these keys
        p, ds = Columns(work.p, n * stride + j, stride), Columns(work.ds, n * stride + j, stride)
        dv, dk = Columns(work.dvt, j, stride), Columns(work.dkt, j, stride)
        first = i0 == 0 or (causal and j >= i0)  # no query before i0 has seen them
        multiply_all(W, Columns(work.dyt, n, QUERY_STRIDE), p, count - n, zeros if first else dv, dv)
        multiply_all(W, Columns(work.qt, n, QUERY_STRIDE), ds, count - n, zeros if first else dk, dk)


@indirect_kernel(lambda real, vectors: (types.int64, *backward_kinds(real)))
def attend_backward(
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
) -> Any:
    q, q0, qs = queries
    kv, k0, kvs = keys_values
    depth, (most, most_keys) = spec.heads * W, longest_of(spec.offsets, spec.memory_offsets)
    distances, spread = count_distances(most, most_keys), spread_bias(spec.bias, most, most_keys)
    work = new_work(W, spec.bias.shape[0], most, most_keys)
    starts, mean = np.empty(QUERIES, np.float32), np.empty(QUERIES, np.float32)
    for s in range(spec.offsets.shape[0] - 1):
        first, rows = spec.offsets[s], spec.offsets[s + 1] - spec.offsets[s]
        m0, keys = spec.memory_offsets[s], spec.memory_offsets[s + 1] - spec.memory_offsets[s]
        for r in range(spec.heads if is_long(rows, keys) else 0):
            qt, ot, kt = first * qs + q0 + r * W, first * depth + r * W, m0 * kvs + k0 + r * W
            stride, blocks, biased = row_stride(keys), (rows + QUERIES - 1) // QUERIES, min(r, spec.bias.shape[0])
            bias = Columns(spread, biased * distances + most, np.int64(-1))
            sums = Columns(work.dspread, biased * LANES * distances + most, distances)
            next_q, next_y = (W, W) if r + 1 < spec.heads else (rows * qs - r * W, rows * depth - r * W)
            next_k = W if r + 1 < spec.heads else keys * kvs - r * W
            pack_padded(kv, kt, kvs, keys, W, work.k, ZERO_INDEX)
            pack_transposed(kv, kt, kvs, W, keys, work.kt, ZERO_INDEX)
            pack_transposed(kv, kt + depth, kvs, W, keys, work.vt, ZERO_INDEX)
            for b in range(blocks):
                i0, count = b * rows // blocks, (b + 1) * rows // blocks - b * rows // blocks
                prefetch_rows(q, qt + next_q + i0 * qs, qs, count, W)
                prefetch_rows(dout, ot + next_y + i0 * depth, depth, count, W)
                prefetch_rows(out, ot + next_y + i0 * depth, depth, count, W)
                prefetch_rows(kv, kt + next_k + i0 * kvs, kvs, min(count, keys - i0), W)
                prefetch_rows(kv, kt + next_k + depth + i0 * kvs, kvs, min(count, keys - i0), W)
                for i in range(count):
                    at, yt = qt + (i0 + i) * qs, ot + (i0 + i) * depth
                    copy_row(q, at, W, spec.scale, work.q, i * W)
                    copy_row(dout, yt, W, ONE, work.dy, i * W)
                    starts[i], mean[i] = lse[first + i0 + i, r], dot_row(dout, yt, out, yt, W)
                transpose(work.q, ZERO_INDEX, W, count, W, work.qt, ZERO_INDEX, QUERY_STRIDE)
                transpose(work.dy, ZERO_INDEX, W, count, W, work.dyt, ZERO_INDEX, QUERY_STRIDE)
                derive_queries(W, i0, count, keys, spec, bias, sums, starts, mean, work, Columns(dq, qt, qs))
                derive_keys(W, i0, count, keys, spec.causal, work)
            transpose(work.dkt, ZERO_INDEX, stride, W, keys, dkv, kt, kvs)
            transpose(work.dvt, ZERO_INDEX, stride, W, keys, dkv, kt + depth, kvs)
    gather_bias(work.dspread, most, distances, dbias)
    return DONE


call_attend_backward = attend_backward.call


@kernel
def backward(address: Any, W: Any, queries: Any, keys_values: Any, spec: Any, *given: Any) -> None:
    release()
    done = call_attend_backward(address, (W, Columns(*queries), Columns(*keys_values), AttentionSpec(*spec), *given))
    acquire()
    check_done(done)
