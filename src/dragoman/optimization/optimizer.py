"""Base class of optimization algorithms: theta_{t+1} = theta_t + delta_t (Definition 5.1), one sweep over theta."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from dragoman.errors import ConfigurationError, NonFiniteError, ShapeError
from dragoman.graph import Array, Theta
from dragoman.operations.vector_updates import sum_of_squares

PART = 1 << 17  # numbers
WORTH = 1 << 18  # numbers that are worth several threads, if they are only read

Each = Callable[[Callable[[slice], Any], list[slice]], Iterable[Any]]  # map, or on threads


class Optimizer(ABC):
    """Holds the moments, vectors aligned with theta, the number t of steps taken, and the age of the moments.

    A subclass names its moments and writes one equation: `delta`. Frozen parameters are never touched, and the
    moments behind them stay unwritten. When other parameters become trainable, the moments start anew.
    """

    moment_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        self.t = 0
        self.age = 0
        self.moments: dict[str, Array] = {}
        self.span: slice | None = None  # the part of theta whose moments are kept, and which is updated; None: all
        self._segments: list[slice] | None = None

    @abstractmethod
    def delta(self, theta: Array, gradient: Array, rate: float, *moments: Array) -> Array:
        """Compute the change of one segment of theta; updates its moments in place."""

    def restore(self, theta: Theta, t: int, age: int, moments: dict[str, Array]) -> None:
        """Restore the state of a checkpoint."""
        whole = slice(None) if self.span is None else self.span
        self.t, self.age = t, age
        self.moments = {name: moment[whole].copy() if self.span else moment for name, moment in moments.items()}
        self._segments = theta.trainable()

    def make_moments(self, theta: Theta) -> None:
        """Create zero moments, if there are none yet."""
        if not self.moments:
            values = theta.values if self.span is None else theta.values[self.span]
            self.moments = {name: np.zeros_like(values) for name in self.moment_names}

    def apply(self, theta: Array, gradient: Array, rate: float, *moments: Array, factor: float = 1.0) -> None:
        """Change one segment of theta and its moments in place. The gradient is multiplied by `factor`."""
        theta += self.delta(theta, gradient if factor == 1 else gradient * factor, rate, *moments)

    def update(self, theta: Theta, gradient: Array, rate: float, each: Each = map, factor: float = 1.0) -> None:
        """Take one step with learning rate eta. `each` maps over parts of the sweep, possibly on threads.

        factor  multiplies the gradient (clipping)
        """
        if gradient.shape != theta.values.shape:
            raise ShapeError(f"the gradient has shape {gradient.shape}, theta has shape {theta.values.shape}")
        segments = theta.trainable()
        if self._segments not in (None, segments):
            self.moments, self.age = {}, 0
        self._segments = segments
        self.make_moments(theta)
        self.t += 1
        self.age += 1

        start = 0 if self.span is None else self.span.start

        def sweep(part: slice) -> None:
            kept = slice(part.start - start, part.stop - start)
            moments = [self.moments[name][kept] for name in self.moment_names]
            self.apply(theta.values[part], gradient[part], rate, *moments, factor=factor)

        for _ in each(sweep, parts_of(segments if self.span is None else within(segments, self.span))):
            pass


def within(segments: list[slice], span: slice) -> list[slice]:
    """The parts of segments that lie within a span."""
    found = [slice(max(each.start, span.start), min(each.stop, span.stop)) for each in segments]
    return [each for each in found if each.start < each.stop]


def parts_of(segments: list[slice]) -> list[slice]:
    """Split segments into parts for threads and CPU caches."""
    return [
        slice(start, min(start + PART, segment.stop))
        for segment in segments
        for start in range(segment.start, segment.stop, PART)
    ]


def gradient_norm(theta: Theta, gradient: Array, each: Each = map) -> float:
    """Compute the Euclidean norm of the gradient of the trainable parameters."""

    def square(part: slice) -> float:
        return sum_of_squares(gradient[part])

    with np.errstate(all="ignore"):  # the caller reports non-finite values
        squares = sum((each if gradient.size > WORTH else map)(square, parts_of(theta.trainable())), 0.0)
        if not math.isfinite(squares):  # too large for single precision, or not a number
            squares = sum(float(np.square(gradient[s], dtype=np.float64).sum()) for s in theta.trainable())
    return math.sqrt(squares)


def clip_gradient(theta: Theta, gradient: Array, maximum: float = math.inf) -> float:
    """Scale the gradient, in place, so that its norm is at most `maximum`; returns the norm before (lecture)."""
    norm = gradient_norm(theta, gradient)
    factor = clipping_factor(norm, maximum)
    if factor != 1:
        gradient *= factor
    return norm


def clipping_factor(norm: float, maximum: float) -> float:
    """Return the factor that scales a gradient of this norm to at most `maximum`."""
    if not maximum > 0:
        raise ConfigurationError(f"the maximum norm of a gradient must be above 0, got {maximum}")
    if not math.isfinite(norm):
        raise NonFiniteError(f"the norm of the gradient is {norm}; lower the learning rate or check the inputs")
    return min(1.0, maximum / norm) if norm else 1.0
