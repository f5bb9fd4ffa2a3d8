"""The lecture's transformer, made of this package's blocks: a body of M blocks without embedding and head."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dragoman.batch import Batch
from dragoman.graph import value_of
from dragoman.layers import ForwardContext, Initializer, Layer
from dragoman.networks import TransformerConfiguration
from dragoman.networks.blocks import EncoderBlock, Stream
from dragoman.operations import add

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
