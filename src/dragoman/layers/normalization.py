"""Residual addition and normalization."""

from __future__ import annotations

from dragoman.graph import Parameter, Value
from dragoman.layers.layer import ForwardContext, Initializer, Layer
from dragoman.operations import add_normalize, normalize
from dragoman.operations.normalization import Form


class Normalization(Layer):
    """gamma * N(residual + dropout(update)) + beta (Definitions 3.10 and 3.11)."""

    gamma: Value
    beta: Value

    def __init__(
        self,
        depth: int,
        initial: Initializer,
        form: Form = "inside",
        epsilon: float = 1e-5,
        dropout: float = 0.0,
        site: int = 0,
    ) -> None:
        self.gamma = Parameter(initial.ones(depth))
        self.beta = Parameter(initial.zeros(depth))
        self.form = form
        self.epsilon = epsilon
        self.dropout = dropout
        self.site = site

    def __call__(self, x: Value) -> Value:
        """Normalize alone."""
        return normalize(x, self.gamma, self.beta, form=self.form, epsilon=self.epsilon)

    def add(self, update: Value, residual: Value, run: ForwardContext, first_row: int = 0) -> tuple[Value, Value]:
        """(the sum, the sum normalized)"""
        dropout = run.dropout(self.dropout, self.site, first_row)
        return add_normalize(
            update, residual, self.gamma, self.beta, form=self.form, epsilon=self.epsilon, dropout=dropout
        )
