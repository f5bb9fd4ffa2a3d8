"""Multi-head attention layers (Definition 3.9)."""

from __future__ import annotations

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Parameter, Value, value_of
from dragoman.layers.cache import CrossKV, KVCache
from dragoman.layers.layer import ForwardContext, Initializer, Layer
from dragoman.layers.perceptron import Perceptron
from dragoman.operations import attend_cross, attend_self, attend_step, attention_weights, linear


def _check_heads(depth: int, heads: int) -> None:
    if heads < 1 or depth % heads:
        raise ConfigurationError(
            f"{heads} heads do not divide the depth {depth}: each head takes depth / heads columns"
        )


class SelfAttention(Layer):
    """Self-attention: every position attends to its own sequence; if causal, only to itself and earlier positions.

    `reach` > 0 adds a learned bias for each head and each distance clipped to +-reach (relative positions).
    """

    query_key_value_weights: Value
    query_key_value_biases: Value | None
    distance_bias: Value | None

    def __init__(
        self,
        depth: int,
        heads: int,
        initial: Initializer,
        causal: bool = False,
        biases: bool = True,
        scaled: bool = True,
        reach: int = 0,
    ) -> None:
        _check_heads(depth, heads)
        names = ("query", "key", "value")
        self.query_key_value_weights = Parameter(
            initial.glorot(depth, depth, blocks=3), tuple(f"{name}.weights" for name in names)
        )
        self.query_key_value_biases = (
            Parameter(initial.zeros(3 * depth), tuple(f"{name}.biases" for name in names)) if biases else None
        )
        self.distance_bias = Parameter(initial.zeros(heads, 2 * reach + 1)) if reach else None
        self.projection = Perceptron(depth, depth, initial, biases=biases)
        self.heads = heads
        self.causal = causal
        self.scaled = scaled

    def __call__(self, x: Value, offsets: Array, run: ForwardContext) -> Value:
        """x [N, d] -> [N, d]"""
        qkv = linear(x, self.query_key_value_weights, self.query_key_value_biases)
        if run.maps is not None:
            run.maps.append(self._weights(value_of(qkv), offsets))
        y = attend_self(
            qkv, self.distance_bias, offsets=offsets, heads=self.heads, causal=self.causal, scaled=self.scaled
        )
        return self.projection(y)

    def _weights(self, qkv: Array, offsets: Array) -> Array:
        q, k, _ = np.split(qkv, 3, axis=1)
        return attention_weights(
            q, k, self.distance_bias, offsets=offsets, heads=self.heads, causal=self.causal, scaled=self.scaled
        )

    def step(self, x: Array, past: KVCache) -> tuple[Array, KVCache]:
        """Attend from one new position of each sequence, x [B, d], to the cached ones and itself."""
        qkv = value_of(linear(x, self.query_key_value_weights, self.query_key_value_biases))
        depth = x.shape[1]
        past = past.append(qkv[:, depth:])
        bias = None if self.distance_bias is None else value_of(self.distance_bias)
        y = attend_step(
            qkv[:, :depth],
            past.rows,
            bias,
            starts=past.starts,
            lengths=past.lengths,
            heads=self.heads,
            scaled=self.scaled,
        )
        return value_of(self.projection(y)), past


class CrossAttention(Layer):
    """Cross-attention: every position attends to all positions of another sequence."""

    key_value_weights: Value
    key_value_biases: Value | None

    def __init__(self, depth: int, heads: int, initial: Initializer, biases: bool = True, scaled: bool = True) -> None:
        _check_heads(depth, heads)
        self.query = Perceptron(depth, depth, initial, biases=biases)
        self.key_value_weights = Parameter(initial.glorot(depth, depth, blocks=2), ("key.weights", "value.weights"))
        self.key_value_biases = Parameter(initial.zeros(2 * depth), ("key.biases", "value.biases")) if biases else None
        self.projection = Perceptron(depth, depth, initial, biases=biases)
        self.heads = heads
        self.scaled = scaled

    def __call__(self, x: Value, memory: Value, offsets: Array, memory_offsets: Array, run: ForwardContext) -> Value:
        """x [N, d], memory [M, d] -> [N, d]"""
        queries = self.query(x)
        kv = linear(memory, self.key_value_weights, self.key_value_biases)
        if run.maps is not None:
            keys = np.split(value_of(kv), 2, axis=1)[0]
            weights = attention_weights(
                queries, keys, offsets=offsets, memory_offsets=memory_offsets, heads=self.heads, scaled=self.scaled
            )
            run.maps.append(weights)
        y = attend_cross(
            queries, kv, offsets=offsets, memory_offsets=memory_offsets, heads=self.heads, scaled=self.scaled
        )
        return self.projection(y)

    def remember(self, memory: Array, offsets: Array) -> CrossKV:
        """Compute keys and values of the other sequence, once for a whole decoding."""
        rows = value_of(linear(memory, self.key_value_weights, self.key_value_biases))
        return CrossKV(rows, offsets[:-1], np.diff(offsets))

    def step(self, x: Array, memory: CrossKV) -> Array:
        queries = value_of(self.query(x))
        y = attend_step(
            queries, memory.rows, starts=memory.starts, lengths=memory.lengths, heads=self.heads, scaled=self.scaled
        )
        return value_of(self.projection(y))
