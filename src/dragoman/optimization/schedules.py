"""Learning-rate schedules: the rate of step t = 1, 2, 3, ..."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol, Self

from dragoman.errors import ConfigurationError


class Schedule(Protocol):
    def __call__(self, t: int) -> float: ...


@dataclass(frozen=True)
class Constant:
    rate: float

    def __post_init__(self) -> None:
        _check_rate(self.rate)

    def __call__(self, t: int) -> float:
        return self.rate


@dataclass(frozen=True)
class ThesisWarmUp:
    """eta_t = eta_0 min(t^-1/2, t t_w^-3/2)          (thesis, after Observation 5.6)

    The rate rises to its peak eta_0 / sqrt(t_w) at t = t_w; with the thesis's 0.001 and 4000 that is 1.58e-5.
    """

    rate: float = 0.001
    warm_up: int = 4000

    def __post_init__(self) -> None:
        _check_rate(self.rate)
        _at_least_one("warm_up", self.warm_up)

    def __call__(self, t: int) -> float:
        _at_least_one("t", t)
        return self.rate * min(1 / math.sqrt(t), t / math.sqrt(self.warm_up) ** 3)


@dataclass(frozen=True)
class Falling(ABC):
    """Base class: linear warm-up to `peak` over `warm_up` steps, then a fall to `floor` at `steps`.

    replans  ((step, progress), ...): where `steps` was changed, and how much of the fall was done there
    """

    peak: float
    steps: int
    warm_up: int = 0
    floor: float = 0.0
    replans: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        _check_rate(self.peak)
        if not 0 <= self.warm_up < self.steps:
            raise ConfigurationError(f"warm_up must be at least 0 and below steps, got {self.warm_up} of {self.steps}")
        points = [(self.warm_up, 0.0), *self.replans, (self.steps, 1.0)]
        if any(a >= b or p > q for (a, p), (b, q) in pairwise(points)):
            raise ConfigurationError(f"replans must rise from the warm-up to the last step, got {points}")

    def __call__(self, t: int) -> float:
        _at_least_one("t", t)
        if t <= self.warm_up:
            return self.peak * t / self.warm_up
        return self._fall(self._progress(t))

    def _progress(self, t: int) -> float:
        """Return the share of the fall that is done at step t: linear between one plan and the next."""
        start, done = self.warm_up, 0.0
        end, then = self.steps, 1.0
        for step, progress in self.replans:
            if step >= t:
                end, then = step, progress
                break
            start, done = step, progress
        return min(1.0, done + (then - done) * ((t - start) / (end - start)))

    def replanned(self, t: int, steps: int) -> Self:
        """Return a schedule that ends at `steps`. Rates up to step t stay, and the rate does not jump.

        What is left of the fall is stretched or compressed. In the warm-up the rate goes on rising if the fall still
        has at least as many steps; otherwise it falls from where it is.
        """
        if steps <= t:
            raise ConfigurationError(f"a schedule can end after step {t} at the earliest, got {steps}")
        if t < self.warm_up:
            if steps >= 2 * self.warm_up:
                return replace(self, steps=steps)
            return replace(self, peak=self(t) if t else self.peak, warm_up=t, steps=steps)
        kept = tuple(replan for replan in self.replans if replan[0] < t)
        here = ((t, self._progress(t)),) if t > self.warm_up else ()
        return replace(self, steps=steps, replans=kept + here)

    def state(self) -> dict[str, Any]:
        """Return the state of a replanned schedule for a checkpoint."""
        return {"peak": self.peak, "steps": self.steps, "warm_up": self.warm_up, "replans": list(self.replans)}

    def restored(self, state: dict[str, Any]) -> Self:
        replans = tuple((int(step), float(progress)) for step, progress in state["replans"])
        return replace(self, peak=state["peak"], steps=state["steps"], warm_up=state["warm_up"], replans=replans)

    @abstractmethod
    def _fall(self, progress: float) -> float:
        """Return the rate after the warm-up: `peak` at progress 0, `floor` at 1."""


@dataclass(frozen=True)
class LinearDecay(Falling):
    """Linear warm-up to `peak` over `warm_up` steps, then linear decay to `floor` at `steps`."""

    def _fall(self, progress: float) -> float:
        return self.peak + (self.floor - self.peak) * progress


@dataclass(frozen=True)
class Cosine(Falling):
    """Linear warm-up to `peak` over `warm_up` steps, then half a cosine to `floor` at `steps`."""

    def _fall(self, progress: float) -> float:
        fall = (1 + math.cos(math.pi * progress)) / 2
        return self.floor + (self.peak - self.floor) * fall


@dataclass
class Plateau:
    """Multiplies the rate by `factor` after `patience` observations in a row without a lower error."""

    rate: float
    factor: float = 0.5
    patience: int = 3
    floor: float = 0.0
    best: float = field(default=math.inf, init=False)
    bad_evaluations: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        _check_rate(self.rate)
        if not 0 < self.factor < 1:
            raise ConfigurationError(f"a plateau factor must be between 0 and 1, got {self.factor}")
        _at_least_one("patience", self.patience)

    def __call__(self, t: int) -> float:
        return self.rate

    def observe(self, error: float) -> None:
        """Observe an error; training calls this at every evaluation."""
        if error < self.best:
            self.best, self.bad_evaluations = error, 0
            return
        self.bad_evaluations += 1
        if self.bad_evaluations >= self.patience:
            self.rate, self.bad_evaluations = max(self.floor, self.rate * self.factor), 0


@dataclass
class LearnedRate:
    """Learns the rate with the weights, by descent on its logarithm          (notes 2: a learnable step size)

    theta_t = theta_{t-1} + delta and delta is proportional to the rate, so dL(theta_t) / d log eta = g_t . delta:
    a step that the next gradient confirms makes the rate grow, one that it turns back makes it shrink.
    log eta changes by -`step` times the cosine between g_t and delta, which does not depend on the scale of either.
    """

    rate: float
    step: float = 0.02

    def __post_init__(self) -> None:
        _check_rate(self.rate)
        if not 0 <= self.step < math.inf:
            raise ConfigurationError(f"the step of a learned rate must be finite and not negative, got {self.step}")

    def __call__(self, t: int) -> float:
        return self.rate

    def learn(self, cosine: float) -> None:
        """Take one step; training calls this before every update, with the cosine between gradient and last change."""
        self.rate *= math.exp(-self.step * cosine)


def _check_rate(rate: float) -> None:
    if not 0 <= rate < math.inf:
        raise ConfigurationError(f"a learning rate must be finite and not negative, got {rate}")


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise ConfigurationError(f"{name} must be at least 1, got {value}")
