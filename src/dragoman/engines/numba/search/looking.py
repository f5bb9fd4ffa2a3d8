"""Attention of queries to rows that stand anywhere: those of a source, or those that one sequence has written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman.engines.numba.arithmetic import exponential
from dragoman.engines.numba.jit import part
from dragoman.engines.numba.lanes import load, multiply_add, spread, store, together
from dragoman.operations.fused_search import ABSENT

ZERO, ONE = np.float32(0), np.float32(1)


@part
def scores(size: Any) -> Any:
    return np.empty(max(size, 1), np.float32)


@part
def attend(
    net: Any,
    m: Any,
    q: Any,
    q0: Any,
    qs: Any,
    kv: Any,
    k0: Any,
    kvs: Any,
    places: Any,
    lists: Any,
    lengths: Any,
    positions: Any,
    distances: Any,
    out: Any,
    row: Any,
) -> None:
    """Each query looks at the rows that its list names: keys begin at column k0 of a row, values d later.

    lists [m] which list of `places` a query has   lengths [m] how many rows   positions [m] where it stands itself
    distances  where theta has a bias for each head and distance, ABSENT if it has none
    """
    width = net.depth // net.heads
    scale, v0, reach = ONE / np.float32(math.sqrt(np.float32(width))), k0 + net.depth, net.reach
    for i in range(m):
        named, limit = places[lists[i]], lengths[i]
        for h in range(net.heads):
            qt, kt, vt, ot = q0 + i * qs + h * width, k0 + h * width, v0 + h * width, i * net.depth + h * width
            top, check = np.float32(-math.inf), ZERO
            for j in range(limit):
                at, total = kt + named[j] * kvs, spread(ZERO)
                for c in range(0, width, 8):
                    total = multiply_add(load(q, qt + c), load(kv, at + c), total)
                score = together(total) * scale
                if distances != ABSENT:
                    apart = min(max(j - positions[i], -reach), reach) + reach
                    score += net.theta[distances + h * (2 * reach + 1) + apart]
                row[j] = score
                check += score
                top = max(top, score)
            whole = ZERO * check  # 0, unless a score is no number
            for j in range(limit):
                e = exponential(row[j] - top)
                row[j] = e
                whole += e
            share = spread(ONE / whole if limit else ZERO)
            c = 0
            while c + 16 <= width:
                one, two = spread(ZERO), spread(ZERO)
                for j in range(limit):
                    at, weight = vt + named[j] * kvs + c, spread(row[j])
                    one = multiply_add(weight, load(kv, at), one)
                    two = multiply_add(weight, load(kv, at + 8), two)
                store(out, ot + c, multiply_add(one, share, spread(ZERO)))
                store(out, ot + c + 8, multiply_add(two, share, spread(ZERO)))
                c += 16
            if c < width:
                one = spread(ZERO)
                for j in range(limit):
                    one = multiply_add(spread(row[j]), load(kv, vt + named[j] * kvs + c), one)
                store(out, ot + c, multiply_add(one, share, spread(ZERO)))
