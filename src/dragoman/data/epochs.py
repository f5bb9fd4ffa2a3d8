"""Epochs: every sample once, in a new order each time (thesis 5.1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array


def epoch(samples: int, batch_size: int, rng: np.random.Generator, keep_remainder: bool = True) -> Iterator[Array]:
    """The samples of each batch of one epoch: a fresh shuffle cut into pieces of `batch_size`.

    What is left over is a smaller last batch, or is left out of this epoch.
    """
    if batch_size < 1:
        raise ConfigurationError(f"a batch has at least one sample, got a batch size of {batch_size}")
    if samples < (1 if keep_remainder else batch_size):
        raise ConfigurationError(f"{samples} samples make no batch of {batch_size}; there would be nothing to train on")
    return _cut(rng.permutation(samples), batch_size, keep_remainder)


def _cut(order: Array, batch_size: int, keep_remainder: bool) -> Iterator[Array]:
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        if keep_remainder or len(batch) == batch_size:
            yield batch
