"""Updates of the flat vectors of a training: parameters, moments, averages."""

from __future__ import annotations

import math
from typing import Any

from dragoman.engines.numba.jit import kernel
from dragoman.engines.numba.threads.spin_gate import acquire, release


@kernel
def adam(
    theta: Any,
    gradient: Any,
    m: Any,
    v: Any,
    rate: Any,
    beta1: Any,
    beta2: Any,
    rest1: Any,
    rest2: Any,
    epsilon: Any,
    correction1: Any,
    correction2: Any,
    inside: Any,
    shrink: Any,
    factor: Any,
) -> None:
    """Algorithm 5.5 with the gradient factor * g; rest = 1 - beta, correction = 1 / (1 - beta^t)"""
    release()
    for i in range(theta.size):
        g = gradient[i] * factor
        first = beta1 * m[i] + rest1 * g
        second = beta2 * v[i] + rest2 * g * g
        m[i] = first
        v[i] = second
        vhat = second * correction2
        below = math.sqrt(vhat + epsilon) if inside else math.sqrt(vhat) + epsilon
        theta[i] -= rate * (first * correction1) / below + shrink * theta[i]
    acquire()


@kernel
def update_average(average: Any, theta: Any, share: Any) -> None:
    release()
    for i in range(average.size):
        average[i] += share * (theta[i] - average[i])
    acquire()


@kernel
def squared_norm(vector: Any) -> Any:
    release()
    total = vector.dtype.type(0)
    for i in range(vector.size):
        total += vector[i] * vector[i]
    acquire()
    return total
