"""Several batches of a step are exchanged once, and the regularization counts once."""

from __future__ import annotations

import numpy as np

from dragoman.batch import Batch
from dragoman.graph import Array, Theta
from dragoman.loss import LossIndex, MeanSquaredError, Regularization
from dragoman.optimization import Constant, GradientDescent
from dragoman.ranks import Ranks, Reduction
from dragoman.training.step import StepSettings, TrainingStep
from dragoman.training.workers import Workers
from tests.training.perceptrons import Perceptrons


class OneOfTwo(Ranks):
    """A rank that counts how often a gradient is exchanged; the other one has nothing to add."""

    def __init__(self, first: bool) -> None:
        self.rank, self.exchanges = 0 if first else 1, 0

    def reduction(self, theta: Theta, gradient: Array) -> Reduction:
        self.exchanges += 1
        return Reduction()


def taken(accumulate: int, first: bool = True) -> tuple[OneOfTwo, Array]:
    """The ranks, and theta after one step on three batches, or one."""
    rng = np.random.default_rng(0)
    network, ranks = Perceptrons(3, 2), OneOfTwo(first)
    network.theta.values[:] = 1.0
    batches = [Batch.rows(rng.standard_normal((4, 3)), rng.standard_normal((4, 2))) for _ in range(accumulate)]
    index = LossIndex(MeanSquaredError(), Regularization("l1", 0.5))
    step = TrainingStep(network, GradientDescent(), index, Workers(), StepSettings(accumulate=accumulate), ranks)
    step.take(batches, Constant(1.0))
    return ranks, network.theta.values


def test_a_step_is_one_exchange() -> None:
    assert taken(1)[0].exchanges == 1
    assert taken(3)[0].exchanges == 1


def test_the_parts_of_all_ranks_have_the_regularization_once() -> None:
    with_it, without = taken(3)[1], taken(3, first=False)[1]
    np.testing.assert_allclose(without - with_it, 0.5, rtol=1e-9)  # the gradient of 0.5 sum |theta| at theta = 1
