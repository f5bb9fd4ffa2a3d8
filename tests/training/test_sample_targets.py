"""Targets of whole samples: error, gradient, accuracy and shards, against numbers computed by hand.

The two networks of the sheet give one output per sample. Whatever trains them must divide by samples, never by rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dragoman import Batch
from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, Value, value_of
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LogError, LossIndex, MeanSquaredError
from dragoman.networks import (
    ClassTokenConfiguration,
    ClassTokenEncoder,
    Network,
    TwoLayerConfiguration,
    TwoLayerNetwork,
)
from dragoman.operations import activate, reshape
from dragoman.optimization import Constant, GradientDescent
from dragoman.training import Stopping, Validation
from dragoman.training.loop import Training
from dragoman.training.workers import Workers
from tests.training.small_trainings import grouped

SAMPLES, ROWS, INPUTS, CLASSES, RATE = 7, 6, 3, 4, 0.5
RNG = np.random.default_rng(5)
X = RNG.standard_normal((SAMPLES * ROWS, INPUTS))
WEIGHTS = np.array([1.0, 0.0, 2.5, 1.0, 0.5, 3.0, 1.0])


class Shaped(Network):
    """A network of the sheet whose outputs go through one more function"""

    def __init__(self, inner: Network, shape: Callable[[Value], Value]) -> None:
        self.inner, self.shape, self.theta = inner, shape, inner.theta

    def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
        return self.shape(self.inner(batch, run))


def two_layer() -> Network:
    return TwoLayerNetwork(
        TwoLayerConfiguration(positions=ROWS, inputs=INPUTS, depth=3, classes=CLASSES), 1, np.float64
    )


def class_token() -> Network:
    sizes = ClassTokenConfiguration(inputs=INPUTS, depth=3, attention_depth=3, classes=CLASSES)
    return ClassTokenEncoder(sizes, 1, np.float64)


def log_sum_exp(z: Array) -> Array:
    return np.log(np.exp(z).sum(axis=-1))


def picked(z: Array, t: Array) -> Array:
    return np.take_along_axis(z, t[..., None], -1)[..., 0]


@dataclass(frozen=True)
class Problem:
    """An error, its targets [B, ...], what the outputs go through, and each sample's error and hits by hand"""

    error: Any
    targets: Array
    by_hand: Callable[[Array, Array], Array]
    hits: Callable[[Array, Array], Array] | None
    shape: Callable[[Value], Value] = lambda y: y


def logistic(y: Value) -> Value:
    return activate(y, activation="logistic")


def pairs_of_labels(y: Value) -> Value:
    return reshape(y, shape=(y.shape[0], 2, CLASSES // 2))


PROBLEMS = {
    "labels": Problem(
        CrossEntropy(),
        RNG.integers(0, CLASSES, SAMPLES),
        lambda z, t: log_sum_exp(z) - picked(z, t),
        lambda z, t: z.argmax(axis=-1) == t,
    ),
    "several labels": Problem(
        CrossEntropy(),
        RNG.integers(0, CLASSES // 2, (SAMPLES, 2)),
        lambda z, t: (log_sum_exp(z) - picked(z, t)).mean(axis=1),
        lambda z, t: (z.argmax(axis=-1) == t).mean(axis=1),
        pairs_of_labels,
    ),
    "real vectors": Problem(
        MeanSquaredError(), RNG.standard_normal((SAMPLES, CLASSES)), lambda y, t: ((y - t) ** 2).mean(axis=1), None
    ),
    "yes or no, several": Problem(
        LogError(),
        RNG.integers(0, 2, (SAMPLES, CLASSES)),
        lambda y, t: -np.log(np.where(t == 1, y, 1 - y)).mean(axis=1),
        lambda y, t: ((y > 0.5) == (t == 1)).mean(axis=1),
        logistic,
    ),
}
networks = pytest.mark.parametrize("build", [two_layer, class_token])
problems = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())
weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])


def samples(problem: Problem, weights: Array | None, first: int = 0, last: int = SAMPLES) -> Batch:
    x = X[first * ROWS : last * ROWS]
    offsets = np.arange(0, len(x) + 1, ROWS)
    return Batch(x, offsets, problem.targets[first:last], None if weights is None else weights[first:last])


def by_hand(network: Network, problem: Problem, weights: Array | None) -> tuple[float, float]:
    """Error and accuracy over all samples, from the outputs alone"""
    outputs = value_of(network.plain(samples(problem, None)))
    w = np.ones(SAMPLES) if weights is None else weights
    hits = np.full(SAMPLES, np.nan) if problem.hits is None else problem.hits(outputs, problem.targets)
    return w @ problem.by_hand(outputs, problem.targets) / w.sum(), w @ hits / w.sum()


def slope(network: Network, problem: Problem, weights: Array | None) -> Array:
    """The gradient by central differences of what is computed by hand"""
    theta, found = network.theta.values, np.empty(network.theta.values.size)
    for i in range(theta.size):
        kept = theta[i]
        ends = []
        for h in (1e-6, -1e-6):
            theta[i] = kept + h
            ends.append(by_hand(network, problem, weights)[0])
        theta[i] = kept
        found[i] = (ends[0] - ends[1]) / 2e-6
    return found


def training(network: Network, batches: Iterator[Batch], problem: Problem, threads: int, **settings: Any) -> Training:
    rules = {"stopping": Stopping(steps=1), "loss_index": LossIndex(problem.error)} | settings
    return Training(network, batches, GradientDescent(), Constant(RATE), workers=Workers(threads), **grouped(rules))


@networks
@problems
@weighted
def test_evaluation_divides_by_samples(build, problem, weights) -> None:
    network = Shaped(build(), problem.shape)
    loss = LossIndex(problem.error).evaluate(network, samples(problem, weights))
    error, accuracy = by_hand(network, problem, weights)
    assert loss.error == pytest.approx(error, rel=1e-12)
    assert loss.accuracy == pytest.approx(accuracy, rel=1e-12, nan_ok=True)
    assert loss.positions == (SAMPLES if weights is None else weights.sum())


@networks
@problems
@weighted
@pytest.mark.parametrize("threads", [1, 2])
def test_a_step_of_training_is_that_of_the_mean_over_samples(build, problem, weights, threads) -> None:
    network = Shaped(build(), problem.shape)
    before, gradient = network.theta.values.copy(), slope(network, problem, weights)
    error, accuracy = by_hand(network, problem, weights)
    outcome = training(network, iter([samples(problem, weights)]), problem, threads).run()
    assert outcome.losses[0].error == pytest.approx(error, rel=1e-12)
    assert outcome.losses[0].accuracy == pytest.approx(accuracy, rel=1e-12, nan_ok=True)
    np.testing.assert_allclose(network.theta.values, before - RATE * gradient, rtol=1e-6, atol=1e-8)


@networks
@problems
@pytest.mark.parametrize("threads", [1, 2])
def test_accumulated_batches_are_as_one(build, problem, threads) -> None:
    network = Shaped(build(), problem.shape)
    before, gradient = network.theta.values.copy(), slope(network, problem, WEIGHTS)
    error, accuracy = by_hand(network, problem, WEIGHTS)
    batches = iter([samples(problem, WEIGHTS, 0, 5), samples(problem, WEIGHTS, 5)])
    outcome = training(network, batches, problem, threads, accumulate=2).run()
    assert outcome.losses[0].error == pytest.approx(error, rel=1e-12)
    assert outcome.losses[0].accuracy == pytest.approx(accuracy, rel=1e-12, nan_ok=True)
    np.testing.assert_allclose(network.theta.values, before - RATE * gradient, rtol=1e-6, atol=1e-8)


def test_shards_take_their_samples_targets_with_them() -> None:
    lengths = [1, 5, 2, 4, 3, 1]
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    batch = Batch(np.arange(offsets[-1]), offsets, np.arange(6) * 10, np.arange(6) + 1.0)
    assert batch.per == "sample"
    assert batch.weight == 21
    shards = batch.shards(3)
    assert len(shards) == 3
    assert [t for shard in shards for t in shard.targets] == [0, 10, 20, 30, 40, 50]
    for shard in shards:
        assert len(shard.targets) == len(shard.loss_weights) == len(shard)
        assert shard.per == "sample"


def test_500_targets_are_cut_in_halves() -> None:
    batch = Batch(np.zeros((3000, 2)), np.arange(0, 3001, 6), np.zeros(500, int))
    assert [len(shard.targets) for shard in batch.shards(2)] == [250, 250]


def test_an_accuracy_goal_stops_a_training_of_samples() -> None:
    targets = np.array([0, 1, 2, 3, 0, 1, 2])
    problem = Problem(CrossEntropy(), targets, PROBLEMS["labels"].by_hand, PROBLEMS["labels"].hits)
    batches = itertools.repeat(samples(problem, None))
    outcome = training(two_layer(), batches, problem, 1, stopping=Stopping(steps=2000, accuracy_goal=1.0)).run()
    assert "reached the goal 1" in outcome.reason


def test_validation_judges_by_samples() -> None:
    problem, network = PROBLEMS["labels"], class_token()
    batches = [samples(problem, None, 0, 3), samples(problem, None, 3)]
    found = Validation(lambda: batches).evaluate(network, Workers(2))
    assert (found.error, found.accuracy) == pytest.approx(by_hand(network, problem, None), rel=1e-12)


def test_an_accuracy_goal_without_labels_is_refused() -> None:
    problem = PROBLEMS["real vectors"]
    rules = Stopping(steps=3, accuracy_goal=0.9)
    with pytest.raises(ConfigurationError, match="accuracy goal needs targets that are labels"):
        training(two_layer(), iter([samples(problem, None)]), problem, 1, stopping=rules).run()


@pytest.mark.parametrize(
    ("targets", "per", "message"),
    [
        (np.zeros(4, int), None, r"targets \(4,\) are not one for each position: 2 samples of 5 positions"),
        (np.zeros(5, int), "sample", r"targets \(5,\) are not one for each sample"),
        (np.zeros(2, int), "position", r"targets \(2,\) are not one for each position"),
        (np.zeros((3, 2), int), None, r"targets \(3, 2\) are not"),
    ],
)
def test_targets_that_belong_to_nothing_are_refused(targets, per, message) -> None:
    with pytest.raises(ShapeError, match=message):
        Batch(np.zeros(5, int), np.array([0, 2, 5]), targets, per=per)


def test_where_their_number_tells_nothing_targets_say_what_they_belong_to() -> None:
    labels, offsets, targets = np.zeros(2, int), np.array([0, 2, 2]), np.array([1, 2])
    with pytest.raises(ShapeError, match="may belong to either; say per="):
        Batch(labels, offsets, targets)
    assert [len(s.targets) for s in Batch(labels, offsets, targets, per="position").shards(2)] == [2, 0]
    assert Batch(labels, np.array([0, 1, 2]), targets).per == "position"  # one row each: it is the same


def test_weights_of_samples_are_as_many_as_samples() -> None:
    with pytest.raises(ShapeError, match=r"loss_weights \(5,\) do not match the 2 samples"):
        Batch(np.zeros(5, int), np.array([0, 2, 5]), np.zeros(2, int), np.ones(5))
