"""Measure for some seconds how fast this machine trains, on batches of the dataset."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.data.batching import Batching, plan_epoch
from dragoman.data.dataset import Dataset, Part
from dragoman.graph.gradient_slices import slices_of
from dragoman.loss import LossIndex
from dragoman.loss.index import Error
from dragoman.networks import Network
from dragoman.optimization import Adam, Constant
from dragoman.tasks.components import EVALUATED, loss_index
from dragoman.tasks.configuration import TrainingConfiguration
from dragoman.tasks.task import find_task
from dragoman.training.budget import RESERVE
from dragoman.training.step import StepSettings, TrainingStep
from dragoman.training.workers import Workers, threads_per_rank

MEASURED = 3.0  # seconds of training steps
VALIDATED = 5  # batches to estimate the time of an evaluation from
RATE = Constant(1e-4)
VECTORS = 5  # theta, gradient, two moments, average


@dataclass(frozen=True)
class Speed:
    """The cost of a configuration on this machine with this dataset."""

    parameters: int
    step_seconds: float
    tokens_per_second: float
    steps_per_epoch: int
    validation_seconds: float  # one evaluation
    memory: int  # peak bytes of arrays in a step, with all vectors of a training
    threads: int = 1
    collectives: int = 1  # sums that several ranks would make of a gradient

    @property
    def epoch_seconds(self) -> float:
        return self.steps_per_epoch * self.step_seconds + self.validation_seconds

    def steps_within(self, seconds: float) -> int:
        """Return how many steps fit into a budget, with an evaluation after every epoch and at the end."""
        usable = max(0.0, RESERVE * seconds - self.validation_seconds)
        per_step = self.step_seconds + self.validation_seconds / self.steps_per_epoch
        return max(1, int(usable / per_step))


def measure(settings: TrainingConfiguration, dataset: Dataset, seconds: float = MEASURED) -> Speed:
    """Train a throw-away network for some seconds."""
    optimizer, validation = settings.optimizer, dataset.part("validation")
    task = find_task(settings.task)
    stream = task.batches(settings, dataset)
    architecture = task.architectures[settings.architecture]
    configured = architecture.configured(settings.network.model_dump(), task.sizes(dataset.encoders))
    network: Any = architecture.build(configured)
    workers = Workers(settings.threads or threads_per_rank())
    index = loss_index(settings.loss, task.error(settings, dataset))
    step = TrainingStep(network, Adam(), index, workers, StepSettings(clip=1.0))
    with closing(workers):
        step.take([next(stream)], RATE)  # kernels are compiled here
        memory = _peak_memory(lambda: step.take([next(stream)], RATE))
        steps = tokens = 0
        began = time.perf_counter()
        while time.perf_counter() - began < seconds or steps < 2:
            taken = step.take([next(stream)], RATE)
            tokens += 0 if taken is None else taken.tokens
            steps += 1
        spent = time.perf_counter() - began
    return Speed(
        network.count(),
        spent / steps * optimizer.accumulate,
        tokens / spent,
        math.ceil(stream.batches_in_epoch / optimizer.accumulate),
        _validation_seconds(network, validation, task.plain_error(settings, dataset)) if len(validation) else 0.0,
        memory + VECTORS * network.theta.values.nbytes,
        workers.threads,
        slices_of(network.theta).count,
    )


def _peak_memory(run: Callable[[], object]) -> int:
    """Measure the peak bytes of arrays in a run (slow, because allocations are traced)."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _validation_seconds(network: Network, part: Part, error: Error) -> float:
    """An evaluation of the whole part, from that of some batches."""
    plan = plan_epoch(part.lengths(), Batching(EVALUATED), 0, 0)
    chosen = [plan[i] for i in np.linspace(0, len(plan) - 1, min(VALIDATED, len(plan))).astype(int)]
    index = LossIndex(error)
    index.evaluate(network, part.batch(chosen[0]))  # kernels are compiled here
    started = time.perf_counter()
    for items in chosen:
        index.evaluate(network, part.batch(items))
    return (time.perf_counter() - started) / len(chosen) * len(plan)
