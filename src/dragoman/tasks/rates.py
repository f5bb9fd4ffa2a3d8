"""Warn of planned learning rates that are too small to train a network."""

from __future__ import annotations

import math

import numpy as np

from dragoman.graph import value_of
from dragoman.networks import Network
from dragoman.tasks import components
from dragoman.tasks.configuration import OptimizerSettings

NORMALIZED = ("adam", "adamw", "rmsprop")  # a step moves a weight by about the rate, however large the gradient is
SHARE = 0.05  # of the initial size of the weights
FEWEST = 1000  # steps; in shorter trainings gradients agree, and move the weights further than noise does
SAMPLED = 1000  # steps whose rates are computed


def too_low(settings: OptimizerSettings, network: Network, steps: float) -> str | None:
    """Return a warning if the planned rates hardly move the weights from where they begin, or None.

    Gradients of batches are mostly noise, so T steps with the rates r_1 ... r_T move a weight by about
    sqrt(r_1^2 + ... + r_T^2). Compared with the root mean square of the initial weights.
    """
    if settings.algorithm not in NORMALIZED or not FEWEST <= steps < math.inf:
        return None
    schedule = components.schedule(settings)
    rates = np.array([schedule(int(t)) for t in np.linspace(1, steps, SAMPLED)])
    moved = math.sqrt(steps * float(np.square(rates).mean()))
    matrices = [value_of(parameter) for parameter in network.parameters() if value_of(parameter).ndim > 1]
    squares = sum(float(np.linalg.norm(matrix)) ** 2 for matrix in matrices)
    size = math.sqrt(squares / max(1, sum(matrix.size for matrix in matrices)))
    if moved >= SHARE * size:
        return None
    remedy = "raise optimizer.rate"
    if settings.schedule == "thesis_as_printed":
        remedy = "optimizer.schedule = thesis has optimizer.rate as its peak"
    return (
        f"the planned rates hardly move the weights: with a peak of {rates.max():.2g} over {int(steps):,} steps they "
        f"change by about {moved:.2g}, and begin at {size:.2g}; {remedy}"
    )
