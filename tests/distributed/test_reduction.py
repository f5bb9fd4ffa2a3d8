"""A gradient is sent in slices, always in the same order, and never before it is complete."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dragoman import Batch
from dragoman.distributed import reduction
from dragoman.distributed.reduction import SlicedReduction
from dragoman.graph import Array, GradientReducer, Parameter, Theta
from dragoman.graph.gradient_slices import LARGE, SLICE, slices_of
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LossIndex
from dragoman.operations import DropoutKey
from dragoman.ranks import Ranks, Reduction
from dragoman.training.workers import Workers
from tests.distributed.twenty_steps import Pairs, network

SIZES = (LARGE, 5, SLICE + 3, 0, LARGE - 1, LARGE + 1)


class Wire:
    """Stands in for torch.distributed: another rank has the same numbers. Notes the sizes that are sent."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.waiting: list[Any] = []

    def all_reduce(self, numbers: Any, async_op: bool) -> Any:
        assert async_op
        self.sent.append(len(numbers))
        self.waiting.append(numbers)
        return self

    def wait(self) -> None:
        while self.waiting:
            self.waiting.pop().mul_(2)


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    found = Wire()
    monkeypatch.setattr(reduction, "distributed", found)
    return found


@pytest.fixture
def theta() -> Theta:
    found = Theta([Parameter(np.zeros(size, np.float32)) for size in SIZES])
    found.parameters[-1].frozen = True
    return found


def whole(theta: Theta) -> list[int]:
    """What is sent, in this order: the large ones from the end, then the small ones together."""
    return [SLICE, 3, LARGE, LARGE - 1 + 5]


def test_a_gradient_is_summed_but_for_frozen_parameters(theta: Theta, wire: Wire) -> None:
    gradient = np.arange(len(theta), dtype=np.float32) % 1000
    before = gradient.copy()
    SlicedReduction(slices_of(theta), gradient, lambda run: run()).finish()
    assert wire.sent == whole(theta)
    frozen = theta.parameters[-1].slot
    assert frozen is not None
    np.testing.assert_array_equal(gradient[: frozen.start], 2 * before[: frozen.start])
    np.testing.assert_array_equal(gradient[frozen], before[frozen])


@pytest.mark.parametrize("seed", range(6))
def test_the_order_does_not_depend_on_what_is_complete_first(theta: Theta, wire: Wire, seed: int) -> None:
    gradient = np.ones(len(theta), np.float32)
    found = SlicedReduction(slices_of(theta), gradient, lambda run: run())
    order = [id(parameter) for parameter in theta.parameters]
    random.Random(seed).shuffle(order)
    for parameter in order[: seed + 1]:  # the others are never told of
        found.written(parameter)
    found.finish()
    assert wire.sent == whole(theta)


def test_what_is_complete_is_sent_at_once(theta: Theta, wire: Wire) -> None:
    found = SlicedReduction(slices_of(theta), np.ones(len(theta), np.float32), lambda run: run())
    found.written(id(theta.parameters[0]))
    assert wire.sent == []  # the large one behind it comes first
    found.written(id(theta.parameters[2]))
    assert wire.sent == [SLICE, 3, LARGE]


class Watching(Reduction):
    """Remembers every gradient as it was when it was said to be complete."""

    def __init__(self, views: dict[int, Array]) -> None:
        self.views, self.written_ones, self.finished = views, {}, False  # type: ignore[var-annotated]

    def written(self, parameter: int) -> None:
        assert not self.finished
        self.written_ones.setdefault(parameter, self.views[parameter].copy())

    def finish(self) -> None:
        self.finished = True


class Watched(Ranks):
    def reduction(self, theta: Theta, gradient: Array) -> Reduction:
        self.watching = Watching(theta.views(gradient))
        return self.watching


@pytest.fixture
def workers(request: pytest.FixtureRequest) -> Iterator[Workers]:
    found = Workers(request.param)
    yield found
    found.close()


@pytest.mark.parametrize("workers", [1, 2, 3], indirect=True)
def test_a_gradient_is_complete_when_it_is_said_to_be(numba: None, workers: Workers) -> None:
    model, ranks = network(np.float32), Watched()
    batch: Batch = Pairs().batch(np.arange(40))
    run = ForwardContext(DropoutKey(1, 2))
    workers.differentiate(LossIndex(CrossEntropy(0.1)), model, batch, run, ranks=ranks)
    watching = ranks.watching
    large = [id(each) for each in model.theta.parameters if each.value.size >= LARGE]
    assert large
    assert set(large) <= set(watching.written_ones)
    for parameter, found in watching.written_ones.items():
        np.testing.assert_array_equal(found, watching.views[parameter])


def test_a_parameter_that_is_used_twice_is_complete_after_its_second_derivative() -> None:
    parameter, seen = Parameter(np.zeros(LARGE, np.float32)), []
    gradient, once = np.empty(LARGE, np.float32), np.ones(LARGE, np.float32)
    reducer = GradientReducer({id(parameter): gradient}, written=lambda number: seen.append(gradient.copy()))
    with reducer.share() as share:
        share.push_all([(parameter, once), (parameter, once)])
    assert len(seen) == 1
    assert (seen[0] == 2).all()
