"""From the rows of a sequence to one row for the whole."""

from __future__ import annotations

from typing import Literal

from dragoman.graph import Array, Parameter, Value
from dragoman.layers.layer import Initializer, Layer
from dragoman.operations import attention_pool, last_rows, max_rows, mean_rows

PoolingKind = Literal["class_token", "mean", "max", "attention", "last", "none"]


class Pooling(Layer):
    """The mean, the maximum, a mean weighted by attention, or the last row, which may be a class token's; or all rows.

    Attention begins with the query 0, which weighs all rows equally.
    """

    def __init__(self, kind: PoolingKind, depth: int, initial: Initializer) -> None:
        self.kind = kind
        self.query: Value | None = Parameter(initial.zeros(depth)) if kind == "attention" else None

    def __call__(self, x: Value, offsets: Array) -> Value:
        """x [N, d] -> [B, d], 0 for an empty sequence; or [N, d] with the kind "none" """
        if self.kind == "none":
            return x
        if self.kind in ("class_token", "last"):
            return last_rows(x, offsets=offsets)
        if self.kind == "attention":
            return attention_pool(x, self.query, offsets=offsets)
        return max_rows(x, offsets=offsets) if self.kind == "max" else mean_rows(x, offsets=offsets)
