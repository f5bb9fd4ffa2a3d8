"""Epochs: every sample once, in a new order, cut into batches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import Batch
from dragoman.data import epoch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.loss import LossIndex
from dragoman.optimization import Constant, GradientDescent
from dragoman.training import Stopping, train
from tests.training.perceptrons import Perceptrons, rows


def batches(samples: int, size: int, seed: int = 0, keep_remainder: bool = True) -> list[Array]:
    return list(epoch(samples, size, np.random.default_rng(seed), keep_remainder))


@pytest.mark.ledger("T-5.3-batch", "T-5.3-shuffle", "T-5.3-remainder")
@given(samples=st.integers(1, 40), size=st.integers(1, 50), seed=st.integers(0, 99))
def test_every_sample_once(samples: int, size: int, seed: int) -> None:
    kept = batches(samples, size, seed)
    assert sorted(np.concatenate(kept).tolist()) == list(range(samples))
    assert [len(batch) for batch in kept[:-1]] == [size] * (len(kept) - 1)
    assert 1 <= len(kept[-1]) <= size
    full = [batch.tolist() for batch in kept if len(batch) == size]
    if full:
        assert [batch.tolist() for batch in batches(samples, size, seed, keep_remainder=False)] == full
    else:
        with pytest.raises(ConfigurationError, match="nothing to train on"):
            batches(samples, size, seed, keep_remainder=False)


@pytest.mark.ledger("T-5.3-remainder")
@pytest.mark.parametrize(("keep_remainder", "sizes"), [(True, [4, 4, 2]), (False, [4, 4])])
def test_what_is_left_over(keep_remainder: bool, sizes: list[int]) -> None:
    assert [len(batch) for batch in batches(10, 4, keep_remainder=keep_remainder)] == sizes


@pytest.mark.ledger("T-5.3-shuffle")
def test_each_epoch_is_shuffled_anew_and_a_seed_repeats_them_all() -> None:
    def orders() -> list[list[int]]:
        rng = np.random.default_rng(7)
        return [np.concatenate(list(epoch(30, 8, rng))).tolist() for _ in range(5)]

    first = orders()
    assert first == orders()
    assert len({tuple(order) for order in [list(range(30)), *first]}) == 6


@pytest.mark.ledger("T-5.3-shuffle")
def test_dropped_samples_change_from_epoch_to_epoch() -> None:
    rng = np.random.default_rng(0)
    left_out = [set(range(5)) - set(np.concatenate(list(epoch(5, 4, rng, False))).tolist()) for _ in range(20)]
    assert set.union(*left_out) == set(range(5))


X, TARGETS = np.random.default_rng(1).standard_normal((12, 3)), np.arange(12) % 2


def chosen(samples: Array) -> Batch:
    return rows(X[samples], TARGETS[samples])


@pytest.mark.ledger("T-5.4-full")
def test_a_batch_of_everything_takes_one_step_along_the_full_gradient() -> None:
    network, (batch,) = Perceptrons(3, 2), batches(12, 12)
    start, full = network.theta.values.copy(), LossIndex().differentiate(network, rows(X, TARGETS))[1]
    train(network, [chosen(batch)], GradientDescent(), Constant(0.1), Stopping(5))
    np.testing.assert_allclose(network.theta.values, start - 0.1 * full, rtol=0, atol=1e-14)


@pytest.mark.ledger("T-5.3-batch")
def test_a_step_follows_the_gradient_of_its_own_batch_and_their_mean_is_the_full_one() -> None:
    network = Perceptrons(3, 2)
    each = [LossIndex().differentiate(network, chosen(batch))[1] for batch in batches(12, 4)]
    full = LossIndex().differentiate(network, rows(X, TARGETS))[1]
    np.testing.assert_allclose(np.mean(each, axis=0), full, rtol=0, atol=1e-14)
    assert np.abs(each[0] - full).max() > 1e-3


@pytest.mark.ledger("L-65-batch")
def test_batches_may_grow_from_epoch_to_epoch() -> None:
    rng = np.random.default_rng(0)
    stream = itertools.chain.from_iterable(epoch(12, size, rng) for size in (2, 4, 12))
    outcome = train(Perceptrons(3, 2), map(chosen, stream), GradientDescent(), Constant(0.1), Stopping(100))
    assert [loss.positions for loss in outcome.losses] == [2] * 6 + [4] * 3 + [12]


@pytest.mark.parametrize("size", [0, -3])
def test_a_batch_has_at_least_one_sample(size: int) -> None:
    with pytest.raises(ConfigurationError, match=f"got a batch size of {size}"):
        batches(5, size)
