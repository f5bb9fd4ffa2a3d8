"""Where an optimizer goes when it is given one gradient after another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dragoman.graph import Array, Parameter, Theta
from dragoman.optimization import Adam, Constant, Optimizer, Schedule

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # of Adam
RATE = Constant(0.1)
GRADIENTS = np.random.default_rng(5).standard_normal(40)


def point(*values: float) -> Theta:
    """A theta of plain numbers, without a network."""
    return Theta([Parameter(np.array(values, np.float64))])


def path(optimizer: Optimizer, gradients: Array, schedule: Schedule = RATE) -> Array:
    """theta after each step from 0, when step t is given gradient t: [T], or [T, p] for gradients [T, p]."""
    theta = point(*np.zeros_like(np.atleast_1d(gradients[0])))
    found = []
    for t, gradient in enumerate(gradients, start=1):
        optimizer.update(theta, np.atleast_1d(gradient), schedule(t))
        found.append(theta.values.copy())
    return np.array(found).reshape(np.shape(gradients))


def written(recurrence: Iterator[float]) -> Array:
    """theta after each step of a printed recurrence"""
    return np.fromiter(recurrence, np.float64)


def averages(values: Array, beta: float) -> Array:
    """The moment recurrence solved: (1 - b) sum_tau b^(t - tau) x_tau for every t"""
    powers = np.arange(len(values))
    ages = np.subtract.outer(powers, powers)
    solved: Array = (1 - beta) * np.where(ages >= 0, beta ** np.maximum(ages, 0), 0.0) @ values
    return solved


def moments(gradients: Array) -> dict[str, Array]:
    """Adam's moments after each step"""
    optimizer, theta = Adam(), point(0.0)
    found: dict[str, list[float]] = {"m": [], "v": []}
    for gradient in gradients:
        optimizer.update(theta, np.array([gradient]), 0.1)
        for name, kept in found.items():
            kept.append(float(optimizer.moments[name][0]))
    return {name: np.array(kept) for name, kept in found.items()}
