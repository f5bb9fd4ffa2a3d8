"""The smallest networks there are, on real rows: shared by the tests of loss, optimization, training and notes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from dragoman.batch import Batch
from dragoman.graph import Array, Value
from dragoman.layers import ForwardContext, Initializer, Perceptron
from dragoman.networks import Network


class Perceptrons(Network):
    """One perceptron after the other; `depths` are the numbers of inputs, hidden units and outputs."""

    def __init__(self, *depths: int, activation: str = "relu", seed: int = 0) -> None:
        initial, last = Initializer(seed, np.float64), len(depths) - 2
        self.layers = [
            Perceptron(inputs, outputs, initial, "identity" if i == last else activation)
            for i, (inputs, outputs) in enumerate(itertools.pairwise(depths))
        ]
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        y: Value = batch.labels
        for layer in self.layers:
            y = layer(y)
        return y


def rows(x: Array, targets: Array) -> Batch:
    """Each row of x a sample of its own, with its target"""
    return Batch(x, np.arange(len(x) + 1), targets)


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
