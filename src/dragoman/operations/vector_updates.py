"""Sweeps over the flat vectors of a training. Without an engine that implements them, most return False.

The equations stand where they belong, in `optimization` and in the training loop; these are the places where an engine
does them in one pass over memory.
"""

from __future__ import annotations

import numpy as np

from dragoman.graph import Array, dispatched


@dispatched
def sum_of_squares(vector: Array) -> float:
    return float(np.dot(vector, vector))


@dispatched
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
) -> bool:
    """Adam (or AdamW) of one segment in one pass: theta, m and v change. False: nothing was done.

    factor  multiplies the gradient
    """
    return False


@dispatched
def average_sweep(average: Array, theta: Array, *, decay: float) -> bool:
    """average <- decay * average + (1 - decay) * theta. False: nothing was done."""
    return False
