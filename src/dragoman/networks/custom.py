"""The two networks of the custom-net sheet, written from the same operations as everything else.

Each takes a batch of real matrices X, one sample a sequence, and stores its parameters in the sheet's own shapes.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator

from dragoman.batch import Batch
from dragoman.errors import ShapeError
from dragoman.graph import Array, Parameter, Value
from dragoman.layers import ForwardContext, Initializer
from dragoman.networks.network import Configuration, Network
from dragoman.operations import (
    activate,
    add,
    append_row,
    appended_offsets,
    appended_rows,
    attend_self,
    embed,
    linear,
    reshape,
    take_rows,
    transpose,
)


def standardize_samples(batch: Batch, dtype: Any = np.float64) -> Array:
    """(X - E X) / sqrt(E (X - E X)^2) over all elements of each sample; a constant sample gives 0."""
    if batch.labels.ndim != 2:
        raise ShapeError(f"expected rows of real numbers [N, d], got labels of shape {batch.labels.shape}")
    x = batch.labels.astype(dtype)
    sample = np.repeat(np.arange(len(batch)), batch.lengths)

    def mean_of_samples(rows: Array) -> Array:
        """[N, 1]: the mean over all elements of the sample each row belongs to"""
        totals = np.bincount(sample, weights=rows.mean(axis=1), minlength=len(batch))
        return (totals / np.maximum(batch.lengths, 1))[sample, None].astype(x.dtype)

    mean = mean_of_samples(x)
    centred = x - mean
    deviation = np.sqrt(mean_of_samples(centred * centred))
    constant = deviation <= 8 * np.finfo(x.dtype).eps * np.abs(mean)  # only the rounding of the mean is left
    standardized: Array = np.where(constant, 0, centred) / np.where(constant, 1, deviation)
    return standardized


class TwoLayerConfiguration(Configuration):
    positions: int = Field(ge=1)  # n
    inputs: int = Field(ge=1)  # m
    depth: int = Field(ge=1)  # d
    classes: int = Field(ge=1)  # k


class TwoLayerNetwork(Network):
    """Softmax(W2 Flatten(ReLU(W1 X~^T + B1)) + B2) without its softmax          (sheet, section 1)

    W1 [d, m]   B1 [d, n], a bias for each unit and position   W2 [k, d n]   B2 [k]
    """

    W1: Value
    B1: Value
    W2: Value
    B2: Value

    def __init__(self, configuration: TwoLayerConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        initial = Initializer(seed, dtype)
        self.W1 = Parameter(initial.glorot(c.depth, c.inputs))
        self.B1 = Parameter(initial.zeros(c.depth, c.positions))
        self.W2 = Parameter(initial.glorot(c.classes, c.depth * c.positions))
        self.B2 = Parameter(initial.zeros(c.classes))
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """Logits h2 [B, k]"""
        n, d = self.configuration.positions, self.configuration.depth
        if (batch.lengths != n).any():
            raise ShapeError(f"every sample must have {n} rows, got lengths {batch.lengths}")
        biases = embed(transpose(self.B1, axes=(1, 0)), labels=batch.positions)
        a1 = add(linear(standardize_samples(batch, self.theta.dtype), self.W1, transposed=True), biases)
        h1 = activate(a1, activation="relu")
        by_unit = transpose(reshape(h1, shape=(len(batch), n, d)), axes=(0, 2, 1))
        flat = reshape(by_unit, shape=(len(batch), d * n))
        return linear(flat, self.W2, self.B2, transposed=True)


class ClassTokenConfiguration(Configuration):
    inputs: int = Field(ge=1)  # d0
    depth: int = Field(ge=1)  # d1
    attention_depth: int = Field(ge=1)  # d2
    classes: int = Field(ge=1)  # K

    @model_validator(mode="after")
    def _residual_fits(self) -> Self:
        if self.depth != self.attention_depth:
            raise ValueError(
                f"the residual adds rows of depth {self.depth} to rows of attention_depth {self.attention_depth}; "
                "they must be equal"
            )
        return self


class ClassTokenEncoder(Network):
    """One layer of unscaled self-attention with a class token as the last row          (sheet, section 2)

    W1 [d0, d1]   class_token [d1]   W_q, W_k, W_v [d1, d2], side by side   W2 [d2, K]
    """

    W1: Value
    class_token: Value
    W_qkv: Value
    W2: Value

    def __init__(self, configuration: ClassTokenConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        initial = Initializer(seed, dtype)
        self.W1 = Parameter(initial.glorot(c.inputs, c.depth))
        self.class_token = Parameter(initial.normal(1, c.depth, 1.0)[0])
        self.W_qkv = Parameter(initial.glorot(c.depth, c.attention_depth, blocks=3), ("W_q", "W_k", "W_v"))
        self.W2 = Parameter(initial.glorot(c.attention_depth, c.classes))
        self._bind()

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        """Logits z [B, K], read from the class token's row alone"""
        h1 = linear(standardize_samples(batch, self.theta.dtype), self.W1)
        rows = append_row(h1, self.class_token, offsets=batch.offsets)
        qkv = linear(rows, self.W_qkv)
        attended = attend_self(qkv, offsets=appended_offsets(batch.offsets), heads=1, scaled=False)
        h2 = take_rows(add(attended, rows), rows=appended_rows(batch.offsets))
        return linear(h2, self.W2)
