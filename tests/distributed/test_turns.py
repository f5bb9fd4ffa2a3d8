"""Signs of life: a long preparation is waited for, a lost rank is not."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from dragoman.distributed.turns import Heartbeat

TIMEOUT = 0.5


class SharedStore:
    """Numbers that all threads see; a rank may be cut off from it."""

    def __init__(self) -> None:
        self._numbers: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.mended = threading.Event()
        self.mended.set()

    def add(self, key: str, amount: int) -> int:
        self.mended.wait()
        with self._lock:
            self._numbers[key] += amount
            return self._numbers[key]


def heartbeat(store: SharedStore, rank: int, size: int = 2, timeout: float = TIMEOUT) -> Heartbeat:
    return Heartbeat(store, "turn", rank, size, timeout)


def test_work_that_takes_longer_than_the_timeout_is_waited_for() -> None:
    store, done, patient = SharedStore(), [], 4 * TIMEOUT  # on a busy machine a sign of life may be late

    def work() -> None:
        with heartbeat(store, 0, timeout=patient) as first:
            time.sleep(1.5 * patient)
            done.append("work")
            first.raise_flag("ready")

    thread = threading.Thread(target=work)
    thread.start()
    with heartbeat(store, 1, timeout=patient) as second:
        second.wait("ready")
        done.append("waited")
    thread.join()
    assert done == ["work", "waited"]


def test_a_rank_that_has_not_counted_yet_is_not_lost() -> None:
    """The store answers only after somebody has begun to wait."""

    class Slow(SharedStore):
        def add(self, key: str, amount: int) -> int:
            asked.wait()
            return super().add(key, amount)

    class Waiting(Heartbeat):
        def _check(self) -> None:
            super()._check()
            asked.set()

    asked = threading.Event()
    with Waiting(Slow(), "turn", 0, 1, timeout=60) as first:
        first.raise_flag("ready")
        try:
            first.wait("ready")
        finally:
            asked.set()


def test_a_flag_is_waited_for_until_all_have_raised_it() -> None:
    store = SharedStore()
    with heartbeat(store, 0) as first, heartbeat(store, 1) as second:
        first.raise_flag("done")
        first.wait("done")
        second.raise_flag("done")
        first.wait("done", 2)
        second.wait("done", 2)


def test_a_rank_without_a_sign_of_life_is_lost() -> None:
    began = time.monotonic()
    with heartbeat(SharedStore(), 0) as first, pytest.raises(RuntimeError, match="no sign of life from rank 1"):
        first.wait("ready")
    assert time.monotonic() - began >= TIMEOUT


def test_a_rank_that_fails_is_known_before_it_is_missed() -> None:
    store = SharedStore()
    with pytest.raises(ZeroDivisionError), heartbeat(store, 0):
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="another rank failed"), heartbeat(store, 1, timeout=60) as second:
        second.wait("ready")


def test_a_store_that_does_not_answer_is_given_up() -> None:
    store = SharedStore()
    with heartbeat(store, 0) as first:
        store.mended.clear()
        with pytest.raises(RuntimeError, match="no sign of life"):
            first.wait("ready")
        store.mended.set()


def test_a_store_that_is_gone_is_an_error() -> None:
    class Gone(SharedStore):
        def add(self, key: str, amount: int) -> int:
            raise RuntimeError("connection reset")

    with pytest.raises(RuntimeError, match="connection reset"), heartbeat(Gone(), 0) as first:
        first.wait("ready")
