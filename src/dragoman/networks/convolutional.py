"""A small convolutional network: two convolutions, each with ReLU and pooling, then a dense layer."""

from __future__ import annotations

import itertools
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.graph import Array, Value, value_of
from dragoman.layers import ConvolutionStack, ForwardContext, Initializer, Perceptron
from dragoman.layers.convolution import POOLED
from dragoman.networks.heads import EncodingNetwork
from dragoman.networks.images import ImageSizes, standardize_images
from dragoman.networks.network import Configuration
from dragoman.networks.sizes import MOST_HIDDEN, MOST_LABELS, WIDEST, check_memory
from dragoman.operations import drop, reshape

CONVOLUTIONS = 2


class ConvolutionalSettings(Configuration):
    """What is chosen of a Convolutional network.

    filters  of the first convolution; the second has twice as many
    window   pixels of a side that a filter sees
    units    of the dense layer
    dropout  of the dense layer's inputs and outputs
    """

    filters: int = Field(default=16, ge=1, le=WIDEST)
    window: Literal[3, 5, 7] = 3
    units: int = Field(default=64, ge=1, le=MOST_HIDDEN)
    dropout: float = Field(default=0.0, ge=0, lt=1)

    def summary(self) -> str:
        return f"{self.filters} and {2 * self.filters} filters of {self.window} x {self.window}, {self.units} units"


class ConvolutionalConfiguration(ConvolutionalSettings, ImageSizes):
    """Everything a Convolutional network is built from."""

    outputs: int = Field(ge=1, le=MOST_LABELS)

    @model_validator(mode="after")
    def _large_enough(self) -> Self:
        least = POOLED**CONVOLUTIONS
        if min(self.height, self.width) < least:
            raise ValueError(
                f"images of {self.height} x {self.width} pixels are too small to be halved {CONVOLUTIONS} times; "
                f"resize them to {least} x {least} or more, or choose another architecture"
            )
        return self

    @property
    def grid(self) -> tuple[int, int]:
        """Places down and across that are left after pooling."""
        shrunk = POOLED**CONVOLUTIONS
        return self.height // shrunk, self.width // shrunk

    @property
    def flat(self) -> int:
        """Numbers that the dense layer reads."""
        return self.grid[0] * self.grid[1] * 2 * self.filters

    def count(self) -> int:
        """p, without building the network."""
        k, area = self.filters, self.window**2
        convolutions = (area * self.channels + 1) * k + (area * k + 1) * 2 * k
        return convolutions + (self.flat + 1) * self.units + (self.units + 1) * self.outputs


class Convolutional(EncodingNetwork):
    """Images -> convolution, ReLU, pooling -> the same -> dense layer -> outputs."""

    configuration: ConvolutionalConfiguration

    def __init__(self, configuration: ConvolutionalConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype)
        initial, sites = Initializer(seed, dtype), itertools.count()
        self.stack = ConvolutionStack(c.channels, (c.filters, 2 * c.filters), c.window, initial)
        self.hidden = Perceptron(c.flat, c.units, initial, "relu")
        self.output = Perceptron(c.units, c.outputs, initial)
        self.sites = (next(sites), next(sites))
        self._bind()

    def _read(self, batch: Batch, run: ForwardContext) -> tuple[Value, Value]:
        c = self.configuration
        maps = self.stack(standardize_images(batch, c, self.theta.dtype))
        rows = reshape(maps, shape=(len(batch) * c.grid[0] * c.grid[1], 2 * c.filters))
        flat = reshape(maps, shape=(len(batch), c.flat))
        flat = drop(flat, dropout=run.dropout(c.dropout, self.sites[0], batch.first_sequence))
        hidden = drop(self.hidden(flat), dropout=run.dropout(c.dropout, self.sites[1], batch.first_sequence))
        return rows, hidden

    def features(self, batch: Batch) -> tuple[Array, Array]:
        """The rows of all places [N, 2 filters], and the dense layer of each image [B, units]."""
        rows, hidden = self.plain._read(batch, ForwardContext())
        return value_of(rows), value_of(hidden)
