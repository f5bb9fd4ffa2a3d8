"""Moving average of theta, which is evaluated and saved instead of theta."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.graph import Array, Theta
from dragoman.operations.vector_updates import average_sweep
from dragoman.optimization.optimizer import Each, parts_of


def follow(average: Array, theta: Theta, decay: float, each: Each = map) -> None:
    """average <- decay * average + (1 - decay) * theta, of what training changes."""

    def sweep(part: slice) -> None:
        mean, values = average[part], theta.values[part]
        if not average_sweep(mean, values, decay=decay):
            mean += (1 - decay) * (values - mean)

    for _ in each(sweep, parts_of(theta.trainable())):
        pass


@contextmanager
def averaged(theta: Theta, average: Array | None) -> Iterator[None]:
    """Give the network its average weights within this context."""
    if average is None:
        yield
        return
    own = theta.values.copy()
    theta.assign(average)
    try:
        yield
    finally:
        theta.assign(own)
