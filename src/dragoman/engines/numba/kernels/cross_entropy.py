"""Softmax and cross-entropy, from logits to error, hits and delta."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dragoman.engines.numba.jit import device_function, inlined, kernel
from dragoman.engines.numba.simd.elementwise import exponential, maximum
from dragoman.engines.numba.threads.spin_gate import acquire, release
from dragoman.graph import Array


class WeightedTargets(NamedTuple):
    """The target of each row, its weight, the divisor of the weighted sum, and the label smoothing.

    Python passes a plain tuple, which numba recognizes faster.
    """

    labels: Array
    weights: Array
    total: float
    smoothing: float


@device_function
def reduce_row(row: Any, t: Any, smoothing: Any) -> Any:
    """(largest logit, target's logit minus it, mean logit minus it, whether the target is the first of the largest)

    Without smoothing the mean is 0: logits of -inf would make 0 times their mean NaN.
    """
    size = row.shape[0]
    highest, total = row[0], row.dtype.type(0)
    for s in range(size):
        highest = maximum(highest, row[s])
        total += row[s]
    hit = row[t] == highest
    if hit:
        before = 0
        for s in range(t):
            before += row[s] == highest
        hit = before == 0
    mean = total / size - highest if smoothing > 0 else row.dtype.type(0)
    return highest, row[t] - highest, mean, hit


@kernel
def log_sum_exp(x: Any, tops: Any, sums: Any) -> None:
    release()
    for i in range(x.shape[0]):
        row = x[i]
        highest = row[0]
        for s in range(row.shape[0]):
            highest = maximum(highest, row[s])
        total = x.dtype.type(0)
        for s in range(row.shape[0]):
            total += exponential(row[s] - highest)
        tops[i] = highest
        sums[i] = highest + math.log(total)
    acquire()


@kernel
def cross_entropy(logits: Any, targets: Any) -> Any:
    """(error, hits); error = sum_j w_j (log sum_s e^z_js - (1 - smoothing) z_jt - smoothing mean(z_j)) / total"""
    release()
    labels, weights, total, smoothing = targets
    error, hits = 0.0, 0.0
    for i in range(logits.shape[0]):
        row, w = logits[i], weights[i]
        highest, target, mean, hit = reduce_row(row, labels[i], smoothing)
        sums = logits.dtype.type(0)
        for s in range(row.shape[0]):
            sums += exponential(row[s] - highest)
        error += w * (math.log(sums) - (1 - smoothing) * target - smoothing * mean)
        hits += w if hit else 0.0
    acquire()
    return error / total, hits


@inlined
def cross_entropy_rows(logits: Any, dbiases: Any, targets: WeightedTargets) -> Any:
    """(error, hits); overwrites the logits with their delta (4.2.4), whose rows are added to dbiases (none: empty)

    In place, because writing a second matrix would cost as much as the arithmetic.
    """
    labels, weights, total, smoothing = targets
    error, hits = 0.0, 0.0
    biased = dbiases.size > 0
    for i in range(logits.shape[0]):
        row, t, w = logits[i], labels[i], weights[i]
        highest, target, mean, hit = reduce_row(row, t, smoothing)
        sums = logits.dtype.type(0)
        for s in range(row.shape[0]):
            e = exponential(row[s] - highest)
            row[s] = e
            sums += e
        error += w * (math.log(sums) - (1 - smoothing) * target - smoothing * mean)
        hits += w if hit else 0.0
        factor = logits.dtype.type(w / total)
        share = factor / sums
        uniform = factor * logits.dtype.type(smoothing / row.shape[0])
        target_share = factor * logits.dtype.type(1 - smoothing)
        if biased:
            for s in range(row.shape[0]):
                delta = row[s] * share - uniform
                row[s] = delta
                dbiases[s] += delta
            dbiases[t] -= target_share
        else:
            for s in range(row.shape[0]):
                row[s] = row[s] * share - uniform
        row[t] -= target_share
    return error / total, hits


@kernel
def cross_entropy_delta(logits: Any, dbiases: Any, targets: Any) -> Any:
    return cross_entropy_rows(logits, dbiases, WeightedTargets(*targets))
