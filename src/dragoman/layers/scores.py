"""Attention of a recurrent decoder to the rows of the source (book 7.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Parameter, Value
from dragoman.layers.layer import Initializer, Layer
from dragoman.operations import (
    additive_weights,
    attend_additive,
    attend_cross,
    attention_weights,
    concatenate_columns,
    linear,
    split_rows,
)

Score = Literal["dot", "scaled_dot", "general", "concatenation", "additive"]
DOTS, ADDED = ("dot", "scaled_dot"), ("concatenation", "additive")


@dataclass(frozen=True, eq=False)
class Keys:
    """The rows v [M, k] to attend to: their keys for the scores, and their values."""

    v: Value
    keys: Value
    offsets: Array
    query_weights: Value | None


class ScoredAttention(Layer):
    """u = sum_tau alpha_tau v<tau>, alpha = softmax over tau of s(z_q, v<tau>)       (book, (7.20), (7.21))

    dot            z_q . z_k, for equal depths
    scaled_dot     the same / sqrt(depth)
    general        z_q W_s . z_k
    concatenation  w_s . tanh(W [z_q, z_k])
    additive       w_s . tanh(W_sa z_q + W_sb z_k): the same function, its two matrices apart
    """

    weights: Value
    key_weights: Value
    score_weights: Value

    def __init__(self, score: Score, query_depth: int, key_depth: int, initial: Initializer) -> None:
        if score in DOTS and query_depth != key_depth:
            raise ConfigurationError(
                f"the score '{score}' compares rows of equal depth, but queries have {query_depth} columns and keys "
                f"{key_depth}; choose general, concatenation or additive"
            )
        self.score = score
        self.depths = (query_depth, key_depth)
        if score == "concatenation":
            self.weights = Parameter(initial.glorot(query_depth + key_depth, key_depth))
        elif score not in DOTS:
            self.weights = Parameter(initial.glorot(query_depth, key_depth))
        if score == "additive":
            self.key_weights = Parameter(initial.glorot(key_depth, key_depth))
        if score in ADDED:
            self.score_weights = Parameter(initial.glorot(key_depth, 1)[:, 0])

    def look_at(self, v: Value, offsets: Array) -> Keys:
        """Compute what is the same for all queries."""
        if self.score in DOTS:
            return Keys(v, concatenate_columns(v, v), offsets, None)
        if self.score == "general":
            return Keys(v, concatenate_columns(v, v), offsets, self.weights)
        if self.score == "additive":
            return Keys(v, linear(v, self.key_weights), offsets, self.weights)
        q, k = self.depths
        of_query, of_key = split_rows(self.weights, rows=(np.arange(q), np.arange(q, q + k)))
        return Keys(v, linear(v, of_key), offsets, of_query)

    def __call__(self, z: Value, attended: Keys, offsets: Array) -> Value:
        """z [N, q], offsets [B + 1] of the queries of each sequence -> u [N, k]"""
        ends = {"offsets": offsets, "memory_offsets": attended.offsets}
        if self.score in ADDED:
            return attend_additive(self._query(z, attended), attended.keys, self.score_weights, attended.v, **ends)
        return attend_cross(self._query(z, attended), attended.keys, heads=1, scaled=self.score == "scaled_dot", **ends)

    @staticmethod
    def _query(z: Value, attended: Keys) -> Value:
        return z if attended.query_weights is None else linear(z, attended.query_weights)

    def alpha(self, z: Value, attended: Keys, offsets: Array) -> Array:
        """Return the attention weights [B, Tq, Tk], not recorded."""
        queries, memory, scaled = self._query(z, attended), attended.offsets, self.score == "scaled_dot"
        if self.score in ADDED:
            return additive_weights(queries, attended.keys, self.score_weights, offsets, memory)
        maps = attention_weights(queries, attended.v, offsets=offsets, memory_offsets=memory, heads=1, scaled=scaled)
        return np.asarray(maps[:, 0])
