"""Updates of the flat vectors of a training: parameters, moments, averages."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dragoman.engines.numba.jit import kernel
from dragoman.engines.numba.threads.spin_gate import acquire, release


class AdamStep(NamedTuple):
    """The numbers of one step of Adam, in the precision of theta.

    rest = 1 - beta   correction = 1 / (1 - beta^t)   shrink = rate * weight decay   factor  of the gradient
    """

    inside: bool  # epsilon inside the root
    rate: float
    beta1: float
    beta2: float
    rest1: float
    rest2: float
    epsilon: float
    correction1: float
    correction2: float
    shrink: float
    factor: float


@kernel
def adam(theta: Any, gradient: Any, m: Any, v: Any, numbers: Any) -> None:
    """Algorithm 5.5; numbers: of an AdamStep (a plain tuple, which numba recognizes faster)"""
    release()
    step = AdamStep(*numbers)
    for i in range(theta.size):
        g = gradient[i] * step.factor
        first = step.beta1 * m[i] + step.rest1 * g
        second = step.beta2 * v[i] + step.rest2 * g * g
        m[i] = first
        v[i] = second
        vhat = second * step.correction2
        below = math.sqrt(vhat + step.epsilon) if step.inside else math.sqrt(vhat) + step.epsilon
        theta[i] -= step.rate * (first * step.correction1) / below + step.shrink * theta[i]
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
