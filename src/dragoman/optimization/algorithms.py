"""The update rules of the thesis (chapter 5) and the notes (section 4)."""

from __future__ import annotations

import warnings
from typing import ClassVar, Literal

import numpy as np

from dragoman.errors import ConfigurationError, DragomanWarning
from dragoman.graph import Array
from dragoman.operations.vector_updates import adam_sweep
from dragoman.optimization.convergence import a_priori_conditions
from dragoman.optimization.optimizer import Optimizer


class GradientDescent(Optimizer):
    """delta = -eta g"""

    def delta(self, theta: Array, gradient: Array, rate: float, *moments: Array) -> Array:
        return -rate * gradient


class Momentum(Optimizer):
    """delta_t = beta delta_{t-1} - eta g          (thesis 5.1; the notes' v is -delta)"""

    moment_names: ClassVar[tuple[str, ...]] = ("previous",)

    def __init__(self, beta: float = 0.9) -> None:
        super().__init__()
        self.beta = _fraction("beta", beta)

    def delta(self, theta: Array, gradient: Array, rate: float, *moments: Array) -> Array:
        (previous,) = moments
        previous *= self.beta
        previous -= rate * gradient
        return previous


class AdaGrad(Optimizer):
    """G_t = G_{t-1} + g^2;  delta = -eta g / sqrt(G_t + eps)          (notes 4.2)"""

    moment_names: ClassVar[tuple[str, ...]] = ("squares",)

    def __init__(self, epsilon: float = 1e-8) -> None:
        super().__init__()
        self.epsilon = _positive("epsilon", epsilon)

    def delta(self, theta: Array, gradient: Array, rate: float, *moments: Array) -> Array:
        (squares,) = moments
        squares += gradient * gradient
        return -rate * gradient / np.sqrt(squares + self.epsilon)


class RMSprop(Optimizer):
    """E_t = gamma E_{t-1} + (1 - gamma) g^2;  delta = -eta g / sqrt(E_t + eps)          (notes 4.3)"""

    moment_names: ClassVar[tuple[str, ...]] = ("squares",)

    def __init__(self, gamma: float = 0.9, epsilon: float = 1e-8) -> None:
        super().__init__()
        self.gamma = _fraction("gamma", gamma)
        self.epsilon = _positive("epsilon", epsilon)

    def delta(self, theta: Array, gradient: Array, rate: float, *moments: Array) -> Array:
        (squares,) = moments
        squares *= self.gamma
        squares += (1 - self.gamma) * gradient * gradient
        return -rate * gradient / np.sqrt(squares + self.epsilon)


class Adam(Optimizer):
    """m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  mhat = m / (1 - b1^t);  vhat = v / (1 - b2^t)
    t counts the steps since the moments began.

    outside  delta = -eta mhat / (sqrt(vhat) + eps)          (thesis, Algorithm 5.5 and (5.2.1))
    inside   delta = -eta mhat / sqrt(vhat + eps)            (notes 4.4)
    """

    moment_names: ClassVar[tuple[str, ...]] = ("m", "v")
    decay = 0.0

    def __init__(
        self,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        form: Literal["outside", "inside"] = "outside",
    ) -> None:
        super().__init__()
        self.beta1, self.beta2 = _fraction("beta1", beta1), _fraction("beta2", beta2)
        self.epsilon = _positive("epsilon", epsilon)
        if form not in ("outside", "inside"):
            raise ConfigurationError(f"epsilon stands 'outside' or 'inside' the root, got '{form}'")
        self.form = form
        broken = a_priori_conditions(beta1, beta2)
        if broken:
            warnings.warn(
                f"beta1 = {beta1} and beta2 = {beta2} break {' and '.join(broken)} (5.2.3), which the convergence of "
                "Adam asks for; raise beta2 or lower beta1",
                DragomanWarning,
                stacklevel=2,
            )

    def delta(self, theta: Array, gradient: Array, rate: float, *moments: Array) -> Array:
        m, v = moments
        m *= self.beta1
        m += (1 - self.beta1) * gradient
        v *= self.beta2
        v += (1 - self.beta2) * gradient * gradient
        mhat = m / (1 - self.beta1**self.age)
        vhat = v / (1 - self.beta2**self.age)
        below = np.sqrt(vhat) + self.epsilon if self.form == "outside" else np.sqrt(vhat + self.epsilon)
        return -rate * mhat / below

    def apply(self, theta: Array, gradient: Array, rate: float, *moments: Array, factor: float = 1.0) -> None:
        done = adam_sweep(
            theta,
            gradient,
            *moments,
            rate=rate,
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            inside=self.form == "inside",
            age=self.age,
            decay=self.decay,
            factor=factor,
        )
        if not done:
            super().apply(theta, gradient, rate, *moments, factor=factor)


class AdamW(Adam):
    """Adam with decoupled weight decay: theta shrinks by eta * decay * theta at every step."""

    def __init__(
        self,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        form: Literal["outside", "inside"] = "outside",
        decay: float = 0.01,
    ) -> None:
        super().__init__(beta1, beta2, epsilon, form)
        if not decay >= 0:
            raise ConfigurationError(f"weight decay must not be negative, got {decay}")
        self.decay = decay

    def delta(self, theta: Array, gradient: Array, rate: float, *moments: Array) -> Array:
        return super().delta(theta, gradient, rate, *moments) - rate * self.decay * theta


def _fraction(name: str, value: float) -> float:
    if not 0 <= value < 1:
        raise ConfigurationError(f"{name} must be at least 0 and below 1, got {value}")
    return value


def _positive(name: str, value: float) -> float:
    if not value > 0:
        raise ConfigurationError(f"{name} must be above 0, got {value}")
    return value
