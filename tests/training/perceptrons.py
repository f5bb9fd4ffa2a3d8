"""The smallest networks there are, on real rows: shared by the tests of loss, optimization, training and notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman import networks
from dragoman.batch import Batch
from dragoman.graph import Array


class Perceptrons(networks.Perceptrons):
    """In double precision; `depths` are the numbers of inputs, hidden units and outputs."""

    def __init__(self, *depths: int, activation: Any = "relu", seed: int = 0) -> None:
        settings = networks.PerceptronsConfiguration(depths=depths, activation=activation)
        super().__init__(settings, seed, np.float64)


rows = Batch.rows


@dataclass
class Rows:
    """Samples of one row each, for a `BatchStream`"""

    x: Array
    targets: Array

    def __len__(self) -> int:
        return len(self.x)

    def lengths(self) -> Array:
        return np.ones((len(self.x), 1), np.int64)

    def batch(self, items: Array) -> Batch:
        return rows(self.x[items], self.targets[items])
