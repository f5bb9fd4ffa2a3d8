"""The attention kernels of attention.py for float32 heads of 8, 16, 24 ... columns, eight columns at a time.

Matrices come flat, with the number of columns of a row beside them; `q0` is the first column of the queries. `lane` is
a tuple as long as a head has eights of columns: its type tells the compiler the width, so that loops over it unroll,
and kernels of every width are kept on disk.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.engines.numba.arithmetic import exponential, maximum
from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import DONE, distant, kernel, part
from dragoman.engines.numba.lanes import load, multiply_add, spread, store, store_sums, together

ZERO, ONE = np.float32(0), np.float32(1)


@part
def dot(lane: Any, a: Any, at: Any, b: Any, bt: Any) -> Any:
    W = 8 * len(lane)
    total = spread(ZERO)
    for c in range(0, W, 8):
        total = multiply_add(load(a, at + c), load(b, bt + c), total)
    return together(total)


@part
def dots(lane: Any, a: Any, at: Any, b: Any, count: Any, row: Any) -> None:
    """row_j = a . b_j, four at a time"""
    W = 8 * len(lane)
    j, zero = 0, spread(ZERO)
    while j + 4 <= count:
        one, two, three, four = zero, zero, zero, zero
        for c in range(0, W, 8):
            x, p = load(a, at + c), j * W + c
            one, two = multiply_add(x, load(b, p), one), multiply_add(x, load(b, p + W), two)
            three, four = multiply_add(x, load(b, p + 2 * W), three), multiply_add(x, load(b, p + 3 * W), four)
        store_sums(row, j, one, two, three, four)
        j += 4
    while j < count:
        row[j] = dot(lane, a, at, b, j * W)
        j += 1


@part
def add_bias(row: Any, count: Any, scale: Any, i: Any, bias: Any, r: Any) -> Any:
    """The bias of each distance, if there is one, to scores times the scale; what is left to multiply them by"""
    if bias.shape[0] == 0:
        return scale
    reach = (bias.shape[1] - 1) // 2
    for j in range(count):
        row[j] = row[j] * scale + bias[r, min(max(j - i, -reach), reach) + reach]
    return ONE


@part
def add_to_rows(lane: Any, weights: Any, count: Any, factor: Any, a: Any, at: Any, out: Any) -> None:
    """out_j += factor * weights_j * a, whose columns stay in registers"""
    W = 8 * len(lane)
    c = 0
    while c + 32 <= W:
        one, two, three, four = load(a, at + c), load(a, at + c + 8), load(a, at + c + 16), load(a, at + c + 24)
        for j in range(count):
            w, ot = spread(weights[j] * factor), j * W + c
            store(out, ot, multiply_add(w, one, load(out, ot)))
            store(out, ot + 8, multiply_add(w, two, load(out, ot + 8)))
            store(out, ot + 16, multiply_add(w, three, load(out, ot + 16)))
            store(out, ot + 24, multiply_add(w, four, load(out, ot + 24)))
        c += 32
    while c + 16 <= W:
        one, two = load(a, at + c), load(a, at + c + 8)
        for j in range(count):
            w, ot = spread(weights[j] * factor), j * W + c
            store(out, ot, multiply_add(w, one, load(out, ot)))
            store(out, ot + 8, multiply_add(w, two, load(out, ot + 8)))
        c += 16
    if c < W:
        one = load(a, at + c)
        for j in range(count):
            store(out, j * W + c, multiply_add(spread(weights[j] * factor), one, load(out, j * W + c)))


@part
def combine(lane: Any, weights: Any, count: Any, a: Any, factor: Any, out: Any, ot: Any) -> None:
    """out = factor * sum_j weights_j a_j, as many columns at a time as there are: sums wait for each other less"""
    W = 8 * len(lane)
    c, zero, f = 0, spread(ZERO), spread(factor)
    while c + 32 <= W:
        one, two, three, four = zero, zero, zero, zero
        for j in range(count):
            w, at = spread(weights[j]), j * W + c
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
            v, w, at = spread(weights[j]), spread(weights[j + 1]), j * W + c
            one, two = multiply_add(v, load(a, at), one), multiply_add(v, load(a, at + 8), two)
            three, four = multiply_add(w, load(a, at + W), three), multiply_add(w, load(a, at + W + 8), four)
            j += 2
        if j < count:
            w, at = spread(weights[j]), j * W + c
            one, two = multiply_add(w, load(a, at), one), multiply_add(w, load(a, at + 8), two)
        store(out, ot + c, multiply_add(one, f, multiply_add(three, f, zero)))
        store(out, ot + c + 8, multiply_add(two, f, multiply_add(four, f, zero)))
        c += 16
    if c < W:
        one = zero
        for j in range(count):
            one = multiply_add(spread(weights[j]), load(a, j * W + c), one)
        store(out, ot + c, multiply_add(one, f, zero))


@part
def copy_rows(lane: Any, a: Any, at: Any, step: Any, out: Any, ot: Any, out_step: Any, count: Any) -> None:
    """Rows of a head side by side: far apart, they would fall onto the same few lines of the cache"""
    W = 8 * len(lane)
    for j in range(count):
        for c in range(0, W, 8):
            store(out, ot + j * out_step + c, load(a, at + j * step + c))


@distant
def attend(
    lane: Any,
    q: Any,
    qs: Any,
    q0: Any,
    k: Any,
    ks: Any,
    k0: Any,
    v0: Any,
    offsets: Any,
    memory_offsets: Any,
    heads: Any,
    causal: Any,
    scale: Any,
    bias: Any,
    out: Any,
    lse: Any,
    work: Any,
) -> Any:
    W = 8 * len(lane)
    depth, size = heads * W, work.shape[0] // (2 * W + 1)
    keyed, valued, row = work[: size * W], work[size * W : 2 * size * W], work[2 * size * W :]
    for s in range(offsets.shape[0] - 1):
        first, rows = offsets[s], offsets[s + 1] - offsets[s]
        m0, keys = memory_offsets[s], memory_offsets[s + 1] - memory_offsets[s]
        for r in range(heads):
            copy_rows(lane, k, m0 * ks + k0 + r * W, ks, keyed, 0, W, keys)
            copy_rows(lane, k, m0 * ks + v0 + r * W, ks, valued, 0, W, keys)
            for i in range(rows):
                limit = min(i + 1, keys) if causal else keys
                qt, ot = (first + i) * qs + q0 + r * W, (first + i) * depth + r * W
                dots(lane, q, qt, keyed, limit, row)
                factor = add_bias(row, limit, scale, i, bias, r)
                top, total = np.float32(-math.inf), ZERO
                for j in range(limit):
                    top = maximum(top, row[j])
                top *= factor
                for j in range(limit):
                    e = exponential(row[j] * factor - top)
                    row[j] = e
                    total += e
                combine(lane, row, limit, valued, ONE / total if limit else ZERO, out, ot)
                lse[first + i, r] = top + np.float32(math.log(total)) if limit else ZERO
    return DONE


@kernel
def forward(*given: Any) -> None:
    leave()
    attend(*given)
    enter()


@kernel
def step(
    lane: Any, q: Any, kv: Any, starts: Any, lengths: Any, heads: Any, scale: Any, bias: Any, out: Any, row: Any
) -> None:
    """One query for each sequence; kv rows hold keys and values side by side"""
    leave()
    W = 8 * len(lane)
    relative, reach = bias.shape[0] > 0, (bias.shape[1] - 1) // 2
    depth = heads * W
    for b in range(starts.shape[0]):
        limit, first = lengths[b], starts[b] * 2 * depth
        for r in range(heads):
            qt, kt = b * depth + r * W, first + r * W
            top = np.float32(-math.inf)
            for j in range(limit):
                score = dot(lane, q, qt, kv, kt + j * 2 * depth) * scale
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
                one = spread(ZERO)
                for j in range(limit):
                    one = multiply_add(spread(row[j]), load(kv, kt + depth + j * 2 * depth + c), one)
                store(out, qt + c, multiply_add(one, spread(factor), spread(ZERO)))
                c += 8
    enter()


@distant
def attend_backward(
    lane: Any,
    q: Any,
    qs: Any,
    q0: Any,
    k: Any,
    ks: Any,
    k0: Any,
    v0: Any,
    offsets: Any,
    memory_offsets: Any,
    heads: Any,
    causal: Any,
    scale: Any,
    bias: Any,
    out: Any,
    lse: Any,
    dout: Any,
    dq: Any,
    dk: Any,
    dbias: Any,
    work: Any,
) -> Any:
    W = 8 * len(lane)
    relative, reach = bias.shape[0] > 0, (bias.shape[1] - 1) // 2
    depth, size = heads * W, work.shape[0] // (4 * W + 2)
    keyed, valued = work[: size * W], work[size * W : 2 * size * W]
    dkeyed, dvalued = work[2 * size * W : 3 * size * W], work[3 * size * W : 4 * size * W]
    weights, dweights = work[4 * size * W : 4 * size * W + size], work[4 * size * W + size :]
    for s in range(offsets.shape[0] - 1):
        first, rows = offsets[s], offsets[s + 1] - offsets[s]
        m0, keys = memory_offsets[s], memory_offsets[s + 1] - memory_offsets[s]
        for r in range(heads):
            kt, vt = m0 * ks + k0 + r * W, m0 * ks + v0 + r * W
            copy_rows(lane, k, kt, ks, keyed, 0, W, keys)
            copy_rows(lane, k, vt, ks, valued, 0, W, keys)
            dkeyed[: keys * W] = 0
            dvalued[: keys * W] = 0
            for i in range(rows):
                limit = min(i + 1, keys) if causal else keys
                qt, ot = (first + i) * qs + q0 + r * W, (first + i) * depth + r * W
                mean = dot(lane, dout, ot, out, ot)
                start = lse[first + i, r]
                dots(lane, q, qt, keyed, limit, weights)
                dots(lane, dout, ot, valued, limit, dweights)
                factor = add_bias(weights, limit, scale, i, bias, r)
                for j in range(limit):
                    p = exponential(weights[j] * factor - start)
                    weights[j] = p
                    dweights[j] = (dweights[j] - mean) * p
                if relative:
                    for j in range(limit):
                        dbias[r, min(max(j - i, -reach), reach) + reach] += dweights[j]
                add_to_rows(lane, weights, limit, ONE, dout, ot, dvalued)
                add_to_rows(lane, dweights, limit, scale, q, qt, dkeyed)
                combine(lane, dweights, limit, keyed, scale, dq, qt)
            copy_rows(lane, dkeyed, 0, W, dk, kt, ks, keys)
            copy_rows(lane, dvalued, 0, W, dk, vt, ks, keys)
    return DONE


@kernel
def backward(*given: Any) -> None:
    leave()
    attend_backward(*given)
    enter()
