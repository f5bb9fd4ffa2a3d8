"""Signs of life: what ranks exchange while one of them does work that may take hours.

Collectives give up after the timeout, so the ranks wait on the store. Each counts up a number of its own there while
it works or waits. A rank whose number stands still for the timeout is lost.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Protocol, Self

LOOKS = 10  # at the numbers of the other ranks, within the timeout
LONGEST_POLL = 0.2  # seconds between questions for a flag
LAST_WORD = 5.0  # seconds to tell the others at the end


class Store(Protocol):
    """The store of a process group: numbers by name, the same for all ranks."""

    def add(self, key: str, amount: int) -> int:
        """Add to a number, which is 0 at first, and return it."""
        ...


class Heartbeat:
    """Within this context, tell the other ranks that this one is alive, watch them, and wait for their flags.

    A thread talks to the store: a call does not return while the store cannot be reached, and the thread that waits
    must find out that there is no news. A rank that leaves the context with an error tells the others.
    """

    def __init__(self, store: Store, name: str, rank: int, size: int, timeout: float) -> None:
        self._store, self._name, self._rank, self._size, self._timeout = store, name, rank, size, timeout
        self._failed = f"{name}-failed"
        self._counts = [-1] * size
        self._news = [0.0] * size  # when each rank was last seen to count
        self._next_look = 0.0
        self._to_raise: list[str] = []
        self._flags: dict[str, int] = {self._failed: 0}  # those that are waited for
        self._error: Exception | None = None
        self._changed = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._news = [time.monotonic()] * self._size
        self._thread.start()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None:
            self.raise_flag(self._failed)
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join(min(self._timeout, LAST_WORD))

    def raise_flag(self, key: str) -> None:
        """Count up a flag that other ranks wait for."""
        with self._changed:
            self._to_raise.append(key)
            self._changed.notify_all()

    def wait(self, key: str, count: int = 1) -> None:
        """Wait until a flag was raised so many times; raise a RuntimeError if a rank is lost."""
        with self._changed:
            self._flags.setdefault(key, 0)
            self._changed.notify_all()
            while self._flags[key] < count:
                self._check()
                self._changed.wait(LONGEST_POLL)

    def _check(self) -> None:
        if self._error is not None:
            raise RuntimeError(f"the store is gone: {self._error}")
        if self._flags[self._failed]:
            raise RuntimeError("another rank failed")
        oldest = min(range(self._size), key=self._news.__getitem__)
        if time.monotonic() - self._news[oldest] > self._timeout:
            raise RuntimeError(f"no sign of life from rank {oldest}")

    def _run(self) -> None:
        try:
            while self._talk():
                with self._changed:
                    if not (self._ended or self._to_raise):
                        self._changed.wait(min(LONGEST_POLL, self._timeout / LOOKS))
        except RuntimeError as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _talk(self) -> bool:
        """Talk to the store once; return whether to go on."""
        with self._changed:
            to_raise, self._to_raise, ended, keys = self._to_raise, [], self._ended, list(self._flags)
        for key in to_raise:
            self._store.add(key, 1)
        if ended:
            return False
        if time.monotonic() >= self._next_look:
            self._look()
        flags = {key: self._store.add(key, 0) for key in keys}
        with self._changed:
            self._flags |= flags
            self._changed.notify_all()
        return True

    def _look(self) -> None:
        """Count up the number of this rank, and see which others have counted."""
        counts = [self._store.add(f"{self._name}-{rank}", int(rank == self._rank)) for rank in range(self._size)]
        now = time.monotonic()
        self._next_look = now + self._timeout / LOOKS
        with self._changed:
            for rank, count in enumerate(counts):
                if count != self._counts[rank]:
                    self._news[rank] = now
        self._counts = counts
