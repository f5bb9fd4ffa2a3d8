"""One pass over the flat vectors of a training."""

from __future__ import annotations

import math
from typing import Any

from dragoman.engines.numba.baton import enter, leave
from dragoman.engines.numba.jit import kernel
from dragoman.graph import Array
from dragoman.operations import vector_updates

ENGINE = "numba"


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
    """Algorithm 5.5 with the gradient factor * g; corrections 1 / (1 - beta^t), rests 1 - beta"""
    leave()
    for i in range(theta.size):
        g = gradient[i] * factor
        first = beta1 * m[i] + rest1 * g
        second = beta2 * v[i] + rest2 * g * g
        m[i] = first
        v[i] = second
        vhat = second * correction2
        below = math.sqrt(vhat + epsilon) if inside else math.sqrt(vhat) + epsilon
        theta[i] -= rate * (first * correction1) / below + shrink * theta[i]
    enter()


@kernel
def follow(average: Any, theta: Any, share: Any) -> None:
    leave()
    for i in range(average.size):
        average[i] += share * (theta[i] - average[i])
    enter()


@kernel
def squares(vector: Any) -> Any:
    leave()
    total = vector.dtype.type(0)
    for i in range(vector.size):
        total += vector[i] * vector[i]
    enter()
    return total


@vector_updates.sum_of_squares.register(ENGINE)
def sum_of_squares(vector: Array) -> Any:
    return float(squares(vector)) if vector.dtype.kind == "f" and vector.flags.c_contiguous else NotImplemented


@vector_updates.adam_sweep.register(ENGINE)
def adam_sweep(
    theta: Array,
    gradient: Array,
    m: Array,
    v: Array,
    *,
    rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    inside: bool,
    age: int,
    decay: float,
    factor: float,
) -> Any:
    kind = theta.dtype
    if kind.kind != "f" or any(a.dtype != kind or not a.flags.c_contiguous for a in (theta, gradient, m, v)):
        return NotImplemented
    numbers = (rate, beta1, beta2, 1 - beta1, 1 - beta2, epsilon, 1 / (1 - beta1**age), 1 / (1 - beta2**age))
    adam(theta, gradient, m, v, *map(kind.type, numbers), inside, kind.type(rate * decay), kind.type(factor))
    return True


@vector_updates.average_sweep.register(ENGINE)
def average_sweep(average: Array, theta: Array, *, decay: float) -> Any:
    kind = theta.dtype
    if kind.kind != "f" or average.dtype != kind:
        return NotImplemented
    follow(average, theta, kind.type(1 - decay))
    return True
