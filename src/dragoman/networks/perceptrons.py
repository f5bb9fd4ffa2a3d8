"""Perceptron layers one after the other: linear and logistic regression, and networks with hidden layers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from pydantic import Field

from dragoman.batch import Batch
from dragoman.graph import Value
from dragoman.layers import ForwardContext, Initializer, Perceptron
from dragoman.networks.blocks import Activation
from dragoman.networks.network import Configuration, Network


class PerceptronsConfiguration(Configuration):
    """
    depths             inputs, units of each hidden layer, outputs: (3, 1) is linear, (2, 8, 2) has 8 hidden units
    activation         of the hidden layers
    output_activation  "logistic" for the log error; cross-entropy has its own softmax
    """

    depths: tuple[int, ...] = Field(min_length=2)
    activation: Activation = "relu"
    output_activation: Activation = "identity"


class Perceptrons(Network):
    """y = a_L(... a_1(x W_1 + b_1) ... W_L + b_L)          (thesis, Definition 3.12, composed as in Definition 3.1)

    x [N, inputs]   ->   y [N, outputs]: every row of a batch is computed by itself.
    """

    def __init__(self, configuration: PerceptronsConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        initial, last = Initializer(seed, dtype), len(c.depths) - 2
        self.layers = tuple(
            Perceptron(inputs, outputs, initial, c.output_activation if i == last else c.activation)
            for i, (inputs, outputs) in enumerate(itertools.pairwise(c.depths))
        )
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        y: Value = batch.labels
        for layer in self.layers:
            y = layer(y)
        return y
