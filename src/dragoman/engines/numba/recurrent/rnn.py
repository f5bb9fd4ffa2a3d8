"""The simple recurrent network's state: operations.recurrent.rnn."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import kernel, part
from dragoman.engines.numba.panels import widened
from dragoman.engines.numba.recurrent.curves import logistic, tanh
from dragoman.engines.numba.recurrent.products import lay_out, multiply
from dragoman.engines.numba.recurrent.steps import add, arranged, clear, copy, heard, ordered, restored
from dragoman.operations.activations import GELU_CUBE, GELU_SLOPE

IDENTITY, RELU, LOGISTIC, TANH, GELU = range(5)
ACTIVATIONS = {"identity": IDENTITY, "relu": RELU, "logistic": LOGISTIC, "tanh": TANH, "gelu": GELU}


@kernel
def forward(
    products: Any,
    x: Any,
    weights: Any,
    initial: Any,
    activation: Any,
    offsets: Any,
    reverse: Any,
    h: Any,
    final: Any,
    slopes: Any,
) -> None:
    """slopes [N, m] of the activation are kept for the way back"""
    leave()
    m = weights.shape[0]
    order, first, counts, by = arranged(offsets, reverse)
    panels = lay_out(products, weights, 0, m, False)
    state, sums = ordered(initial, order, m), np.zeros((counts[0], widened(m)), x.dtype)
    for t in range(counts.shape[0] - 1):
        if t > 0 or initial.size > 0:
            multiply(products, state, counts[t], panels, weights, 0, m, False, sums)
        for i in range(counts[t]):
            row = first[i] + by * t
            _activate(activation, x[row], sums[i], h[row], slopes[row])
            copy(h[row], state[i], m)
    restored(state, order, final)
    enter()


@part
def _activate(activation: Any, x: Any, sums: Any, y: Any, slopes: Any) -> None:
    m, zero, one = x.shape[0], x.dtype.type(0), x.dtype.type(1)
    if activation == TANH:
        for j in range(m):
            y[j] = tanh(x[j] + sums[j])
            slopes[j] = one - y[j] * y[j]
    elif activation == LOGISTIC:
        for j in range(m):
            y[j] = logistic(x[j] + sums[j])
            slopes[j] = y[j] * (one - y[j])
    elif activation == RELU:
        for j in range(m):
            z = x[j] + sums[j]
            y[j] = z if z > 0 else z * zero  # what is no number stays none
            slopes[j] = one if z > 0 else zero
    elif activation == GELU:
        _gelu(x, sums, y, slopes)
    else:
        for j in range(m):
            y[j] = x[j] + sums[j]
            slopes[j] = one


@part
def _gelu(x: Any, sums: Any, y: Any, slopes: Any) -> None:
    k, cube, three = x.dtype.type(GELU_SLOPE), x.dtype.type(GELU_CUBE), x.dtype.type(3)
    half, one = x.dtype.type(0.5), x.dtype.type(1)
    for j in range(x.shape[0]):
        z = x[j] + sums[j]
        t = tanh(k * (z + cube * z * z * z))
        y[j] = half * z * (one + t)
        slopes[j] = half * (one + t) + half * z * (one - t * t) * k * (one + three * cube * z * z)


@kernel
def backward(
    products: Any,
    weights: Any,
    initial: Any,
    offsets: Any,
    reverse: Any,
    cut: Any,
    slopes: Any,
    dh: Any,
    dfinal: Any,
    dinitial: Any,
) -> None:
    """dx is written over the slopes; dh, dfinal of no size: there is none"""
    leave()
    m = weights.shape[0]
    order, first, counts, by = arranged(offsets, reverse)
    panels = lay_out(products, weights, 0, m, True)
    passed, dsums = ordered(dfinal, order, widened(m)), np.empty((counts[0], m), slopes.dtype)
    for t in range(counts.shape[0] - 2, -1, -1):
        for i in range(counts[t]):
            row = first[i] + by * t
            if dh.size > 0:
                add(dh[row], passed[i], m)
            _scale(passed[i], slopes[row])
            copy(slopes[row], dsums[i], m)
        if not heard(t, cut):
            clear(passed, counts[t])
        elif t > 0 or initial.size > 0:
            multiply(products, dsums, counts[t], panels, weights, 0, m, True, passed)
    restored(passed, order, dinitial)
    enter()


@part
def _scale(zeta: Any, slopes: Any) -> None:
    for j in range(slopes.shape[0]):
        slopes[j] *= zeta[j]
