"""The lecture's transformer, made of this package's blocks: a body of M blocks, and the head of a language model."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dragoman.batch import Batch
from dragoman.graph import Array, value_of
from dragoman.layers import Embedding, ForwardContext, Initializer, Layer, Positions
from dragoman.networks import TransformerConfiguration
from dragoman.networks.blocks import EncoderBlock, Stream
from dragoman.operations import add, linear, softmax

DEPTH = 6


def scatter(layer: Any, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    for parameter in layer.parameters():
        parameter.value[...] += rng.normal(0, 0.3, parameter.shape)
    return layer


class Body(Layer):
    """X^(m) = transformer-block(X^(m-1)), m = 1 ... M; `masked` makes every attention causal."""

    def __init__(self, blocks: int, masked: bool = False, **settings: Any) -> None:
        sizes = {"depth": DEPTH, "perceptron_depth": 8, "heads": 2, "block": "pre", "relative_reach": 2}
        configuration = TransformerConfiguration(source_vocabulary=1, target_vocabulary=1, **(sizes | settings))
        initial, sites = Initializer(0, np.float64), itertools.count()
        self.blocks = [EncoderBlock(configuration, initial, sites, masked) for _ in range(blocks)]
        scatter(self)

    def __call__(self, x: Any) -> Any:
        """One sequence of tokens, x [N, D] -> [N, D]"""
        stream, batch = Stream(x), Batch.pack([value_of(x)])
        for block in self.blocks:
            stream = block(stream, batch, ForwardContext())
        return stream.total if stream.update is None else add(stream.total, stream.update)


class LanguageModel(Layer):
    """Words to the probabilities of the word after each: embedding, body, and g_w . x for every word w."""

    def __init__(self, vocabulary: int, masked: bool = True, positions: Positions = "half_sinusoid") -> None:
        self.embedding = Embedding(vocabulary, DEPTH, Initializer(0, np.float64), positions)
        self.body = Body(2, masked, positions=positions)
        self.head = Embedding(vocabulary, DEPTH, Initializer(1, np.float64), "none")  # owns the table of the g_w

    def features(self, words: list[int]) -> Any:
        return self.body(self.embedding(np.array(words), np.arange(len(words)), ForwardContext()))

    def __call__(self, words: list[int]) -> Any:
        return linear(self.features(words), self.head.table, transposed=True)

    def probabilities(self, words: list[int]) -> Array:
        """[N, W]: row n is p(w_n+1 = w | w_1 ... w_n)"""
        return value_of(softmax(self(words)))
