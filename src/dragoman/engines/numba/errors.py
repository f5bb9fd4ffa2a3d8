"""Softmax and cross-entropy, from logits to error, hits and delta."""

from __future__ import annotations

import math
from typing import Any

from dragoman.engines.numba.arithmetic import exponential, maximum
from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import inlined, kernel, part


@part
def reduce_row(row: Any, t: Any, smoothing: Any) -> Any:
    """(largest logit, target's logit less it, mean logit less it, whether the target is the first of the largest)

    Without smoothing the mean is 0: that of impossible labels, at -inf, would make 0 times it no number.
    """
    size = row.shape[0]
    top, total = row[0], row.dtype.type(0)
    for s in range(size):
        top = maximum(top, row[s])
        total += row[s]
    hit = row[t] == top
    if hit:
        before = 0
        for s in range(t):
            before += row[s] == top
        hit = before == 0
    mean = total / size - top if smoothing > 0 else row.dtype.type(0)
    return top, row[t] - top, mean, hit


@kernel
def log_sum_exp(x: Any, tops: Any, sums: Any) -> None:
    leave()
    for i in range(x.shape[0]):
        row = x[i]
        top = row[0]
        for s in range(row.shape[0]):
            top = maximum(top, row[s])
        total = x.dtype.type(0)
        for s in range(row.shape[0]):
            total += exponential(row[s] - top)
        tops[i] = top
        sums[i] = top + math.log(total)
    enter()


@kernel
def cross_entropy(logits: Any, targets: Any, weights: Any, total: Any, smoothing: Any) -> Any:
    """(error, hits); error = sum_j w_j (log sum_s e^z_js - (1 - smoothing) z_jt - smoothing mean(z_j)) / total"""
    leave()
    error, hits = 0.0, 0.0
    for i in range(logits.shape[0]):
        row, w = logits[i], weights[i]
        top, target, mean, hit = reduce_row(row, targets[i], smoothing)
        sums = logits.dtype.type(0)
        for s in range(row.shape[0]):
            sums += exponential(row[s] - top)
        error += w * (math.log(sums) - (1 - smoothing) * target - smoothing * mean)
        hits += w if hit else 0.0
    enter()
    return error / total, hits


@inlined
def delta_of_rows(logits: Any, dbiases: Any, targets: Any, weights: Any, total: Any, smoothing: Any) -> Any:
    """The same; the logits become their delta (4.2.4), whose rows dbiases gets (none: a vector of no size)

    In place because a second matrix would cost as much as the arithmetic.
    """
    error, hits = 0.0, 0.0
    biased = dbiases.size > 0
    for i in range(logits.shape[0]):
        row, t, w = logits[i], targets[i], weights[i]
        top, target, mean, hit = reduce_row(row, t, smoothing)
        sums = logits.dtype.type(0)
        for s in range(row.shape[0]):
            e = exponential(row[s] - top)
            row[s] = e
            sums += e
        error += w * (math.log(sums) - (1 - smoothing) * target - smoothing * mean)
        hits += w if hit else 0.0
        factor = logits.dtype.type(w / total)
        share = factor / sums
        uniform = factor * logits.dtype.type(smoothing / row.shape[0])
        aim = factor * logits.dtype.type(1 - smoothing)
        if biased:
            for s in range(row.shape[0]):
                delta = row[s] * share - uniform
                row[s] = delta
                dbiases[s] += delta
            dbiases[t] -= aim
        else:
            for s in range(row.shape[0]):
                row[s] = row[s] * share - uniform
        row[t] -= aim
    return error / total, hits


@kernel
def cross_entropy_delta(logits: Any, dbiases: Any, targets: Any, weights: Any, total: Any, smoothing: Any) -> Any:
    return delta_of_rows(logits, dbiases, targets, weights, total, smoothing)
