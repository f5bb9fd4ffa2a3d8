"""Attention on packed rows for float32 heads whose width is a multiple of 8, eight columns at a time.

The equations and arguments are those of `scalar`, but all matrices are flat. `head_vectors` is a tuple of W / 8 zeros:
its length, part of its type, makes the width a compile-time constant, so that loops over it unroll and each width is
cached on disk.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.engines.numba.jit import DONE, check_done, device_function, indirect_kernel, inlined, kernel
from dragoman.engines.numba.kernels.attention.arguments import (
    AttentionSpec,
    Columns,
    attention_kinds,
    backward_kinds,
    head_kind,
    is_long,
)
from dragoman.engines.numba.simd.elementwise import exponential, maximum
from dragoman.engines.numba.simd.float32x8 import broadcast, horizontal_sum, load, multiply_add, store, store_sums
from dragoman.engines.numba.threads.spin_gate import acquire, release

ZERO, ONE = np.float32(0), np.float32(1)


@inlined
def dot_columns(a: Any, at: Any, b: Any, bt: Any, W: Any) -> Any:
    """The dot product of W columns of a, from `at` on, and of b, from `bt` on"""
    total = broadcast(ZERO)
    for c in range(0, W, 8):
        total = multiply_add(load(a, at + c), load(b, bt + c), total)
    return horizontal_sum(total)


@device_function
def dot(head_vectors: Any, a: Any, at: Any, b: Any, bt: Any) -> Any:
    return dot_columns(a, at, b, bt, 8 * len(head_vectors))


@inlined
def bias_column(j: Any, i: Any, reach: Any) -> Any:
    """The column of the relative bias for key j and query i: their distance, clipped to +-reach."""
    return min(max(j - i, -reach), reach) + reach


@device_function
def dots(head_vectors: Any, a: Any, at: Any, b: Any, count: Any, row: Any) -> None:
    """row_j = a . b_j, four rows at a time"""
    W = 8 * len(head_vectors)
    j, zero = 0, broadcast(ZERO)
    while j + 4 <= count:
        one, two, three, four = zero, zero, zero, zero
        for c in range(0, W, 8):
            x, p = load(a, at + c), j * W + c
            one, two = multiply_add(x, load(b, p), one), multiply_add(x, load(b, p + W), two)
            three, four = multiply_add(x, load(b, p + 2 * W), three), multiply_add(x, load(b, p + 3 * W), four)
        store_sums(row, j, one, two, three, four)
        j += 4
    while j < count:
        row[j] = dot(head_vectors, a, at, b, j * W)
        j += 1


@device_function
def add_bias(row: Any, count: Any, scale: Any, i: Any, bias: Any, r: Any) -> Any:
    """Add the bias of each distance, if any, to the scaled scores; returns the scale that is still to be applied."""
    if bias.shape[0] == 0:
        return scale
    reach = (bias.shape[1] - 1) // 2
    for j in range(count):
        row[j] = row[j] * scale + bias[r, bias_column(j, i, reach)]
    return ONE


@device_function
def add_to_rows(head_vectors: Any, weights: Any, count: Any, factor: Any, a: Any, at: Any, out: Any) -> None:
    """out_j += factor * weights_j * a; the columns of a stay in registers"""
    W = 8 * len(head_vectors)
    c = 0
    while c + 32 <= W:
        one, two, three, four = load(a, at + c), load(a, at + c + 8), load(a, at + c + 16), load(a, at + c + 24)
        for j in range(count):
            w, ot = broadcast(weights[j] * factor), j * W + c
            store(out, ot, multiply_add(w, one, load(out, ot)))
            store(out, ot + 8, multiply_add(w, two, load(out, ot + 8)))
            store(out, ot + 16, multiply_add(w, three, load(out, ot + 16)))
            store(out, ot + 24, multiply_add(w, four, load(out, ot + 24)))
        c += 32
    while c + 16 <= W:
        one, two = load(a, at + c), load(a, at + c + 8)
        for j in range(count):
            w, ot = broadcast(weights[j] * factor), j * W + c
            store(out, ot, multiply_add(w, one, load(out, ot)))
            store(out, ot + 8, multiply_add(w, two, load(out, ot + 8)))
        c += 16
    if c < W:
        one = load(a, at + c)
        for j in range(count):
            store(out, j * W + c, multiply_add(broadcast(weights[j] * factor), one, load(out, j * W + c)))


@device_function
def combine(head_vectors: Any, weights: Any, count: Any, a: Any, factor: Any, out: Any, ot: Any) -> None:
    """out = factor * sum_j weights_j a_j, several columns at a time to hide the latency of the sums"""
    W = 8 * len(head_vectors)
    c, zero, f = 0, broadcast(ZERO), broadcast(factor)
    while c + 32 <= W:
        one, two, three, four = zero, zero, zero, zero
        for j in range(count):
            w, at = broadcast(weights[j]), j * W + c
            one, two = multiply_add(w, load(a, at), one), multiply_add(w, load(a, at + 8), two)
            three, four = multiply_add(w, load(a, at + 16), three), multiply_add(w, load(a, at + 24), four)
        store(out, ot + c, multiply_add(one, f, zero))
        store(out, ot + c + 8, multiply_add(two, f, zero))
        store(out, ot + c + 16, multiply_add(three, f, zero))
        store(out, ot + c + 24, multiply_add(four, f, zero))
        c += 32
    while c + 16 <= W:
        one, two, three, four, j = zero, zero, zero, zero, 0
        while j + 2 <= count:
            v, w, at = broadcast(weights[j]), broadcast(weights[j + 1]), j * W + c
            one, two = multiply_add(v, load(a, at), one), multiply_add(v, load(a, at + 8), two)
            three, four = multiply_add(w, load(a, at + W), three), multiply_add(w, load(a, at + W + 8), four)
            j += 2
        if j < count:
            w, at = broadcast(weights[j]), j * W + c
            one, two = multiply_add(w, load(a, at), one), multiply_add(w, load(a, at + 8), two)
        store(out, ot + c, multiply_add(one, f, multiply_add(three, f, zero)))
        store(out, ot + c + 8, multiply_add(two, f, multiply_add(four, f, zero)))
        c += 16
    if c < W:
        one = zero
        for j in range(count):
            one = multiply_add(broadcast(weights[j]), load(a, j * W + c), one)
        store(out, ot + c, multiply_add(one, f, zero))


@device_function
def copy_rows(head_vectors: Any, a: Any, at: Any, step: Any, out: Any, ot: Any, out_step: Any, count: Any) -> None:
    """Copy the rows of a head to contiguous memory; with a large stride they would share few cache sets."""
    W = 8 * len(head_vectors)
    for j in range(count):
        for c in range(0, W, 8):
            store(out, ot + j * out_step + c, load(a, at + j * step + c))


@indirect_kernel(lambda real, vectors: (head_kind(vectors), *attention_kinds(real), real[::1]))
def attend(
    head_vectors: Any, queries: Columns, keys_values: Columns, spec: AttentionSpec, out: Any, lse: Any, work: Any
) -> Any:
    q, q0, qs = queries
    kv, k0, kvs = keys_values
    offsets, memory_offsets, heads, causal, scale, bias = spec
    W = 8 * len(head_vectors)
    depth, size = heads * W, work.shape[0] // (2 * W + 1)
    keyed, valued, row = work[: size * W], work[size * W : 2 * size * W], work[2 * size * W :]
    for s in range(offsets.shape[0] - 1):
        first, rows = offsets[s], offsets[s + 1] - offsets[s]
        m0, keys = memory_offsets[s], memory_offsets[s + 1] - memory_offsets[s]
        for r in range(0 if is_long(rows, keys) else heads):
            kt = m0 * kvs + k0 + r * W
            copy_rows(head_vectors, kv, kt, kvs, keyed, 0, W, keys)
            copy_rows(head_vectors, kv, kt + depth, kvs, valued, 0, W, keys)
            for i in range(rows):
                limit = min(i + 1, keys) if causal else keys
                qt, ot = (first + i) * qs + q0 + r * W, (first + i) * depth + r * W
                dots(head_vectors, q, qt, keyed, limit, row)
                factor = add_bias(row, limit, scale, i, bias, r)
                top, total = np.float32(-math.inf), ZERO
                for j in range(limit):
                    top = maximum(top, row[j])
                top *= factor
                for j in range(limit):
                    e = exponential(row[j] * factor - top)
                    row[j] = e
                    total += e
                combine(head_vectors, row, limit, valued, ONE / total if limit else ZERO, out, ot)
                lse[first + i, r] = top + np.float32(math.log(total)) if limit else ZERO
    return DONE


call_attend = attend.call


@kernel
def forward(address: Any, head_vectors: Any, queries: Any, keys_values: Any, spec: Any, *given: Any) -> None:
    release()
    arguments = (head_vectors, Columns(*queries), Columns(*keys_values), AttentionSpec(*spec), *given)
    done = call_attend(address, arguments)
    acquire()
    check_done(done)


@kernel
def step(
    head_vectors: Any, q: Any, kv: Any, starts: Any, lengths: Any, heads: Any, scale: Any, bias: Any, out: Any, row: Any
) -> None:
    """One query per sequence; rows of kv hold keys and values side by side and are read in place"""
    release()
    W = 8 * len(head_vectors)
    relative, reach = bias.shape[0] > 0, (bias.shape[1] - 1) // 2
    depth = heads * W
    for b in range(starts.shape[0]):
        limit, first = lengths[b], starts[b] * 2 * depth
        for r in range(heads):
            qt, kt = b * depth + r * W, first + r * W
            top = np.float32(-math.inf)
            for j in range(limit):
                score = dot(head_vectors, q, qt, kv, kt + j * 2 * depth) * scale
                if relative:
                    score += bias[r, max(j + 1 - limit, -reach) + reach]
                row[j] = score
                top = max(top, score)
            total = ZERO
            for j in range(limit):
                e = exponential(row[j] - top)
                row[j] = e
                total += e
            factor = ONE / total if limit else ZERO
            c = 0
            while c < W:
                one = broadcast(ZERO)
                for j in range(limit):
                    one = multiply_add(broadcast(row[j]), load(kv, kt + depth + j * 2 * depth + c), one)
                store(out, qt + c, multiply_add(one, broadcast(factor), broadcast(ZERO)))
                c += 8
    acquire()


@indirect_kernel(lambda real, vectors: (head_kind(vectors), *backward_kinds(real), real[::1]))
def attend_backward(
    head_vectors: Any,
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
) -> Any:
    q, q0, qs = queries
    kv, k0, kvs = keys_values
    offsets, memory_offsets, heads, causal, scale, bias = spec
    W = 8 * len(head_vectors)
    relative, reach = bias.shape[0] > 0, (bias.shape[1] - 1) // 2
    depth, size = heads * W, work.shape[0] // (4 * W + 2)
    keyed, valued = work[: size * W], work[size * W : 2 * size * W]
    dkeyed, dvalued = work[2 * size * W : 3 * size * W], work[3 * size * W : 4 * size * W]
    weights, dweights = work[4 * size * W : 4 * size * W + size], work[4 * size * W + size :]
    for s in range(offsets.shape[0] - 1):
        first, rows = offsets[s], offsets[s + 1] - offsets[s]
        m0, keys = memory_offsets[s], memory_offsets[s + 1] - memory_offsets[s]
        for r in range(0 if is_long(rows, keys) else heads):
            kt = m0 * kvs + k0 + r * W
            vt = kt + depth
            copy_rows(head_vectors, kv, kt, kvs, keyed, 0, W, keys)
            copy_rows(head_vectors, kv, vt, kvs, valued, 0, W, keys)
            dkeyed[: keys * W] = 0
            dvalued[: keys * W] = 0
            for i in range(rows):
                limit = min(i + 1, keys) if causal else keys
                qt, ot = (first + i) * qs + q0 + r * W, (first + i) * depth + r * W
                mean = dot(head_vectors, dout, ot, out, ot)
                start = lse[first + i, r]
                dots(head_vectors, q, qt, keyed, limit, weights)
                dots(head_vectors, dout, ot, valued, limit, dweights)
                factor = add_bias(weights, limit, scale, i, bias, r)
                for j in range(limit):
                    p = exponential(weights[j] * factor - start)
                    weights[j] = p
                    dweights[j] = (dweights[j] - mean) * p
                if relative:
                    for j in range(limit):
                        dbias[r, bias_column(j, i, reach)] += dweights[j]
                add_to_rows(head_vectors, weights, limit, ONE, dout, ot, dvalued)
                add_to_rows(head_vectors, dweights, limit, scale, q, qt, dkeyed)
                combine(head_vectors, dweights, limit, keyed, scale, dq, qt)
            copy_rows(head_vectors, dkeyed, 0, W, dkv, kt, kvs, keys)
            copy_rows(head_vectors, dvalued, 0, W, dkv, vt, kvs, keys)
    return DONE


call_attend_backward = attend_backward.call


@kernel
def backward(address: Any, head_vectors: Any, queries: Any, keys_values: Any, spec: Any, *given: Any) -> None:
    release()
    arguments = (head_vectors, Columns(*queries), Columns(*keys_values), AttentionSpec(*spec), *given)
    done = call_attend_backward(address, arguments)
    acquire()
    check_done(done)
