"""Convolutions over images, and the stack of them that halves an image with each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from dragoman.graph import Parameter, Value
from dragoman.layers.layer import Initializer, Layer
from dragoman.operations import convolve, max_pool
from dragoman.operations.activations import find_activation
from dragoman.operations.images import PaddingKind

POOLED = 2  # pixels of a side that become one


class Convolution(Layer):
    """y = a(window W + b) for every window of `size` x `size` pixels; "same" padding keeps height and width.

    weights [size^2 C, k]
    """

    weights: Value
    biases: Value

    def __init__(
        self,
        size: int,
        channels: int,
        filters: int,
        initial: Initializer,
        activation: str = "relu",
        padding: PaddingKind = "same",
    ) -> None:
        find_activation(activation)
        self.weights = Parameter(initial.glorot(size * size * channels, filters))
        self.biases = Parameter(initial.zeros(filters))
        self.size = size
        self.activation = activation
        self.padding: PaddingKind = padding

    def __call__(self, x: Value) -> Value:
        """x [B, H, W, C] -> [B, H, W, k]"""
        return convolve(
            x,
            self.weights,
            self.biases,
            size=(self.size, self.size),
            padding=self.padding,
            activation=self.activation,
        )


class ConvolutionStack(Layer):
    """Convolutions with ReLU, each followed by the maximum over 2 x 2 pixels."""

    def __init__(self, channels: int, filters: Sequence[int], size: int, initial: Initializer) -> None:
        self.convolutions = tuple(Convolution(size, a, b, initial) for a, b in itertools.pairwise((channels, *filters)))

    def __call__(self, x: Value) -> Value:
        """x [B, H, W, C] -> [B, H / 2^n, W / 2^n, k], sides rounded down"""
        for convolution in self.convolutions:
            x = max_pool(convolution(x), size=(POOLED, POOLED))
        return x
