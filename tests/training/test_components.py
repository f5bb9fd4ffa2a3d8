"""Dataset, network, loss index, optimization algorithm: each replaced with the three others left as they are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dragoman.batch import Batch
from dragoman.graph import Value
from dragoman.loss import CrossEntropy, LossIndex, Regularization
from dragoman.operations import mean_squared_error
from dragoman.optimization import Adam, Constant, GradientDescent
from dragoman.training import Stopping, train
from tests.training.perceptrons import Perceptrons, rows


def squared(outputs: Value, batch: Batch, total: float | None = None) -> tuple[Value, float]:
    """Mean squared error of the same labels, as corners of the simplex"""
    return mean_squared_error(outputs, targets=np.eye(2)[batch.targets], total=total), 0.0


def ring(inner: float) -> Batch:
    """Near the origin or far from it"""
    rng = np.random.default_rng(0)
    radius = np.r_[rng.uniform(0, inner, 30), rng.uniform(inner + 0.5, 2, 30)]
    angle = rng.uniform(0, 2 * np.pi, 60)
    points = radius * np.array([np.cos(angle), np.sin(angle)])
    return rows(points.T, np.arange(60) // 30)


BASE: dict[str, Any] = {
    "dataset": lambda: ring(0.5),
    "network": lambda: Perceptrons(2, 16, 2),
    "loss": lambda: LossIndex(CrossEntropy()),
    "optimizer": lambda: (Adam(), Constant(0.02)),
}
SWAPS: dict[str, Any] = {
    "none": {},
    "another dataset": {"dataset": lambda: ring(1.0)},
    "another network": {"network": lambda: Perceptrons(2, 8, 8, 2, activation="tanh")},
    "mean squared error": {"loss": lambda: LossIndex(squared)},
    "regularization": {"loss": lambda: LossIndex(CrossEntropy(), Regularization("l2", 0.001))},
    "gradient descent": {"optimizer": lambda: (GradientDescent(), Constant(0.5))},
    "mean squared error and gradient descent": {
        "loss": lambda: LossIndex(squared),
        "optimizer": lambda: (GradientDescent(), Constant(0.5)),
    },
}


@pytest.mark.ledger("T-1.3-components")
@pytest.mark.parametrize("swap", SWAPS)
def test_any_component_is_replaced_alone(swap: str) -> None:
    parts = {name: make() for name, make in (BASE | SWAPS[swap]).items()}
    dataset, network = parts["dataset"], parts["network"]
    outcome = train(network, itertools.repeat(dataset), *parts["optimizer"], Stopping(400), parts["loss"])
    assert outcome.losses[-1].index < 0.3 * outcome.losses[0].index
    predicted = network.plain(dataset).argmax(axis=1)
    assert (predicted == dataset.targets).mean() > 0.95
