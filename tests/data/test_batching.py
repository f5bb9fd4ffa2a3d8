"""Batches of an epoch: every sample once, about equally long together, in an order that is new every time."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batch import END, START, Batch
from dragoman.data import batching as module
from dragoman.data.batching import Batching, BatchStream, plan_epoch
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.optimization import ThesisWarmUp


def drawn_lengths(n: int, seed: int = 0) -> Array:
    """[n, 2] like those of the public file: long-tailed, the two sides alike but not equal."""
    rng = np.random.default_rng(seed)
    words = rng.gamma(5, 1.3, n) + 2
    return np.stack([np.rint(words * rng.normal(1.1, 0.15, n)).clip(3) for _ in range(2)], axis=1).astype(np.int64)


@dataclass
class Sentences:
    """Samples whose labels are their own number: a batch tells who is in it."""

    sizes: Array

    def __len__(self) -> int:
        return len(self.sizes)

    def lengths(self) -> Array:
        return self.sizes

    def batch(self, items: Array) -> Batch:
        sources = [[START, *[10 + i] * (self.sizes[i, 0] - 2), END] for i in items]
        return Batch.pairs(sources, [[START, *[10 + i] * (self.sizes[i, 1] - 2), END] for i in items])


lengths = st.lists(st.tuples(st.integers(3, 30), st.integers(3, 30)), min_size=1, max_size=60).map(np.array)
batchings = st.builds(
    Batching,
    samples=st.integers(1, 20),
    tokens=st.none() | st.integers(1, 200),
    grouped=st.booleans(),
)


@pytest.mark.ledger("T-5.3-batch", "T-5.3-shuffle")
@pytest.mark.parametrize("pool", [16, module.POOL])
@given(sizes=lengths, batching=batchings, seed=st.integers(0, 99), epoch=st.integers(0, 9))
def test_an_epoch_has_every_sample_once(sizes: Array, batching: Batching, seed: int, epoch: int, pool: int) -> None:
    with patch.object(module, "POOL", pool):
        plan = plan_epoch(sizes, batching, seed, epoch)
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(sizes)))


@pytest.mark.ledger("T-5.3-batch", "T-5.3-remainder")
@given(n=st.integers(1, 60), samples=st.integers(1, 20), grouped=st.booleans())
def test_batches_have_their_size_but_for_one(n: int, samples: int, grouped: bool) -> None:
    def found(keep_remainder: bool) -> list[int]:
        batching = Batching(samples, grouped=grouped, keep_remainder=keep_remainder)
        return sorted((len(batch) for batch in plan_epoch(drawn_lengths(n), batching, 0, 0)), reverse=True)

    full, rest = divmod(n, samples)
    assert found(keep_remainder=False) == [samples] * full
    assert found(keep_remainder=True) == [samples] * full + [rest] * (rest > 0)


@pytest.mark.ledger("T-5.3-remainder")
@pytest.mark.parametrize(("keep_remainder", "sizes"), [(True, [4, 4, 2]), (False, [4, 4])])
def test_ten_by_four(keep_remainder: bool, sizes: list[int]) -> None:
    plan = plan_epoch(drawn_lengths(10), Batching(4, grouped=False, keep_remainder=keep_remainder), 0, 0)
    assert [len(batch) for batch in plan] == sizes


@pytest.mark.ledger("T-6.1-adamcfg")
def test_the_epoch_of_the_thesis() -> None:
    """71,378 training pairs by 64; the rate rises to its peak within the first four epochs."""
    plan = plan_epoch(drawn_lengths(71_378), Batching(), 0, 0)
    sizes = [len(batch) for batch in plan]
    assert sorted(sizes) == [18] + [64] * 1115
    rates = [ThesisWarmUp()(t) for t in range(1, 4 * len(plan))]
    assert max(rates) == pytest.approx(1.58e-5, rel=1e-3)
    assert rates.index(max(rates)) + 1 == 4000


@given(sizes=lengths, tokens=st.integers(1, 200), seed=st.integers(0, 99), grouped=st.booleans())
def test_a_token_budget_is_kept_but_for_a_sample_that_is_longer(
    sizes: Array, tokens: int, seed: int, grouped: bool
) -> None:
    plan = plan_epoch(sizes, Batching(tokens=tokens, grouped=grouped), seed, 0)
    totals = [int(sizes[batch].sum()) for batch in plan]
    assert all(total <= tokens or len(batch) == 1 for total, batch in zip(totals, plan, strict=True))
    if not grouped:  # then batches follow each other in order: the next sample did not fit any more
        for total, following in zip(totals, plan[1:], strict=False):
            assert total + sizes[following[0]].sum() > tokens


def test_a_sample_longer_than_the_budget_comes_alone() -> None:
    sizes = np.array([[3, 3], [50, 60], [3, 4], [5, 5]])
    plan = plan_epoch(sizes, Batching(tokens=25), 0, 0)
    assert sorted(sorted(batch.tolist()) for batch in plan) == [[0, 2, 3], [1]]


def test_a_dropped_remainder_of_a_token_budget_is_one_batch() -> None:
    kept, dropped = (
        plan_epoch(drawn_lengths(500), Batching(tokens=300, grouped=False, keep_remainder=keep), 0, 0)
        for keep in (True, False)
    )
    assert len(dropped) == len(kept) - 1 > 10
    assert [batch.tolist() for batch in dropped] == [batch.tolist() for batch in kept[:-1]]


@pytest.mark.ledger("L-65-batch")
@pytest.mark.parametrize("growth", [((2, 2.0), (5, 4.0)), ((5, 4.0), (2, 2.0))])
def test_batches_grow_at_chosen_epochs(growth: tuple[tuple[int, float], ...]) -> None:
    sizes = np.full((256, 2), 5)
    by_samples = [len(plan_epoch(sizes, Batching(8, growth=growth), 0, epoch)) for epoch in range(7)]
    by_tokens = [len(plan_epoch(sizes, Batching(tokens=80, growth=growth), 0, epoch)) for epoch in range(7)]
    assert by_samples == by_tokens == [32, 32, 16, 16, 16, 8, 8]


@pytest.mark.ledger("L-65-batch")
def test_a_stream_delivers_larger_batches_from_its_epoch_on() -> None:
    stream = BatchStream(Sentences(np.full((12, 2), 4)), Batching(2, growth=((1, 2.0), (2, 6.0))))
    assert [len(batch) for batch in itertools.islice(stream, 10)] == [2] * 6 + [4] * 3 + [12]


def waste(sizes: Array, plan: list[Array]) -> float:
    """The share of positions that are padding when every batch is padded to its longest, side by side."""
    padded = sum(int((sizes[batch].max(axis=0) * len(batch)).sum()) for batch in plan)
    return 1 - int(sizes.sum()) / padded


@pytest.mark.parametrize("tokens", [None, 4096])
def test_a_padding_peer_would_waste_little(tokens: int | None) -> None:
    sizes = drawn_lengths(30_000)
    assert waste(sizes, plan_epoch(sizes, Batching(tokens=tokens), 0, 0)) < 0.1
    assert waste(sizes, plan_epoch(sizes, Batching(tokens=tokens, grouped=False), 0, 0)) > 0.3


@pytest.mark.parametrize("tokens", [None, 1024])
def test_grouped_batches_are_new_and_in_no_order_of_length(tokens: int | None) -> None:
    sizes = drawn_lengths(20_000)
    plans = [plan_epoch(sizes, Batching(tokens=tokens), 0, epoch) for epoch in range(2)]
    first, second = ({frozenset(batch.tolist()) for batch in plan} for plan in plans)
    assert len(first & second) < 0.05 * len(first)
    for plan in plans:
        means = np.array([sizes[batch].sum(axis=1).mean() for batch in plan])
        assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.2
        assert abs(np.corrcoef(means[1:], means[:-1])[0, 1]) < 0.2


@pytest.mark.ledger("T-5.3-shuffle")
@pytest.mark.parametrize("grouped", [True, False])
def test_a_plan_depends_on_seed_and_epoch_alone(grouped: bool) -> None:
    def plan(seed: int, epoch: int) -> list[list[int]]:
        return [batch.tolist() for batch in plan_epoch(drawn_lengths(200), Batching(8, grouped=grouped), seed, epoch)]

    assert plan(1, 2) == plan(1, 2)
    plans = [plan(seed, epoch) for seed, epoch in itertools.product(range(3), range(3))]
    assert all(one != other for one, other in itertools.combinations(plans, 2))


@pytest.mark.ledger("T-5.3-shuffle")
@pytest.mark.parametrize(
    "grouped",
    [True, False],
)
@pytest.mark.parametrize("batching", [{"samples": 8}, {"tokens": 60}])
def test_dropped_samples_change_from_epoch_to_epoch(grouped: bool, batching: dict[str, Any]) -> None:
    sizes = np.stack([np.arange(3, 16)] * 2, axis=1)
    ours = Batching(**batching, grouped=grouped, keep_remainder=False)
    seen = {i for epoch in range(50) for batch in plan_epoch(sizes, ours, 0, epoch) for i in batch.tolist()}
    assert seen == set(range(len(sizes)))


def as_lists(batch: Batch) -> list[Any]:
    assert batch.source is not None
    arrays = (batch.labels, batch.offsets, batch.targets, batch.loss_weights, batch.source.labels, batch.source.offsets)
    return [None if array is None else array.tolist() for array in arrays]


STREAMS = [Batching(7), Batching(tokens=64), Batching(7, grouped=False, keep_remainder=False, growth=((1, 2.0),))]


@pytest.mark.parametrize("batching", STREAMS)
@pytest.mark.parametrize("position", [0, 1, 5, 8, 9, 10, 23])
def test_a_stream_goes_on_where_it_was_saved(batching: Batching, position: int) -> None:
    """Before the first batch, within an epoch, at its end, and epochs later."""
    samples = Sentences(drawn_lengths(60))
    stream = BatchStream(samples, batching, seed=5)
    before = [as_lists(batch) for batch in itertools.islice(stream, position)]
    state = json.loads(json.dumps(stream.state()))
    after = [as_lists(batch) for batch in itertools.islice(stream, 25)]
    resumed = BatchStream(samples, batching, **state)
    assert resumed.state() == state
    assert [as_lists(batch) for batch in itertools.islice(resumed, 25)] == after
    assert resumed.state() == stream.state()
    whole = BatchStream(samples, batching, seed=5)
    assert [as_lists(batch) for batch in itertools.islice(whole, position + 25)] == before + after


@pytest.mark.ledger("T-5.3-batch", "T-5.3-shuffle")
def test_a_stream_delivers_epoch_after_epoch() -> None:
    samples = Sentences(drawn_lengths(30))
    stream = BatchStream(samples, Batching(8), seed=2)
    assert stream.batches_in_epoch == 4
    epochs = []
    for epoch in range(3):
        batches = [next(stream) for _ in range(4)]
        assert stream.state() == {"seed": 2, "epoch": epoch, "position": 4}
        who = [int(label) for batch in batches for label in batch.labels[batch.offsets[:-1] + 1]]
        assert sorted(who) == [10 + i for i in range(30)]
        epochs.append(who)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 0}, "at least one sample and one token"),
        ({"tokens": 0}, "at least one sample and one token"),
        ({"growth": ((0, 0.0),)}, "factor above 0"),
        ({"growth": ((0, 2.0), (1, -1.0))}, "factor above 0"),
    ],
)
def test_settings_without_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Batching(**settings)


def test_a_batch_never_shrinks_to_nothing() -> None:
    plan = plan_epoch(drawn_lengths(5), Batching(2, growth=((0, 0.1),)), 0, 0)
    assert [len(batch) for batch in plan] == [1] * 5


def test_without_samples_there_is_no_stream() -> None:
    with pytest.raises(ConfigurationError, match="no samples"):
        BatchStream(Sentences(np.zeros((0, 2), np.int64)), Batching())


@pytest.mark.parametrize(
    "settings",
    [
        {"samples": 64},
        {"tokens": 6400},
    ],
)
def test_an_epoch_without_a_full_batch_is_told(settings: dict[str, Any]) -> None:
    (size,) = settings.values()
    with pytest.raises(ConfigurationError, match=f"30 samples do not fill one batch of {size}.*keep the remainder"):
        BatchStream(Sentences(drawn_lengths(30)), Batching(**settings, keep_remainder=False))
