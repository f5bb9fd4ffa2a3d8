"""Trainings, searches and evaluations run fast by themselves, and leave the process as they found it."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dragoman import Batch
from dragoman.decoding import Greedy, decode
from dragoman.engines.compute import fast_compute
from dragoman.graph import current_engine, use_engine
from dragoman.loss import Loss, LossIndex
from dragoman.networks import Network
from dragoman.optimization import Adam, Constant
from dragoman.training import Callback, Stopping, train
from tests.training.small_trainings import TRAINING, small_transformer

engine_state = sys.modules["dragoman.graph.operation"]


def blas_threads() -> set[int]:
    """Of NumPy's own; others (SciPy's) may be loaded at any time"""
    return {library["num_threads"] for library in threadpool_info() if "numpy" in library["filepath"]}


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process that has just begun, on a machine with two BLAS threads"""
    pytest.importorskip("numba")
    monkeypatch.setenv("DRAGOMAN_ENGINE", "numba")
    monkeypatch.setattr(engine_state, "_chosen", False)
    monkeypatch.setattr(engine_state, "_engine", "numpy")
    with threadpool_limits(2):
        assert blas_threads() == {2}
        yield


def state() -> tuple[str, set[int]]:
    return current_engine(), blas_threads()


FAST, AS_BEFORE = ("numba", {1}), ("numpy", {2})


class Seen(Callback):
    def __init__(self) -> None:
        self.states: list[Any] = []

    def step(self, step: int, loss: Loss, training: Any) -> None:
        self.states.append(state())


def trained(watch: Callback) -> Network:
    network, batch = small_transformer(depth=16, heads=2), TRAINING.batch(np.arange(4))
    train(network, itertools.repeat(batch), Adam(), Constant(0.01), Stopping(2), watch=watch)
    return network


def test_a_training_runs_fast_and_gives_back_what_it_changed() -> None:
    seen = Seen()
    trained(seen)
    assert seen.states == [FAST, FAST]
    assert state() == AS_BEFORE


def test_a_search_and_an_evaluation_of_any_size_run_on_the_same_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a single sentence, and also when no kernels are in memory yet."""
    network, states = small_transformer(depth=16, heads=2), []
    monkeypatch.delitem(sys.modules, "dragoman.engines.numba", raising=False)

    encode = type(network).encode
    monkeypatch.setattr(type(network), "encode", lambda self, batch: (states.append(state()), encode(self, batch))[1])
    decode(network, [[2, 5, 3]], Greedy(), 3, each=lambda write, batches: [_noted(states, write, b) for b in batches])
    assert states[0] == FAST
    assert state() == AS_BEFORE

    def error(outputs: Any, batch: Batch, total: float | None = None) -> tuple[float, float]:
        states.append(state())
        return 0.0, 0.0

    LossIndex(error).evaluate(network, TRAINING.batch(np.arange(4)))
    assert states[-1] == FAST
    assert state() == AS_BEFORE


def _noted(states: list[Any], write: Any, batch: Any) -> Any:
    states.append(state())
    return write(batch)


def test_a_training_that_fails_gives_back_too() -> None:
    class Failing(Callback):
        def step(self, step: int, loss: Loss, training: Any) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        trained(Failing())
    assert state() == AS_BEFORE


def test_the_last_of_those_that_overlap_gives_back() -> None:
    first, second = fast_compute(), fast_compute()
    first.__enter__()
    second.__enter__()
    assert state() == FAST
    first.__exit__(None, None, None)  # not the one that was entered last
    assert state() == FAST
    second.__exit__(None, None, None)
    assert state() == AS_BEFORE


def test_the_last_may_be_on_another_thread() -> None:
    first, second = fast_compute(), fast_compute()
    threads = [
        threading.Thread(target=step)
        for step in (first.__enter__, second.__enter__, lambda: first.__exit__(None, None, None))
    ]
    for thread in threads:
        thread.start()
        thread.join()
        assert state() == FAST
    second.__exit__(None, None, None)
    assert state() == AS_BEFORE


def test_trainings_on_several_threads_overlap() -> None:
    watchers = [Seen() for _ in range(3)]
    threads = [threading.Thread(target=trained, args=(watch,)) for watch in watchers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert [watch.states for watch in watchers] == [[FAST, FAST]] * 3
    assert state() == AS_BEFORE


@pytest.mark.parametrize("name", ["numpy", "numba"])
def test_an_engine_that_was_chosen_is_left_alone(name: str) -> None:
    use_engine(name)
    seen = Seen()
    trained(seen)
    assert seen.states == [(name, {1})] * 2
    assert state() == (name, {2})


def test_what_is_chosen_meanwhile_stays() -> None:
    with fast_compute():
        use_engine("numba")
    assert state() == ("numba", {2})


def test_an_unknown_engine_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_ENGINE", "abacus")
    with pytest.raises(Exception, match="abacus"), fast_compute():
        raise AssertionError("not reached")
    assert state() == AS_BEFORE
    monkeypatch.setenv("DRAGOMAN_ENGINE", "numba")
    trained(Callback())
    assert state() == AS_BEFORE


LATER = """
from threadpoolctl import threadpool_info
from dragoman.engines.compute import fast_compute

def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

with fast_compute():
    pass
before = len(threadpool_info())
import scipy.linalg
if len(threadpool_info()) == before:
    print("shared")
with fast_compute():
    assert threads() == {1}, threadpool_info()
assert threads() == {2}, threadpool_info()
"""
WITHIN = """
from threadpoolctl import threadpool_info
from dragoman.engines.compute import fast_compute

def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

with fast_compute():
    import scipy.linalg
    with fast_compute():
        assert threads() == {1}, threadpool_info()
    assert threads() == {1}, threadpool_info()
assert threads() == {2}, threadpool_info()
"""


@pytest.mark.parametrize("script", [LATER, WITHIN], ids=["between two computations", "within a computation"])
def test_a_library_that_is_loaded_later_has_one_thread_too(script: str) -> None:
    """SciPy brings its own BLAS."""
    pytest.importorskip("scipy")
    variables = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "DRAGOMAN_ENGINE": "numpy"}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=False)
    if done.stdout == "shared\n":
        pytest.skip("SciPy uses NumPy's own BLAS here")
    assert (done.returncode, done.stderr) == (0, "")
