"""Threads share the work of a step: the gradient is that of the whole batch, and as many threads give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.layers import ForwardContext
from dragoman.loss import CrossEntropy, LossIndex, MeanSquaredError, Regularization
from dragoman.operations import DropoutKey
from dragoman.optimization import optimizer as optimizer_module
from dragoman.training import workers as workers_module
from dragoman.training.pace import Pace
from dragoman.training.workers import Workers, physical_cores
from tests.training.perceptrons import Perceptrons
from tests.training.small_trainings import CURVE, POINTS, TRAINING, Case, Heard, dropping, small_transformer
from tests.waiting import LONGEST


@pytest.fixture(params=[2, 3, 5])
def workers(request: pytest.FixtureRequest) -> Iterator[Workers]:
    made = Workers(request.param)
    yield made
    made.close()


KINDS: dict[str, tuple[Any, Any, Any]] = {
    "pairs, with dropout": (lambda: small_transformer(dtype=np.float64, dropout=0.3), TRAINING, CrossEntropy(0.1)),
    "classes": (lambda: Perceptrons(3, 4, 2), POINTS, CrossEntropy()),
    "real values": (lambda: Perceptrons(3, 4, 1), CURVE, MeanSquaredError()),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 17])
def test_shards_on_threads_are_the_whole_batch(workers: Workers, kind: str, count: int) -> None:
    """Errors add up, regularization counts once, and each row is dropped as in the whole batch."""
    build, samples, error = KINDS[kind]
    network, index, run = build(), LossIndex(error, Regularization("l2", 0.1)), ForwardContext(DropoutKey(3, 7))
    batch = samples.batch(np.arange(count))
    whole, expected = index.differentiate(network, batch, run)
    loss, gradient = workers.differentiate(index, network, batch, run)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-13)
    assert np.abs(expected).max() > 1e-2
    assert loss.error == pytest.approx(whole.error, abs=1e-13)
    assert (loss.positions, loss.regularization) == (whole.positions, whole.regularization)
    np.testing.assert_equal(loss.hits, whole.hits)


def test_the_same_threads_give_the_same_bits(workers: Workers) -> None:
    network, index, batch = small_transformer(dropout=0.3), LossIndex(), TRAINING.batch(np.arange(17))
    found = {
        workers.differentiate(index, network, batch, ForwardContext(DropoutKey(1, 1)))[1].tobytes() for _ in range(20)
    }
    assert len(found) == 1


def test_results_come_in_the_order_of_the_items(workers: Workers) -> None:
    for count in range(12):
        assert workers.map(lambda i: i * i, range(count)) == [i * i for i in range(count)]


def test_the_work_is_shared(workers: Workers) -> None:
    barrier = threading.Barrier(workers.threads, timeout=LONGEST)

    def meet(_: int) -> int:
        barrier.wait()  # passed only when all threads are here at once
        return threading.get_ident()

    who = workers.map(meet, range(workers.threads))
    assert len(set(who)) == workers.threads
    assert threading.get_ident() in who


def test_a_sweep_reaches_every_part_once(workers: Workers) -> None:
    seen = np.zeros(100, int)

    def touch(part: slice) -> None:
        seen[part] += 1

    for _ in workers.map(touch, [slice(start, start + 7) for start in range(0, 100, 7)]):
        pass
    assert (seen == 1).all()


@pytest.mark.parametrize("failing", range(4))
def test_what_fails_in_a_thread_is_raised(workers: Workers, failing: int) -> None:
    class Failed(Exception):
        pass

    def fail(i: int) -> None:
        if i == failing:
            raise Failed

    with pytest.raises(Failed):
        workers.map(fail, range(4))
    assert workers.map(abs, [-1, -2, -3]) == [1, 2, 3]


def test_one_set_of_threads_serves_networks_of_any_size_and_precision(workers: Workers) -> None:
    index = LossIndex()
    for network in (Perceptrons(3, 2), Perceptrons(3, 8, 2), Perceptrons(3, 2)):
        batch = POINTS.batch(np.arange(9))
        np.testing.assert_allclose(
            workers.differentiate(index, network, batch, ForwardContext())[1],
            index.differentiate(network, batch)[1],
            atol=1e-13,
        )
    for dtype in (np.float64, np.float32):
        gradient = workers.differentiate(
            index, small_transformer(dtype=dtype), TRAINING.batch(np.arange(9)), ForwardContext()
        )[1]
        assert gradient.dtype == dtype


def test_a_training_on_threads_goes_where_one_thread_goes(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    """Theta is swept in parts, so small here that every thread has several."""
    monkeypatch.setattr(optimizer_module, "PART", 16)
    found: list[list[Array]] = []
    for given in ({}, {"workers": workers}):
        heard = Heard()
        settings = {"accumulate": 2, "averaging": 0.5, "clip": 0.5}
        training = Case(dropping(dtype=np.float64), settings=settings).build(watch=heard, **given)
        training.run()
        assert training.step.average is not None
        found.append([*heard.thetas, training.step.average])
    for alone, together in zip(*found, strict=True):
        np.testing.assert_allclose(together, alone, rtol=0, atol=1e-9)


@pytest.mark.parametrize("threads", [0, -2])
def test_at_least_one_thread_does_the_work(threads: int) -> None:
    with pytest.raises(ConfigurationError, match=f"threads must be at least 1, got {threads}"):
        Workers(threads)


def test_there_is_a_core_to_work_on() -> None:
    assert physical_cores() >= 1


def test_when_one_fails_nobody_is_left_at_work() -> None:
    """The next step writes into the same gradients."""
    over, workers = threading.Event(), Workers(2)

    def work(number: int) -> None:
        if number == 0:
            raise ValueError("no")
        threading.Event().wait(0.2)
        over.set()

    with pytest.raises(ValueError, match="no"):
        workers.map(work, range(2))
    assert over.is_set()
    workers.close()


def test_a_thread_that_is_free_takes_what_is_left() -> None:
    """The first item waits for the third: it would wait in vain if that were laid by for its own thread."""
    last = threading.Event()

    def work(i: int) -> bool:
        if i == 2:
            last.set()
        return i != 0 or last.wait(timeout=LONGEST)

    workers = Workers(2)
    assert workers.map(work, range(3)) == [True, True, True]
    workers.close()


def test_threads_end_with_their_workers() -> None:
    def at_work() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "dragoman"}

    before, closed, forgotten = at_work(), Workers(3), Workers(3)
    for workers in (closed, forgotten):
        workers.map(abs, range(3))
    hired = at_work() - before
    assert len(hired) == 4
    closed.close()
    del workers, forgotten
    for thread in hired:
        thread.join(LONGEST)
        assert not thread.is_alive()
    assert closed.map(abs, [-1, -2]) == [1, 2], "they are hired again when there is work again"
    closed.close()


def test_what_threads_worked_on_is_not_kept() -> None:
    class Large:
        pass

    workers, large = Workers(3), Large()
    kept = weakref.ref(large)
    workers.map(lambda _, given=large: given is None, range(3))
    del large
    for _ in range(6000):
        if kept() is None:
            break
        time.sleep(0.01)
    assert kept() is None
    workers.close()


def test_an_interrupt_before_the_first_shard_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that wait for the shard of the thread that was interrupted are let go, and work again afterwards."""
    workers, network, index = Workers(2), small_transformer(), LossIndex()
    batch, main, interrupted = TRAINING.batch(np.arange(17)), threading.get_ident(), []

    @contextmanager
    def gate(_: int) -> Iterator[Any]:
        def begin() -> None:
            if threading.get_ident() == main and not interrupted:
                interrupted.append(True)
                raise KeyboardInterrupt

        yield begin

    monkeypatch.setattr(workers_module, "gate", gate)
    with pytest.raises(KeyboardInterrupt):
        workers.differentiate(index, network, batch, ForwardContext())
    _, gradient = workers.differentiate(index, network, batch, ForwardContext())
    np.testing.assert_allclose(gradient, index.differentiate(network, batch)[1], atol=1e-6)
    workers.close()


def test_a_forked_process_hires_its_own_threads() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("needs a system that forks")
    program = """
import os, warnings
warnings.simplefilter("ignore")  # of threads in a process that forks: just what is tried
from dragoman.training.workers import Workers
workers = Workers(2)
workers.map(abs, [-1, -2])
child = os.fork()
found = workers.map(abs, [-3, -4])
if not child:
    os._exit(found != [3, 4])
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=LONGEST, check=False).returncode == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_of_several_threads_at_once_do_not_disturb_each_other(threads: int) -> None:
    workers, network, index = Workers(threads), small_transformer(dropout=0.3), LossIndex()
    batches = [TRAINING.batch(np.arange(first, first + 9)) for first in range(4)]
    run = ForwardContext(DropoutKey(1, 1))
    expected = [Workers(threads).differentiate(index, network, batch, run)[1].copy() for batch in batches]
    wrong: list[int] = []

    def call(number: int) -> None:
        for _ in range(15):
            _, gradient = workers.differentiate(index, network, batches[number], run)
            time.sleep(0.001)  # long enough for others to write, if they wrote to the same place
            if gradient.tobytes() != expected[number].tobytes():
                wrong.append(number)

    callers = [threading.Thread(target=call, args=(number,), daemon=True) for number in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(LONGEST)
        assert not caller.is_alive(), "calls wait for each other for ever"
    assert not wrong


def test_a_map_inside_a_map(workers: Workers) -> None:
    found: list[list[list[int]]] = []

    def nested() -> None:
        found.append(workers.map(lambda i: workers.map(lambda j: 10 * i + j, range(3)), range(4)))

    caller = threading.Thread(target=nested, daemon=True)
    caller.start()
    caller.join(LONGEST)
    assert not caller.is_alive(), "the inner map waits for threads that wait for it"
    assert found == [[[10 * i + j for j in range(3)] for i in range(4)]]


@pytest.mark.parametrize("system_threads", [1, 2, 3])
def test_the_bits_do_not_depend_on_how_many_threads_the_system_runs(system_threads: int) -> None:
    network, index, batch = small_transformer(dropout=0.3, tied="all"), LossIndex(), TRAINING.batch(np.arange(17))
    expected = Workers(5).differentiate(index, network, batch, ForwardContext(DropoutKey(1, 1)))[1].tobytes()
    workers = Workers(5)
    workers._pace = Pace(system_threads)  # as if others had the cores
    for _ in range(10):
        assert workers.differentiate(index, network, batch, ForwardContext(DropoutKey(1, 1)))[1].tobytes() == expected
