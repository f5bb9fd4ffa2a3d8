"""A Transformer with dropout that ranks must train as one process does; its embeddings are sent during a pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman import Batch, Transformer, TransformerConfiguration
from dragoman.data import Batching, BatchStream
from dragoman.graph import Array
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.optimization import Adam, Constant
from dragoman.training import Stopping, Validation
from dragoman.training.loop import Training
from dragoman.training.step import StepSettings
from tests.networks.small_networks import scatter

STEPS, BATCH, SAMPLES = 20, 64, 20 * 64 + 7  # in an epoch: 20 batches and a small one
EPOCH = 21  # steps
VOCABULARY = 2_100  # times depth 32: a large parameter


class Pairs:
    """Sentence pairs of random labels."""

    def __init__(self, count: int = SAMPLES, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self._sources = [rng.integers(4, VOCABULARY, rng.integers(3, 12)) for _ in range(count)]
        self._references = [[2, *rng.integers(4, 30, rng.integers(3, 12)), 3] for _ in range(count)]

    def __len__(self) -> int:
        return len(self._sources)

    def lengths(self) -> Array:
        return np.array([[len(a), len(b)] for a, b in zip(self._sources, self._references, strict=True)])

    def batch(self, items: Array) -> Batch:
        return Batch.pairs([self._sources[i] for i in items], [self._references[i] for i in items])


def network(dtype: Any) -> Transformer:
    sizes: dict[str, Any] = {"depth": 32, "perceptron_depth": 40, "heads": 4, "layers": 2, "dropout": 0.2}
    configuration = TransformerConfiguration(source_vocabulary=VOCABULARY, target_vocabulary=30, **sizes)
    built: Transformer = scatter(Transformer(configuration, 1, dtype))
    return built


def run(dtype: Any, steps: int = STEPS, sharded: bool = False) -> dict[str, Array]:
    """Train for so many steps; return theta, the training and validation error, and the bytes of moments."""
    model, judged = network(dtype), Pairs(100, seed=1)
    training = Training(
        model,
        BatchStream(Pairs(), Batching(BATCH)),
        Adam(),
        Constant(0.01),
        Stopping(steps=steps),
        LossIndex(CrossEntropy(0.1)),
        StepSettings(clip=1.0, seed=3),
        validation=Validation(lambda: (judged.batch(np.arange(i, i + 20)) for i in range(0, 100, 20)), every=steps),
        sharded=sharded,
    )
    record = training.run().records[-1]
    assert record.validation is not None
    return {
        "theta": model.theta.values,
        "errors": np.array([record.training.error, record.validation.error]),
        "moments": np.array(sum(moment.nbytes for moment in training.optimizer.moments.values())),
    }
