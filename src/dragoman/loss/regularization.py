"""Regularization: a function of the parameters alone (Definition 4.3), with its gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Theta


@dataclass(frozen=True)
class Regularization:
    """coefficient * norm of the trainable parameters.

    l1  sum |theta_u|                 gradient sign(theta)           (Example 2.1)
    l2  sqrt(sum theta_u^2)           gradient theta / norm          (Example 2.2: not squared)
    Both have gradient 0 at 0. Frozen parameters take no part.
    """

    norm: Literal["l1", "l2"]
    coefficient: float = 1.0

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2"):
            raise ConfigurationError(f"a regularization norm is 'l1' or 'l2', got '{self.norm}'")
        if not self.coefficient >= 0:
            raise ConfigurationError(f"a regularization coefficient is not negative, got {self.coefficient}")

    def value(self, theta: Theta) -> float:
        if self.norm == "l1":
            size = sum(float(np.abs(theta.values[s]).sum()) for s in theta.trainable())
        else:
            size = _norm2(theta)
        return self.coefficient * size

    def add_gradient(self, theta: Theta, gradient: Array) -> None:
        """gradient += d omega / d theta"""
        size = _norm2(theta) if self.norm == "l2" else 0.0
        for s in theta.trainable():
            if self.norm == "l1":
                gradient[s] += self.coefficient * np.sign(theta.values[s])
            elif size:
                gradient[s] += self.coefficient / size * theta.values[s]


def _norm2(theta: Theta) -> float:
    squares = sum(float(np.square(theta.values[s], dtype=np.float64).sum()) for s in theta.trainable())
    return math.sqrt(squares)
