"""The simple recurrent network: operations.recurrent.rnn."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.engines.activations import GELU, LOGISTIC, RELU, TANH
from dragoman.engines.numba.gemm.packed_weights import round_up_to_panel
from dragoman.engines.numba.gemm.recurrent_gemm import multiply_step, pack_weights
from dragoman.engines.numba.jit import inlined, kernel
from dragoman.engines.numba.kernels.activations import logistic, tanh
from dragoman.engines.numba.recurrent.time_steps import (
    TimeSteps,
    add,
    clear,
    copy,
    flows_back,
    gather_states,
    scatter_states,
    sort_by_length,
)
from dragoman.engines.numba.threads.spin_gate import acquire, release
from dragoman.operations.activations import GELU_CUBE, GELU_SLOPE


@kernel
def forward(
    gemms: Any,
    x: Any,
    weights: Any,
    initial: Any,
    activation: Any,
    steps: Any,
    h: Any,
    final: Any,
    slopes: Any,
) -> None:
    """slopes [N, m] of the activation are saved for the backward pass"""
    release()
    m = weights.shape[0]
    time_steps = TimeSteps(*steps)
    order, first, counts, direction = sort_by_length(time_steps)
    packed = pack_weights(gemms, weights, 0, m, False)
    state, sums = gather_states(initial, order, m), np.zeros((counts[0], round_up_to_panel(m)), x.dtype)
    for t in range(counts.shape[0] - 1):
        if t > 0 or initial.size > 0:
            multiply_step(gemms, state, counts[t], packed, weights, 0, m, False, sums)
        for i in range(counts[t]):
            row = first[i] + direction * t
            _activate(activation, x[row], sums[i], h[row], slopes[row])
            copy(h[row], state[i], m)
    scatter_states(state, order, final)
    acquire()


@inlined
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
            y[j] = z if z > 0 else z * zero  # NaN propagates
            slopes[j] = one if z > 0 else zero
    elif activation == GELU:
        _gelu(x, sums, y, slopes)
    else:
        for j in range(m):
            y[j] = x[j] + sums[j]
            slopes[j] = one


@inlined
def _gelu(x: Any, sums: Any, y: Any, slopes: Any) -> None:
    """By tanh, not by gelu_denominator: the slope needs tanh as well."""
    k, cube, three = x.dtype.type(GELU_SLOPE), x.dtype.type(GELU_CUBE), x.dtype.type(3)
    half, one = x.dtype.type(0.5), x.dtype.type(1)
    for j in range(x.shape[0]):
        z = x[j] + sums[j]
        t = tanh(k * (z + cube * z * z * z))
        y[j] = half * z * (one + t)
        slopes[j] = half * (one + t) + half * z * (one - t * t) * k * (one + three * cube * z * z)


@kernel
def backward(
    gemms: Any,
    weights: Any,
    initial: Any,
    steps: Any,
    slopes: Any,
    dh: Any,
    dfinal: Any,
    dinitial: Any,
) -> None:
    """dx overwrites the slopes; dh, dfinal: empty if there is none"""
    release()
    m = weights.shape[0]
    time_steps = TimeSteps(*steps)
    order, first, counts, direction = sort_by_length(time_steps)
    packed = pack_weights(gemms, weights, 0, m, True)
    passed, dsums = gather_states(dfinal, order, round_up_to_panel(m)), np.empty((counts[0], m), slopes.dtype)
    for t in range(counts.shape[0] - 2, -1, -1):
        for i in range(counts[t]):
            row = first[i] + direction * t
            if dh.size > 0:
                add(dh[row], passed[i], m)
            _scale(passed[i], slopes[row])
            copy(slopes[row], dsums[i], m)
        if not flows_back(t, time_steps):
            clear(passed, counts[t])
        elif t > 0 or initial.size > 0:
            multiply_step(gemms, dsums, counts[t], packed, weights, 0, m, True, passed)
    scatter_states(passed, order, dinitial)
    acquire()


@inlined
def _scale(zeta: Any, slopes: Any) -> None:
    for j in range(slopes.shape[0]):
        slopes[j] *= zeta[j]
