"""How fast this machine trains: measured for some seconds, on the batches it will see."""

from __future__ import annotations

import math
import time
import tracemalloc
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from dragoman.batch import Batch
from dragoman.data.batching import Batching, BatchStream, plan_epoch
from dragoman.data.dataset import Dataset, Part
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.networks import ARCHITECTURES, SequenceModel
from dragoman.operations import DropoutKey
from dragoman.optimization import Adam, clipping_factor, gradient_norm
from dragoman.tasks.configuration import TranslationConfiguration
from dragoman.training.budget import RESERVE
from dragoman.training.workers import Workers, physical_cores

MEASURED = 3.0  # seconds of training steps
VECTORS = 5  # theta, gradient, two moments, average


@dataclass(frozen=True)
class Speed:
    """What a configuration costs on this machine and these data."""

    parameters: int
    step_seconds: float
    tokens_per_second: float
    steps_per_epoch: int
    validation_seconds: float  # one evaluation
    memory: int  # bytes of arrays at the peak of a step, with all vectors that a training keeps

    @property
    def epoch_seconds(self) -> float:
        return self.steps_per_epoch * self.step_seconds + self.validation_seconds

    def steps_within(self, seconds: float) -> int:
        """Steps, with an evaluation after every epoch and one at the end, that fit into a budget."""
        usable = max(0.0, RESERVE * seconds - self.validation_seconds)
        per_step = self.step_seconds + self.validation_seconds / self.steps_per_epoch
        return max(1, int(usable / per_step))


def measure(settings: TranslationConfiguration, dataset: Dataset, seconds: float = MEASURED) -> Speed:
    """Train a throw-away network for some seconds."""
    optimizer = settings.optimizer
    part, validation = dataset.part("training"), dataset.part("validation")
    stream = BatchStream(part, Batching(optimizer.batch, optimizer.tokens, optimizer.grouped), settings.seed)
    architecture = ARCHITECTURES[settings.architecture]
    network = architecture.build(architecture.configured(settings.network.model_dump(), dataset.about["vocabularies"]))
    index, adam = LossIndex(CrossEntropy(settings.loss.smoothing)), Adam()
    workers = Workers(settings.threads or physical_cores())

    def step(batch: Batch) -> int:
        _, gradient = workers.differentiate(index, network, batch, ForwardContext(DropoutKey(0, adam.t + 1)))
        factor = clipping_factor(gradient_norm(network.theta, gradient), 1.0)
        adam.update(network.theta, gradient, 1e-4, workers.map, factor)
        return len(batch.labels) + (0 if batch.source is None else len(batch.source.labels))

    with closing(workers):
        step(next(stream))  # kernels are compiled here
        tracemalloc.start()
        try:
            step(next(stream))  # traced steps are slow
            memory = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        steps = tokens = 0
        began = time.perf_counter()
        while time.perf_counter() - began < seconds or steps < 2:
            tokens += step(next(stream))
            steps += 1
        spent = time.perf_counter() - began
    evaluated = _validation_seconds(network, validation) if len(validation) else 0.0
    return Speed(
        network.count(),
        spent / steps * optimizer.accumulate,
        tokens / spent,
        math.ceil(stream.batches_in_epoch / optimizer.accumulate),
        evaluated,
        memory + VECTORS * network.theta.values.nbytes,
    )


def _validation_seconds(network: SequenceModel, part: Part, most: int = 5) -> float:
    """An evaluation of the whole part, from that of some batches."""
    plan = plan_epoch(part.lengths(), Batching(128), 0, 0)
    chosen = [plan[i] for i in np.linspace(0, len(plan) - 1, min(most, len(plan))).astype(int)]
    index = LossIndex()
    index.evaluate(network, part.batch(chosen[0]))  # kernels are compiled here
    started = time.perf_counter()
    for items in chosen:
        index.evaluate(network, part.batch(items))
    return (time.perf_counter() - started) / len(chosen) * len(plan)
