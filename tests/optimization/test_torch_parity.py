"""The same twenty steps by torch.optim, wherever it has the same form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.graph import Array, Parameter, Theta
from dragoman.optimization import AdaGrad, Adam, AdamW, GradientDescent, Momentum, Optimizer, RMSprop

RATE = 0.05
WITHOUT = 1e-300  # an epsilon that is not there: torch has it outside the root of AdaGrad and RMSprop, the notes inside
PAIRS: dict[str, tuple[Callable[[], Optimizer], Callable[[Any], torch.optim.Optimizer]]] = {
    "gradient descent": (GradientDescent, lambda p: torch.optim.SGD(p, RATE)),
    "momentum": (lambda: Momentum(0.8), lambda p: torch.optim.SGD(p, RATE, momentum=0.8)),
    "Adam": (Adam, lambda p: torch.optim.Adam(p, RATE)),
    "Adam, large epsilon": (
        lambda: Adam(0.7, 0.95, epsilon=0.1),
        lambda p: torch.optim.Adam(p, RATE, (0.7, 0.95), eps=0.1),
    ),
    "AdamW": (lambda: AdamW(decay=0.3), lambda p: torch.optim.AdamW(p, RATE, weight_decay=0.3)),
    "AdaGrad": (lambda: AdaGrad(WITHOUT), lambda p: torch.optim.Adagrad(p, RATE, eps=0)),
    "RMSprop": (lambda: RMSprop(0.9, WITHOUT), lambda p: torch.optim.RMSprop(p, RATE, alpha=0.9, eps=0)),
}


def slope(theta: Array) -> Array:
    """Of a function with several minima, steep in some directions and flat in others"""
    return np.array([10.0, 1.0, 0.1, 1e-3]) * theta + np.sin(3 * theta) - 0.2 * theta[::-1]


@pytest.mark.ledger("T-5.2.1-adam", "T-5.1-mom", "T-5.1-GD", "N-4-gd", "N-4.2-adagrad", "N-4.3-rms")
@pytest.mark.parametrize("name", PAIRS)
def test_twenty_steps_like_torch(name: str) -> None:
    make, make_torch = PAIRS[name]
    start = np.array([1.0, -0.7, 2.0, 0.3])
    theta, optimizer = Theta([Parameter(start.copy())]), make()
    twin = torch.tensor(start, requires_grad=True)
    oracle = make_torch([twin])
    for _ in range(20):
        optimizer.update(theta, slope(theta.values), RATE)
        twin.grad = torch.from_numpy(slope(twin.detach().numpy()))
        oracle.step()
        np.testing.assert_allclose(theta.values, twin.detach().numpy(), rtol=0, atol=1e-12)
    assert np.abs(theta.values - start).max() > 0.1
