"""Attention whose keys and values are listed rows of a cache: those of a source, or those a hypothesis has written.

Unlike `simd`, it reads rows in place, since a few queries do not pay for copying them, and finds the bias in theta.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dragoman.engines.numba.jit import device_function
from dragoman.engines.numba.kernels.attention.arguments import Columns
from dragoman.engines.numba.kernels.attention.simd import bias_column, dot_columns
from dragoman.engines.numba.simd.elementwise import exponential
from dragoman.engines.numba.simd.float32x8 import broadcast, load, multiply_add, store
from dragoman.engines.transformer_spec import ABSENT

ZERO, ONE = np.float32(0), np.float32(1)


class RowLists(NamedTuple):
    """Which rows each of m queries attends to.

    rows [L, T] lists of rows           list_of [m] the list of a query
    lengths [m] how many of its rows    positions [m] the position of a query itself
    """

    rows: Any
    list_of: Any
    lengths: Any
    positions: Any


@device_function
def score_buffer(size: Any) -> Any:
    return np.empty(max(size, 1), np.float32)


@device_function
def attend(
    net: Any, m: Any, queries: Columns, keys: Columns, lists: RowLists, bias_start: Any, out: Any, row: Any
) -> None:
    """Each query attends to the rows of its list; the values of a row begin d columns after its keys.

    bias_start: of the relative bias in theta, or ABSENT   row: scores
    """
    q, q0, qs = queries
    kv, k0, kvs = keys
    row_lists, list_of, lengths, positions = lists
    width = net.depth // net.heads
    scale, v0, reach = ONE / np.float32(math.sqrt(np.float32(width))), k0 + net.depth, net.reach
    for i in range(m):
        listed, limit = row_lists[list_of[i]], lengths[i]
        for h in range(net.heads):
            qt, kt, vt, ot = q0 + i * qs + h * width, k0 + h * width, v0 + h * width, i * net.depth + h * width
            top, check = np.float32(-math.inf), ZERO
            for j in range(limit):
                score = dot_columns(q, qt, kv, kt + listed[j] * kvs, width) * scale
                if bias_start != ABSENT:
                    score += net.theta[bias_start + h * (2 * reach + 1) + bias_column(j, positions[i], reach)]
                row[j] = score
                check += score
                top = max(top, score)
            total = ZERO * check  # 0, or NaN if a score is NaN
            for j in range(limit):
                e = exponential(row[j] - top)
                row[j] = e
                total += e
            share = broadcast(ONE / total if limit else ZERO)
            c = 0
            while c + 16 <= width:
                one, two = broadcast(ZERO), broadcast(ZERO)
                for j in range(limit):
                    at, weight = vt + listed[j] * kvs + c, broadcast(row[j])
                    one = multiply_add(weight, load(kv, at), one)
                    two = multiply_add(weight, load(kv, at + 8), two)
                store(out, ot + c, multiply_add(one, share, broadcast(ZERO)))
                store(out, ot + c + 8, multiply_add(two, share, broadcast(ZERO)))
                c += 16
            if c < width:
                one = broadcast(ZERO)
                for j in range(limit):
                    one = multiply_add(broadcast(row[j]), load(kv, vt + listed[j] * kvs + c), one)
                store(out, ot + c, multiply_add(one, share, broadcast(ZERO)))
