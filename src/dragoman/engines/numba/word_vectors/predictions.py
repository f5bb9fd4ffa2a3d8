"""One prediction and its updates: negative sampling or the full softmax (operations.word_vectors)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dragoman.engines.numba.jit import device_function
from dragoman.engines.numba.kernels.row_kernels import GOLDEN, mix
from dragoman.engines.numba.simd.elementwise import exponential

S32 = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
TINY = 1e-100  # take the logarithm of a product of probabilities before it underflows


@device_function
def product(a: Any, b: Any) -> Any:
    total = a.dtype.type(0)
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@device_function
def add_multiple(factor: Any, x: Any, y: Any) -> None:
    """y <- y + factor x"""
    for j in range(x.shape[0]):
        y[j] += factor * x[j]


@device_function
def clear(x: Any) -> None:
    for j in range(x.shape[0]):
        x[j] = 0


@device_function
def exp(x: Any) -> Any:
    """e^x; a separate function, so that it is compiled once."""
    return exponential(x)


class Drawing(NamedTuple):
    """The distribution of negatives (operations.vector_steps.Plan), buffers of one prediction, and the error so far."""

    negatives: Any
    shares: Any
    others: Any
    rows: Any
    times: Any
    scores: Any
    dh: Any
    tally: Any


@device_function
def add_error(tally: Any, probability: Any) -> None:
    """Add -log(probability) to the error, tally[0] - log tally[1], with few calls of log."""
    tally[1] *= probability
    if tally[1] < TINY:
        tally[0] -= math.log(tally[1])
        tally[1] = 1.0


@device_function
def draw_words(target: Any, row_key: Any, number: Any, drawing: Any) -> Any:
    """rows: the target, then the drawn words other than the target, each once; times: how often each was drawn.

    A word drawn twice gets one update of twice the size.
    """
    shares, rows, times = drawing.shares, drawing.rows, drawing.times
    rows[0], times[0] = target, 1
    used = 1
    for k in range(drawing.negatives):
        word = mix(np.uint32(row_key + np.uint32(number + k) * GOLDEN))
        wide = np.uint64(word) * np.uint64(shares.shape[0])
        column = np.int64(wide >> S32)
        label = column if np.uint32(wide & LOW) <= shares[column] else np.int64(drawing.others[column])
        found = 0
        while found < used and rows[found] != label:
            found += 1
        if found == used:
            rows[used], times[used] = label, 1
            used += 1
        elif found > 0:
            times[found] += 1
    return used


@device_function
def negative_step(h: Any, outputs: Any, used: Any, rate: Any, drawing: Any) -> None:
    """operations.negative_sampling of one h: updates the outputs; dh receives the update of h."""
    rows, times, scores, dh = drawing.rows, drawing.times, drawing.scores, drawing.dh
    one = h.dtype.type(1)
    for k in range(used):
        scores[k] = product(h, outputs[rows[k]])
    for k in range(used):
        against = -scores[k] if k == 0 else scores[k]
        right = one / (one + exp(against))
        wrong = one / (one + exp(-against))
        for _ in range(times[k]):
            add_error(drawing.tally, right)
        scores[k] = rate * wrong if k == 0 else -rate * wrong * h.dtype.type(times[k])
    clear(dh)
    for k in range(used):
        update_pair(scores[k], h, dh, outputs[rows[k]])


@device_function
def softmax_step(h: Any, outputs: Any, target: Any, rate: Any, drawing: Any) -> None:
    """operations.word_vectors.predict of one h over all words; updates as in negative_step."""
    scores, dh = drawing.scores, drawing.dh
    top, total = -h.dtype.type(np.inf), h.dtype.type(0)
    for w in range(outputs.shape[0]):
        scores[w] = product(h, outputs[w])
        top = max(top, scores[w])
    for w in range(outputs.shape[0]):
        scores[w] = exp(scores[w] - top)
        total += scores[w]
    add_error(drawing.tally, scores[target] / total)
    clear(dh)
    for w in range(outputs.shape[0]):
        wanted = h.dtype.type(1 if w == target else 0)
        update_pair(rate * (wanted - scores[w] / total), h, dh, outputs[w])


@device_function
def update_pair(factor: Any, h: Any, dh: Any, u: Any) -> None:
    """u <- u + factor h and dh <- dh + factor u, with the old u"""
    for j in range(h.shape[0]):
        old = u[j]
        dh[j] += factor * old
        u[j] = old + factor * h[j]


@device_function
def predict(h: Any, outputs: Any, target: Any, row_key: Any, number: Any, rate: Any, drawing: Any) -> None:
    """h predicts the target; number: index of the prediction at this position, for its random draws."""
    if drawing.negatives == 0:
        softmax_step(h, outputs, target, rate, drawing)
    else:
        used = draw_words(target, row_key, number * drawing.negatives, drawing)
        negative_step(h, outputs, used, rate, drawing)
