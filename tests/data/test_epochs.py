"""Epochs: every sample once, in a new order, cut into batches that training takes one step each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import Batch
from dragoman.data import Batching, BatchStream
from dragoman.data.batching import plan_epoch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.loss import LossIndex
from dragoman.optimization import Constant, GradientDescent
from dragoman.training import Stopping, train
from tests.training.perceptrons import Perceptrons, Rows, rows
from tests.training.small_trainings import Heard

X, TARGETS = np.random.default_rng(1).standard_normal((12, 3)), np.arange(12) % 2
TWELVE = Rows(X, TARGETS)


def plan(samples: int, size: int, seed: int = 0, epoch: int = 0, keep_remainder: bool = True) -> list[Array]:
    batching = Batching(size, grouped=False, keep_remainder=keep_remainder)
    return plan_epoch(np.ones((samples, 1), np.int64), batching, seed, epoch)


def numbered(samples: int) -> Rows:
    """Samples that say who they are"""
    return Rows(np.arange(samples, dtype=float)[:, None], np.zeros(samples, np.int64))


def who(batches: list[Batch]) -> list[int]:
    return [int(row) for batch in batches for row in batch.labels[:, 0]]


@pytest.mark.ledger("T-5.3-batch", "T-5.3-shuffle", "T-5.3-remainder")
@given(samples=st.integers(1, 40), size=st.integers(1, 50), seed=st.integers(0, 99))
def test_every_sample_once(samples: int, size: int, seed: int) -> None:
    kept = plan(samples, size, seed)
    assert sorted(np.concatenate(kept).tolist()) == list(range(samples))
    assert [len(batch) for batch in kept[:-1]] == [size] * (len(kept) - 1)
    assert 1 <= len(kept[-1]) <= size
    full = [batch.tolist() for batch in kept if len(batch) == size]
    assert [batch.tolist() for batch in plan(samples, size, seed, keep_remainder=False)] == full


@pytest.mark.ledger("T-5.3-remainder")
@pytest.mark.parametrize(("keep_remainder", "sizes"), [(True, [4, 4, 2]), (False, [4, 4])])
def test_what_is_left_over(keep_remainder: bool, sizes: list[int]) -> None:
    assert [len(batch) for batch in plan(10, 4, keep_remainder=keep_remainder)] == sizes
    stream = BatchStream(numbered(10), Batching(4, keep_remainder=keep_remainder))
    epoch = [len(next(stream)) for _ in range(stream.batches_in_epoch)]
    assert sorted(epoch, reverse=True) == sizes


@pytest.mark.ledger("T-5.3-shuffle")
@pytest.mark.parametrize("grouped", [True, False])
def test_each_epoch_is_shuffled_anew_and_a_seed_repeats_them_all(grouped: bool) -> None:
    def orders(seed: int) -> list[list[int]]:
        stream = BatchStream(numbered(30), Batching(8, grouped=grouped), seed)
        return [who([next(stream) for _ in range(4)]) for _ in range(5)]

    first = orders(7)
    assert first == orders(7)
    assert all(sorted(order) == list(range(30)) for order in first)
    assert len({tuple(order) for order in [list(range(30)), *first, *orders(8)]}) == 11


@pytest.mark.ledger("T-5.3-shuffle")
def test_dropped_samples_change_from_epoch_to_epoch() -> None:
    stream = BatchStream(numbered(5), Batching(4, keep_remainder=False))
    left_out = [set(range(5)) - set(who([next(stream)])) for _ in range(20)]
    assert {len(few) for few in left_out} == {1}
    assert set.union(*left_out) == set(range(5))


@pytest.mark.ledger("T-5.4-full")
def test_a_batch_of_everything_makes_an_epoch_one_step_along_the_full_gradient() -> None:
    network, heard = Perceptrons(3, 2), Heard()
    start, full = network.theta.values.copy(), LossIndex().differentiate(network, rows(X, TARGETS))[1]
    stream = BatchStream(TWELVE, Batching(12))
    outcome = train(network, stream, GradientDescent(), Constant(0.1), Stopping(epochs=1), watch=heard)
    assert len(heard.steps) == len(outcome.records) == 1
    np.testing.assert_allclose(network.theta.values, start - 0.1 * full, rtol=0, atol=1e-14)


@pytest.mark.ledger("T-5.3-batch")
def test_a_step_follows_the_gradient_of_its_own_batch_and_their_mean_is_the_full_one() -> None:
    network, heard = Perceptrons(3, 2), Heard()
    start = network.theta.values.copy()
    each = [LossIndex().differentiate(network, TWELVE.batch(items))[1] for items in plan(12, 4, seed=5)]
    full = LossIndex().differentiate(network, rows(X, TARGETS))[1]
    np.testing.assert_allclose(np.mean(each, axis=0), full, rtol=0, atol=1e-14)
    assert np.abs(each[0] - full).max() > 1e-3
    stream = BatchStream(TWELVE, Batching(4, grouped=False), seed=5)
    train(network, stream, GradientDescent(), Constant(0.1), Stopping(1), watch=heard)
    np.testing.assert_allclose(heard.thetas[0], start - 0.1 * each[0], rtol=0, atol=1e-14)


@pytest.mark.ledger("T-5.3-batch")
def test_going_once_through_all_batches_is_an_epoch() -> None:
    heard = Heard()
    outcome = train(
        Perceptrons(3, 2),
        BatchStream(TWELVE, Batching(5)),
        GradientDescent(),
        Constant(0.1),
        Stopping(epochs=2),
        watch=heard,
    )
    assert [record.step for record in outcome.records] == [3, 6]
    assert sorted(loss.positions for loss in heard.losses[:3]) == [2, 5, 5]
    assert [record.training.positions for record in outcome.records] == [12, 12]


@pytest.mark.ledger("L-65-batch")
def test_batches_may_grow_from_epoch_to_epoch() -> None:
    heard = Heard()
    stream = BatchStream(TWELVE, Batching(2, growth=((1, 2.0), (2, 6.0))))
    outcome = train(Perceptrons(3, 2), stream, GradientDescent(), Constant(0.1), Stopping(epochs=3), watch=heard)
    assert [loss.positions for loss in heard.losses] == [2] * 6 + [4] * 3 + [12]
    assert [record.step for record in outcome.records] == [6, 9, 10]


@given(stop=st.integers(0, 20), size=st.integers(1, 13), seed=st.integers(0, 9))
def test_a_stream_that_seeks_where_another_stood_delivers_what_that_one_does(stop: int, size: int, seed: int) -> None:
    stream, other = (BatchStream(TWELVE, Batching(size), seed=s) for s in (seed, seed + 1))
    for _ in itertools.islice(stream, stop):
        pass
    next(other)
    other.seek(**stream.state())
    assert other.state() == stream.state()
    for one, two in itertools.islice(zip(stream, other, strict=True), 15):
        np.testing.assert_array_equal(one.labels, two.labels)
    assert other.state() == stream.state()


@pytest.mark.parametrize("size", [0, -3])
def test_a_batch_has_at_least_one_sample(size: int) -> None:
    with pytest.raises(ConfigurationError, match="at least one sample"):
        Batching(size)


def test_an_epoch_has_at_least_one_batch() -> None:
    with pytest.raises(ConfigurationError, match="12 samples do not fill one batch of 13 samples"):
        BatchStream(TWELVE, Batching(13, keep_remainder=False))
