"""Learning-rate schedules: the rate of step t = 1, 2, 3, ..."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

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
class LinearDecay:
    """Rises in a line to `peak` over `warm_up` steps, then falls in a line to `floor` at `steps`."""

    peak: float
    steps: int
    warm_up: int = 0
    floor: float = 0.0

    def __post_init__(self) -> None:
        _check_rate(self.peak)
        _check_span(self.steps, self.warm_up)

    def __call__(self, t: int) -> float:
        _at_least_one("t", t)
        if t <= self.warm_up:
            return self.peak * t / self.warm_up
        return self.peak + (self.floor - self.peak) * _progress(t, self.warm_up, self.steps)


@dataclass(frozen=True)
class Cosine:
    """Rises in a line to `peak` over `warm_up` steps, then falls along half a cosine to `floor` at `steps`."""

    peak: float
    steps: int
    warm_up: int = 0
    floor: float = 0.0

    def __post_init__(self) -> None:
        _check_rate(self.peak)
        _check_span(self.steps, self.warm_up)

    def __call__(self, t: int) -> float:
        _at_least_one("t", t)
        if t <= self.warm_up:
            return self.peak * t / self.warm_up
        fall = (1 + math.cos(math.pi * _progress(t, self.warm_up, self.steps))) / 2
        return self.floor + (self.peak - self.floor) * fall


@dataclass
class Plateau:
    """Multiplies the rate by `factor` whenever `patience` observations in a row bring no lower error."""

    rate: float
    factor: float = 0.5
    patience: int = 3
    floor: float = 0.0
    best: float = field(default=math.inf, init=False)
    waited: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        _check_rate(self.rate)
        if not 0 < self.factor < 1:
            raise ConfigurationError(f"a plateau factor lies between 0 and 1, got {self.factor}")
        _at_least_one("patience", self.patience)

    def __call__(self, t: int) -> float:
        return self.rate

    def observe(self, error: float) -> None:
        """Tell the schedule the selection error of an epoch."""
        if error < self.best:
            self.best, self.waited = error, 0
            return
        self.waited += 1
        if self.waited >= self.patience:
            self.rate, self.waited = max(self.floor, self.rate * self.factor), 0


def _progress(t: int, warm_up: int, steps: int) -> float:
    return min(1.0, (t - warm_up) / (steps - warm_up))


def _check_rate(rate: float) -> None:
    if not 0 <= rate < math.inf:
        raise ConfigurationError(f"a learning rate is a number that is not negative, got {rate}")


def _check_span(steps: int, warm_up: int) -> None:
    if not 0 <= warm_up < steps:
        raise ConfigurationError(f"warm_up must be at least 0 and below steps, got {warm_up} of {steps}")


def _at_least_one(name: str, value: int) -> None:
    if value < 1:
        raise ConfigurationError(f"{name} counts from 1, got {value}")
