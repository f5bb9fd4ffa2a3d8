"""Registers the updates of theta, its moments and its average."""

from __future__ import annotations

from typing import Any

from dragoman.engines.numba.kernels import vector_updates as kernels
from dragoman.engines.numba.ops.arguments import vectors, writable
from dragoman.graph import Array
from dragoman.operations import vector_updates

ENGINE = "numba"


@vector_updates.sum_of_squares.register(ENGINE)
def sum_of_squares(vector: Array) -> Any:
    return float(kernels.squared_norm(vector)) if vectors(vector) else NotImplemented


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
    if not vectors(theta, gradient, m, v) or not writable(theta, m, v):
        return NotImplemented
    corrections = 1 / (1 - beta1**age), 1 / (1 - beta2**age)
    numbers = (rate, beta1, beta2, 1 - beta1, 1 - beta2, epsilon, *corrections, rate * decay, factor)
    kernels.adam(theta, gradient, m, v, (inside, *map(kind.type, numbers)))
    return True


@vector_updates.average_sweep.register(ENGINE)
def average_sweep(average: Array, theta: Array, *, decay: float) -> Any:
    kind = theta.dtype
    if not vectors(average, theta) or not writable(average):
        return NotImplemented
    kernels.update_average(average, theta, kind.type(1 - decay))
    return True
