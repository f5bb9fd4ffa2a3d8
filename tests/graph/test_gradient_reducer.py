"""Derivatives of several passes, summed in the order of the passes whoever brings, and whoever writes, them first."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest

from dragoman.graph import DeferredGradient, GradientReducer, Parameter, Theta
from dragoman.graph import gradient_reducer as module

SHAPES = [(3, 4), (5,), (200, 100), (2,)]
TIMEOUT = 60  # seconds, on any machine; nothing waits that long unless it would wait for ever


@pytest.fixture
def theta():
    return Theta([Parameter(np.zeros(shape, np.float32)) for shape in SHAPES])


def gathered(theta, brought, order=None, pause=nullcontext):
    """The gradient of passes, each a list of (parameter, delta), on as many threads, which bring in an order."""
    gradient = np.full(len(theta), np.nan, np.float32)
    gradient_reducer = GradientReducer(theta.views(gradient), len(brought), pause)
    begun = threading.Barrier(len(brought), timeout=TIMEOUT)
    turns, through = ([threading.Event() for _ in brought] for _ in range(2))

    def run(number):
        with gradient_reducer.share(number) as share:
            begun.wait()
            assert turns[number].wait(TIMEOUT)
            for parameter, delta in brought[number]:
                share.push(theta.parameters[parameter], delta)
            through[number].set()

    with ThreadPoolExecutor(len(brought)) as pool:
        threads = [pool.submit(run, number) for number in range(len(brought))]
        for number in order or range(len(brought)):
            turns[number].set()
            assert through[number].wait(TIMEOUT)
        for thread in threads:
            thread.result(TIMEOUT)
    return [theta.view(gradient, parameter) for parameter in theta.parameters]


def drawn(number, scale=1.0):
    return (scale * np.random.default_rng(number).standard_normal(SHAPES[2])).astype(np.float32)


def in_pieces(delta, pieces, kept=0, finest=None):
    """A pending derivative whose pieces are some of the columns; and how often each column was written."""
    counts = np.zeros(delta.shape[1], int)

    def write(out, add, piece, pieces):
        columns = slice(*(delta.shape[1] * i // pieces for i in (piece, piece + 1)))
        counts[columns] += 1
        out[:, columns] = delta[:, columns] + (out[:, columns] if add else 0)

    return DeferredGradient(delta.shape, delta.dtype, write, pieces, finest or pieces, kept), counts


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
@pytest.mark.parametrize("kept", [0, 2 * module.ENOUGH])
def test_the_order_of_the_passes_is_that_of_the_sum(theta, order, kept):
    deltas = [drawn(0), drawn(1, 1e4), drawn(2, 1e-3)]  # sums in another order have other bits
    pending = [in_pieces(delta, 7, kept) for delta in deltas]
    found = gathered(theta, [[(2, p)] for p, _ in pending], order)
    np.testing.assert_array_equal(found[2], (deltas[0] + deltas[1]) + deltas[2])
    assert not np.array_equal(found[2], (deltas[2] + deltas[1]) + deltas[0])
    assert all((counts == 1).all() for _, counts in pending)
    for other in (0, 1, 3):
        assert not found[other].any()


def test_the_last_piece_is_shared(theta):
    """The pass that finds nothing to write waits for what follows, and writes half of it at the same time."""
    deltas, together = [drawn(0), drawn(1, 1e4)], threading.Barrier(2, timeout=TIMEOUT)
    changed, waiting, parts = threading.Condition(), set(), set()
    writing = threading.Event()

    @contextmanager
    def pause():
        with changed:
            waiting.add(threading.get_ident())
            changed.notify_all()
        yield
        waiting.discard(threading.get_ident())

    def alone(delta):
        def write(out, add, piece, pieces):
            writing.set()
            with changed:  # the other pass waits while this one writes the only piece there is
                assert changed.wait_for(lambda: waiting - {threading.get_ident()}, TIMEOUT)
            out[...] = delta + (out if add else 0)

        return DeferredGradient(delta.shape, delta.dtype, write, 1, 1)

    def meeting(delta):
        def write(out, add, piece, pieces):
            if (piece, pieces) not in parts:
                parts.add((piece, pieces))
                together.wait()  # passed only when both threads write
            rows = slice(*(len(out) * i // pieces for i in (piece, piece + 1)))
            out[rows] = delta[rows] + (out[rows] if add else 0)

        return DeferredGradient(delta.shape, delta.dtype, write, 1, 2)

    def last(pushed):
        yield from pushed
        assert writing.wait(TIMEOUT)  # it finds nothing to write when it finishes

    first, second = ([(2, alone(delta)), (2, meeting(delta))] for delta in deltas)
    found = gathered(theta, [first, last(second)], pause=pause)
    np.testing.assert_array_equal(found[2], ((deltas[0] + deltas[1]) + deltas[0]) + deltas[1])
    assert parts == {(0, 2), (1, 2)}


def test_parameters_brought_more_than_once_and_not_by_all(theta):
    small, large = np.arange(5, dtype=np.float32), drawn(5)
    found = gathered(
        theta,
        [
            [(1, small), (2, large), (1, small), (2, in_pieces(large, 2)[0]), (1, small)],
            [(2, in_pieces(large, 3)[0]), (0, np.ones((3, 4), np.float32)), (1, small)],
        ],
    )
    np.testing.assert_array_equal(found[0], np.ones((3, 4)))
    np.testing.assert_array_equal(found[1], 4 * small)
    np.testing.assert_allclose(found[2], 3 * large, rtol=1e-6)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_one_thread_may_run_all_passes(theta, order):
    """In any order, and the bits are those of three threads: also where a parameter is brought twice."""
    deltas = [drawn(0), drawn(1, 1e4), drawn(2, 1e-3)]

    def brought():
        return [[(2, in_pieces(delta, 7)[0]), (1, delta[0, :5]), (2, in_pieces(delta * 3, 2)[0])] for delta in deltas]

    expected = gathered(theta, brought())
    gradient = np.full(len(theta), np.nan, np.float32)
    gradient_reducer, passes = GradientReducer(theta.views(gradient), 3), brought()

    def run():
        for number in order:
            with gradient_reducer.share(number) as share:
                for parameter, delta in passes[number]:
                    share.push(theta.parameters[parameter], delta)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    assert not thread.is_alive(), "a pass waits for one that nobody will run"
    for parameter, before in zip(theta.parameters, expected, strict=True):
        np.testing.assert_array_equal(theta.view(gradient, parameter), before)


def test_one_pass_writes_at_once(theta):
    gradient = np.full(len(theta), np.nan, np.float32)
    large, pending = drawn(1), in_pieces(drawn(1), 3)[0]
    with GradientReducer(theta.views(gradient)).share() as share:
        share.push(theta.parameters[2], pending)
        np.testing.assert_array_equal(theta.view(gradient, theta.parameters[2]), large)
        share.push(theta.parameters[2], pending)
    np.testing.assert_array_equal(theta.view(gradient, theta.parameters[2]), 2 * large)
    assert not np.isnan(gradient).any()


@pytest.mark.parametrize("passes", [1, 2])
def test_a_gradient_is_reported_when_it_is_complete(theta, passes):
    """Once, after as many derivatives as the pass with the most of them has announced."""
    gradient, told, parameter = np.empty(len(theta), np.float32), [], theta.parameters[2]

    def written(number):
        told.append((number, theta.view(gradient, parameter).copy()))

    gradient_reducer = GradientReducer(theta.views(gradient), passes, written=written)
    brought = [[drawn(0), drawn(1)], [drawn(2)]][:passes]
    for number, deltas in enumerate(brought):
        with gradient_reducer.share(number) as share:
            share.push_all((parameter, delta) for delta in deltas)
    ((number, found),) = told
    assert number == id(parameter)
    np.testing.assert_allclose(found, sum(delta for deltas in brought for delta in deltas), atol=1e-6)


def failing(out, add, piece, pieces):
    raise ZeroDivisionError


@pytest.mark.parametrize("where", ["in the pass", "where it is written"])
def test_a_pass_that_fails_keeps_nobody_waiting(theta, where):
    gradient_reducer = GradientReducer(theta.views(np.empty(len(theta), np.float32)), 2)
    ended = []

    def run(number):
        try:
            with gradient_reducer.share(number) as share:
                if where == "in the pass" and number:
                    raise ZeroDivisionError
                share.push(theta.parameters[2], DeferredGradient(SHAPES[2], np.float32, failing))
        except ZeroDivisionError:
            ended.append(number)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
        assert not thread.is_alive()
    assert len(ended) == 1
