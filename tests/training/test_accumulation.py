"""Several batches, one step: the same as if they had been one batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import Batch
from dragoman.data import Batching, BatchStream
from dragoman.errors import ConfigurationError
from dragoman.graph import Value
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LossIndex, MeanSquaredError, Regularization
from dragoman.networks import Network
from dragoman.optimization import Adam, Constant, GradientDescent, Momentum
from dragoman.training import Stopping
from dragoman.training.loop import Training
from tests.training.perceptrons import Perceptrons
from tests.training.small_trainings import CURVE, POINTS, TRAINING, Case, Heard, grouped, small_transformer


def stepped(network: Network, batches: list[Batch], accumulate: int, **more: Any) -> Training:
    """A training after it has used up the batches"""
    optimizer, schedule = more.pop("optimizer", GradientDescent()), more.pop("schedule", Constant(0.1))
    settings = grouped({"accumulate": accumulate, **more})
    training = Training(network, batches, optimizer, schedule, Stopping(100), **settings)
    training.run()
    return training


def cut(samples: Any, sizes: list[int]) -> list[Batch]:
    """Neighbouring samples, so many each"""
    ends = np.cumsum(sizes)
    return [samples.batch(np.arange(end - size, end)) for size, end in zip(sizes, ends, strict=True)]


KINDS: dict[str, tuple[Any, Any, Any]] = {
    "classes": (lambda: Perceptrons(3, 4, 2), POINTS, CrossEntropy()),
    "classes, smoothed": (lambda: Perceptrons(3, 2), POINTS, CrossEntropy(0.1)),
    "real values": (lambda: Perceptrons(3, 4, 1, activation="tanh"), CURVE, MeanSquaredError()),
    "pairs": (lambda: small_transformer(dtype=np.float64), TRAINING, CrossEntropy()),
}


@pytest.mark.parametrize("norm", [None, "l1", "l2"])
@pytest.mark.parametrize("kind", KINDS)
@given(sizes=st.lists(st.integers(1, 4), min_size=2, max_size=4))
def test_accumulated_batches_are_one_batch(kind: str, norm: Any, sizes: list[int]) -> None:
    build, samples, error = KINDS[kind]
    index = LossIndex(error, None if norm is None else Regularization(norm, 0.1))
    parts, (whole,) = cut(samples, sizes), cut(samples, [sum(sizes)])
    many = stepped(build(), parts, len(parts), loss_index=index)
    one = stepped(build(), [whole], 1, loss_index=index)
    assert many.optimizer.t == one.optimizer.t == 1
    np.testing.assert_allclose(many.network.theta.values, one.network.theta.values, rtol=0, atol=1e-12)
    assert many.norm == pytest.approx(one.norm, abs=1e-12)
    start = build().theta.values
    assert np.abs(one.network.theta.values - start).max() > 1e-3


def test_positions_count_by_their_loss_weights() -> None:
    batch = POINTS.batch(np.arange(9))
    weights = np.array([1.0, 0.0, 0.5, 0.0, 0.0, 1.0, 0.25, 0.0, 1.0])
    whole = replace(batch, loss_weights=weights)
    parts = [replace(POINTS.batch(np.arange(a, b)), loss_weights=weights[a:b]) for a, b in ((0, 3), (3, 5), (5, 9))]
    many, one = (stepped(Perceptrons(3, 2), batches, 3) for batches in (parts, [whole]))  # the second weighs nothing
    np.testing.assert_allclose(many.network.theta.values, one.network.theta.values, rtol=0, atol=1e-12)


def test_clipping_and_moments_see_the_step_as_a_whole() -> None:
    parts, wholes = cut(POINTS, [3, 1, 5, 2, 2, 4]), cut(POINTS, [9, 8])
    for optimizer in (Momentum, Adam):
        many, one = (
            stepped(Perceptrons(3, 2), batches, k, optimizer=optimizer(), clip=0.05)
            for batches, k in ((parts, 3), (wholes, 1))
        )
        assert many.optimizer.t == one.optimizer.t == 2
        assert one.norm > 0.05
        np.testing.assert_allclose(many.network.theta.values, one.network.theta.values, rtol=0, atol=1e-12)
        for name, moment in one.optimizer.moments.items():
            np.testing.assert_allclose(many.optimizer.moments[name], moment, rtol=0, atol=1e-12)


def test_the_loss_that_is_told_is_that_of_all_of_them() -> None:
    index, heard = LossIndex(regularization=Regularization("l2", 0.1)), Heard()
    whole = index.evaluate(Perceptrons(3, 2), POINTS.batch(np.arange(12)))
    stepped(Perceptrons(3, 2), cut(POINTS, [2, 3, 7]), 3, loss_index=index, watch=heard)
    ((t, loss),) = heard.steps
    assert t == 1
    assert loss.error == pytest.approx(whole.error, abs=1e-13)
    assert (loss.hits, loss.positions, loss.regularization) == (whole.hits, whole.positions, whole.regularization)


@pytest.mark.ledger("T-5.3-batch")
@pytest.mark.parametrize(("accumulate", "steps"), [(1, [5, 5, 5, 2]), (2, [10, 7]), (3, [15, 2]), (4, [17]), (9, [17])])
def test_no_step_reaches_into_the_next_epoch(accumulate: int, steps: list[int]) -> None:
    """17 samples by 5: the last step of an epoch takes what is left."""
    heard = Heard()
    case = Case(lambda: Perceptrons(3, 2), POINTS, settings={"accumulate": accumulate, "watch": heard})
    training = case.build(stopping=Stopping(epochs=2))
    training.batches = BatchStream(POINTS, Batching(5, grouped=False), seed=3)  # the small batch comes last
    training.run()
    assert [loss.positions for loss in heard.losses] == steps * 2
    assert training.optimizer.t == 2 * len(steps)


def test_the_last_step_of_other_batches_takes_what_is_left() -> None:
    heard = Heard()
    stepped(Perceptrons(3, 2), cut(POINTS, [4, 4, 4, 4, 1]), 2, watch=heard)
    assert [loss.positions for loss in heard.losses] == [8, 8, 1]


def test_every_batch_has_noise_of_its_own() -> None:
    seen: list[tuple[int, int]] = []

    class Listening(Perceptrons):
        def __call__(self, batch: Batch, run: ForwardContext | None = None) -> Value:
            if run is not None and run.noise is not None:
                seen.append((run.noise.seed, run.noise.step))
            return super().__call__(batch, run)

    stepped(Listening(3, 2), cut(POINTS, [2] * 8), 3, seed=7)
    assert len(seen) == len(set(seen)) == 8
    assert {seed for seed, _ in seen} == {7}
    alone = list(seen)
    seen.clear()
    stepped(Listening(3, 2), cut(POINTS, [2] * 8), 1, seed=7)
    assert [step for _, step in seen] == list(range(1, 9))
    assert alone[:6] == seen[:6]


@pytest.mark.parametrize("accumulate", [0, -1])
def test_a_step_takes_at_least_one_batch(accumulate: int) -> None:
    with pytest.raises(ConfigurationError, match=f"at least one batch, got accumulate = {accumulate}"):
        stepped(Perceptrons(3, 2), [], accumulate)
