"""Networks and batches small enough to check completely, shared by the tests of this folder."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from dragoman.batch import Batch
from dragoman.graph import Array, value_of
from dragoman.layers import Positions
from dragoman.networks import Network, Transformer, TransformerConfiguration
from dragoman.operations import cross_entropy

VOCABULARY = 5
POSITIONS: tuple[Positions, ...] = get_args(Positions)
RAGGED = Batch.pairs([[4, 3], [1, 4, 2, 4], [3]], [[2, 4, 1, 4, 3], [2, 1, 3], [2, 4, 4, 3]])


def configuration(**settings: Any) -> TransformerConfiguration:
    """A Transformer of depth 4 with two heads; `settings` change or add to it."""
    small = {"depth": 4, "perceptron_depth": 3, "heads": 2, "maximum_length": 6, "relative_reach": 2}
    if settings.get("positions") in ("one_hot", "concatenated_sinusoid"):
        small |= {"depth": 8, "position_depth": 2}
    vocabularies = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY}
    return TransformerConfiguration(**(vocabularies | small | settings))


def small_transformer(dtype: Any = np.float64, seed: int = 0, **settings: Any) -> Transformer:
    return scatter(Transformer(configuration(**settings), seed, dtype), seed)


def scatter(network: Any, seed: int = 0) -> Any:
    """Move every parameter off its initial value: at gamma = 1 and beta = 0 a missing factor does not show."""
    rng = np.random.default_rng(seed + 100)
    network.theta.values += rng.normal(0, 0.3, len(network.theta))
    return network


def error_of(network: Network, batch: Batch) -> Any:
    """Masked cross-entropy, recorded when the network is."""
    network_call: Any = network
    return cross_entropy(network_call(batch), targets=batch.targets, weights=batch.loss_weights)[0]


def logits_of(network: Any, batch: Batch) -> Array:
    return value_of(network.plain(batch))


def split(rows: Array, batch: Batch) -> list[Array]:
    """The rows of each sequence."""
    return np.split(rows, batch.offsets[1:-1])
