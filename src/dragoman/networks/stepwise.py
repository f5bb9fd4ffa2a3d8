"""Encoders that can read row by row, and so read their own outputs: forecasts of series (book 7.1)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from dragoman.batch import Batch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.networks.heads import EncodingNetwork


class StepwiseEncoder(EncodingNetwork):
    """An encoder in which no position sees a later one, if it is configured so."""

    @abstractmethod
    def encode(self, batch: Batch) -> Any:
        """The state before anything is read; of the batch only its size counts."""

    @abstractmethod
    def step(self, state: Any, rows: Array) -> tuple[Array, Any]:
        """Outputs [B, outputs] after reading one more row (or label) of each sequence, and the next state."""

    def forecast(self, past: Array, steps: int) -> Array:
        """The next rows of series, each predicted from those before, of which the last are predictions (book 7.1).

        past [B, T, p], T at least 1   ->   [B, steps, p]
        """
        c = self.configuration
        if c.inputs != c.outputs or c.pooling != "none":
            raise ConfigurationError(
                f"a forecast is read again as an input, so inputs and outputs are equal and nothing is pooled; got "
                f"{c.inputs} inputs, {c.outputs} outputs and pooling '{c.pooling}'"
            )
        state, read = self.encode(Batch.pack(list(past))), past.shape[1]
        for t in range(read):
            outputs, state = self.step(state, past[:, t])
        predicted = np.empty((len(past), steps, c.outputs))
        for t in range(steps):
            predicted[:, t] = outputs
            if t + 1 < steps:
                outputs, state = self.step(state, outputs)
        return predicted
