"""A learned rate: the derivative it descends, and what becomes of a rate that is too low or too high."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Parameter, Theta
from dragoman.optimization import AdaGrad, Adam, AdamW, GradientDescent, LearnedRate, Optimizer, RMSprop

CURVATURES = np.array([1.0, 3.0, 0.5])
START = np.array([2.0, -1.0, 4.0])


def loss(theta: Array) -> float:
    return float(0.5 * CURVATURES @ theta**2)


@pytest.mark.ledger("N-2-step")
@pytest.mark.parametrize("make", [GradientDescent, AdaGrad, RMSprop, Adam, AdamW])
def test_the_derivative_by_the_rate_is_the_next_gradient_times_the_step(make: Callable[[], Optimizer]) -> None:
    """dL(theta_1) / d log eta = g_1 . delta, against central differences"""

    def after(rate: float) -> Array:
        theta = Theta([Parameter(START.copy())])
        make().update(theta, CURVATURES * START, rate)
        return theta.values

    rate, h = 0.1, 1e-6
    theta = after(rate)
    by_rate = (loss(after(rate * math.exp(h))) - loss(after(rate * math.exp(-h)))) / (2 * h)
    assert CURVATURES * theta @ (theta - START) == pytest.approx(by_rate, rel=1e-7)


@pytest.mark.parametrize(("rate", "higher"), [(1e-3, True), (1.9, False)])
def test_a_rate_moves_towards_one_that_serves(rate: float, higher: bool) -> None:
    """Descent on theta^2 / 2, which goes straight to 0 at rate 1 and leaves at rate 2"""
    schedule, theta, change = LearnedRate(rate, 0.1), 4.0, 0.0
    for t in range(1, 61):
        schedule.learn(float(np.sign(theta * change)))
        change = -schedule(t) * theta
        theta += change
    assert (schedule.rate > 10 * rate) if higher else (schedule.rate < 1.5)
    assert abs(theta) < (0.5 if higher else 1e-6)


@pytest.mark.parametrize("step", [-0.1, math.inf, math.nan])
def test_the_step_of_a_learned_rate_is_checked(step: float) -> None:
    with pytest.raises(ConfigurationError, match="the step of a learned rate must be finite and not negative"):
        LearnedRate(0.1, step)
