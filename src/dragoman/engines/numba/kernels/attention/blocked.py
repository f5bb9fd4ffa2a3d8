"""Attention on packed rows for long float32 sequences: the microkernels of `gemm` on blocks of queries and keys.

The equations and arguments are those of `scalar`, for heads of any width W; matrices are flat. Keys and values of a
head are packed into panels of 16 columns once. Then 5 or 6 queries at a time are multiplied with them, so a key in a
register serves several queries. Blocks above the diagonal are skipped if causal.

Sequences that are not long (`is_long`) are skipped: `simd` and `scalar` skip the others.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types

from dragoman.engines.numba.gemm.microkernel import microkernel, prefetch
from dragoman.engines.numba.gemm.packed_weights import (
    FIVE,
    MOST_ROWS,
    PANEL,
    SIX,
    TWO,
    ZERO_INDEX,
    pack_padded,
    pack_transposed,
    round_up_to_panel,
    row_stride,
)
from dragoman.engines.numba.jit import DONE, check_done, device_function, indirect_kernel, kernel
from dragoman.engines.numba.kernels.attention.arguments import AttentionSpec, Columns, attention_kinds, is_long
from dragoman.engines.numba.simd.float32x8 import (
    add,
    broadcast,
    exp_sub,
    first_lanes,
    horizontal_max,
    horizontal_sum,
    lanewise_max,
    load,
    multiply_add,
    store,
)
from dragoman.engines.numba.threads.spin_gate import acquire, release

ZERO, ONE, LOWEST = np.float32(0), np.float32(1), np.float32(-math.inf)


@device_function
def count_blocks(rows: Any) -> Any:
    """The least number of blocks of at most 6 rows: from 20 rows on, even blocks have 5 or 6."""
    return (rows + MOST_ROWS - 1) // MOST_ROWS


@device_function
def count_distances(most: Any, most_keys: Any) -> Any:
    """Columns of the bias of all distances (`spread_bias`), with those of the last panel of keys."""
    return row_stride(most + most_keys + PANEL)


@device_function
def multiply(m: Any, x: Columns, w: Columns, panel: Any, k: Any, columns: Any, start: Columns, y: Columns) -> None:
    """y [m, columns] = start + x [m, k] w [k, columns] for 5 or 6 rows; a panel of w begins `panel` after the last"""
    wt = w.first
    for c in range(0, columns, PANEL):
        left, sums = (x.data, x.first, x.stride), (start.data, start.first + c, start.stride)
        out = y.data, y.first + c, y.stride
        if m == MOST_ROWS:
            microkernel(SIX, TWO, *left, w.data, wt, w.stride, k, *sums, *out, None)
        else:
            microkernel(FIVE, TWO, *left, w.data, wt, w.stride, k, *sums, *out, None)
        wt += panel


@device_function
def longest_of(offsets: Any, memory_offsets: Any) -> Any:
    """The most queries and the most keys of a long sequence."""
    most, most_keys = ZERO_INDEX, ZERO_INDEX
    for s in range(offsets.shape[0] - 1):
        rows, keys = offsets[s + 1] - offsets[s], memory_offsets[s + 1] - memory_offsets[s]
        if is_long(rows, keys):
            most, most_keys = max(most, rows), max(most_keys, keys)
    return most, most_keys


@device_function
def spread_bias(bias: Any, most: Any, most_keys: Any) -> Any:
    """Copy the bias to [heads, distances]: that of key j and query i to column most + j - i, so a row is a slice."""
    heads, reach, stride = max(bias.shape[0], 1), (bias.shape[1] - 1) // 2, count_distances(most, most_keys)
    spread = np.zeros(heads * stride, np.float32)
    for r in range(bias.shape[0]):
        for t in range(stride):
            spread[r * stride + t] = bias[r, min(max(t - most, -reach), reach) + reach]
    return spread


@device_function
def prefetch_rows(a: Any, at: Any, stride: Any, rows: Any, W: Any) -> None:
    """Prefetch W columns of some rows; they are too far apart for the hardware prefetcher."""
    for i in range(rows):
        for c in range(0, W + PANEL - 1, PANEL):
            prefetch(a, at + i * stride + c)


@device_function
def copy_row(a: Any, at: Any, W: Any, factor: Any, out: Any, ot: Any) -> None:
    """out = factor * a, W columns"""
    f, zero, whole = broadcast(factor), broadcast(ZERO), W - W % 8
    for c in range(0, whole, 8):
        store(out, ot + c, multiply_add(load(a, at + c), f, zero))
    for c in range(whole, W):
        out[ot + c] = a[at + c] * factor


@device_function
def softmax_row(p: Any, at: Any, limit: Any, end: Any) -> Any:
    """Scores to e^(score - top), 0 from `limit` to `end`; returns top and the sum. NaN propagates through the sum."""
    last, lowest, zero = (limit - 1) // PANEL * PANEL, broadcast(LOWEST), broadcast(ZERO)
    one = first_lanes(load(p, at + last), limit - last, lowest)
    two = first_lanes(load(p, at + last + 8), limit - last - 8, lowest)
    for j in range(0, last, PANEL):
        one, two = lanewise_max(load(p, at + j), one), lanewise_max(load(p, at + j + 8), two)
    top = horizontal_max(lanewise_max(one, two))
    tops = broadcast(top)
    one = first_lanes(exp_sub(load(p, at + last), tops), limit - last, zero)
    two = first_lanes(exp_sub(load(p, at + last + 8), tops), limit - last - 8, zero)
    store(p, at + last, one)
    store(p, at + last + 8, two)
    for j in range(0, last, PANEL):
        e, f = exp_sub(load(p, at + j), tops), exp_sub(load(p, at + j + 8), tops)
        store(p, at + j, e)
        store(p, at + j + 8, f)
        one, two = add(one, e), add(two, f)
    for j in range(last + PANEL, end, PANEL):
        store(p, at + j, zero)
        store(p, at + j + 8, zero)
    return top, horizontal_sum(add(one, two))


@indirect_kernel(lambda real, vectors: (types.int64, *attention_kinds(real)))
def attend(W: Any, queries: Columns, keys_values: Columns, spec: AttentionSpec, out: Any, lse: Any) -> Any:
    q, q0, qs = queries
    kv, k0, kvs = keys_values
    offsets, memory_offsets, heads, causal, scale, bias = spec
    most, most_keys = longest_of(offsets, memory_offsets)
    wide, stride, distances = round_up_to_panel(W), row_stride(most_keys), count_distances(most, most_keys)
    keyed, valued = np.empty(stride * W, np.float32), np.empty(stride * wide, np.float32)
    spread, zeros = spread_bias(bias, most, most_keys), np.zeros(wide, np.float32)
    x, scores, y = np.empty(6 * W, np.float32), np.empty(6 * stride, np.float32), np.empty(6 * wide, np.float32)
    inverse = np.empty(6, np.float32)
    for s in range(offsets.shape[0] - 1):
        first, rows = offsets[s], offsets[s + 1] - offsets[s]
        m0, keys = memory_offsets[s], memory_offsets[s + 1] - memory_offsets[s]
        for r in range(heads if is_long(rows, keys) else 0):
            qt, kt, blocks = first * qs + q0 + r * W, m0 * kvs + k0 + r * W, count_blocks(rows)
            next_q, next_k = (W, W) if r + 1 < heads else (rows * qs - r * W, keys * kvs - r * W)
            pack_transposed(kv, kt, kvs, W, keys, keyed, ZERO_INDEX)
            pack_padded(kv, kt + heads * W, kvs, keys, W, valued, ZERO_INDEX)
            for b in range(blocks):
                i, m = b * rows // blocks, (b + 1) * rows // blocks - b * rows // blocks
                j, n = b * keys // blocks, (b + 1) * keys // blocks - b * keys // blocks
                prefetch_rows(q, qt + next_q + i * qs, qs, m, W)
                prefetch_rows(kv, kt + next_k + j * kvs, kvs, n, W)
                prefetch_rows(kv, kt + next_k + heads * W + j * kvs, kvs, n, W)
                limit = min(i + m, keys) if causal else keys
                for n in range(m):
                    copy_row(q, qt + (i + n) * qs, W, scale, x, n * W)
                starts = Columns(spread, min(r, bias.shape[0]) * distances + most - i, np.int64(-1))
                held, found = Columns(scores, ZERO_INDEX, stride), Columns(y, ZERO_INDEX, wide)
                panels = Columns(keyed, ZERO_INDEX, PANEL)
                multiply(m, Columns(x, ZERO_INDEX, W), panels, W * PANEL, W, round_up_to_panel(limit), starts, held)
                for n in range(m):
                    own = min(i + n + 1, keys) if causal else keys
                    top, total = softmax_row(scores, n * stride, own, limit)
                    lse[first + i + n, r] = top + np.float32(math.log(total))
                    inverse[n] = ONE / total
                panels = Columns(valued, ZERO_INDEX, PANEL)
                multiply(m, held, panels, keys * PANEL, limit, wide, Columns(zeros, ZERO_INDEX, ZERO_INDEX), found)
                for n in range(m):
                    copy_row(y, n * wide, W, inverse[n], out, (first + i + n) * heads * W + r * W)
    return DONE


call_attend = attend.call


@kernel
def forward(address: Any, W: Any, queries: Any, keys_values: Any, spec: Any, *given: Any) -> None:
    release()
    done = call_attend(address, (W, Columns(*queries), Columns(*keys_values), AttentionSpec(*spec), *given))
    acquire()
    check_done(done)
