"""The ranks of a start find each other, whatever earlier starts have left in the store."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dragoman.distributed.meeting import agreed_name

SIZE = 3


class SharedStore:
    """Texts that all threads see."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._lock = threading.Lock()

    def set(self, key: str, value: str) -> None:
        with self._lock:
            self._texts[key] = value

    def get(self, key: str) -> bytes:
        with self._lock:
            return self._texts[key].encode()

    def check(self, keys: list[str]) -> bool:
        with self._lock:
            return all(key in self._texts for key in keys)


def start(store: SharedStore, order: tuple[int, ...], apart: float = 0.03, timeout: float = 5.0) -> list[str]:
    """The names that ranks find which come in this order."""
    with ThreadPoolExecutor(SIZE) as threads:
        found = {}
        for rank in order:
            found[rank] = threads.submit(agreed_name, store, rank, SIZE, timeout)
            time.sleep(apart)
        return [each.result() for each in found.values()]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_every_start_has_a_name_of_its_own(order: tuple[int, ...]) -> None:
    store, names = SharedStore(), []
    for _ in range(3):
        found = start(store, order)
        assert len(set(found)) == 1
        names.append(found[0])
    assert len(set(names)) == 3


def test_a_start_that_was_broken_off_is_forgotten() -> None:
    store = SharedStore()
    for left in ((1, 2), (0, 2), (0,)):
        with pytest.raises(RuntimeError, match="did not come"):
            start(store, left, timeout=0.2)
    assert len(set(start(store, (2, 0, 1)))) == 1
