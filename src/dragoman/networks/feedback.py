"""Roll-out: feed a network some of its own outputs instead of the given labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self, TypeVar

import numpy as np

from dragoman.batch import Batch
from dragoman.graph import Array


class Selectable(Protocol):
    """The state of several sequences; `select` keeps some of them."""

    def select(self, rows: Array) -> Self: ...


S = TypeVar("S", bound=Selectable)


def with_feedback(
    batch: Batch, state: S, given: Array, own: Array, step: Callable[[S, Array, Array], tuple[Array, S]]
) -> Array:
    """Return [N], the labels to read: `given`, or the output at the position before where `own` is True.

    step  (state, rows, labels read) -> (labels written, state), one position of each unfinished sequence

    No gradient flows through labels, so they can be computed before the recorded pass.
    """
    read, written, alive = given.copy(), given[:0], batch.lengths >= 0
    for t in range(batch.lengths.max(initial=0)):
        here = batch.lengths > t
        if not here[alive].all():
            left = np.flatnonzero(here[alive])
            state, written = state.select(left), written[left] if t else written
        alive, rows = here, batch.offsets[:-1][here] + t
        if t:
            read[rows] = np.where(own[rows], written, given[rows])
        written, state = step(state, rows, read[rows])
    return read
