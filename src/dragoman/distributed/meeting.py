"""Let the ranks of one start find each other in a store that remembers earlier starts.

torchrun keeps its store when it restarts the ranks, and gloo would read the addresses of processes that are gone. So
every start keeps its keys under a name of its own, which the first rank chooses. A rank says hello with a random word,
and only a first rank that is alive answers to that word.
"""

from __future__ import annotations

import secrets
import time
from typing import Protocol

POLL = 0.01  # seconds


class Store(Protocol):
    """What is used of torch.distributed.Store."""

    def set(self, key: str, value: str) -> None: ...

    def get(self, key: str) -> bytes: ...

    def check(self, keys: list[str]) -> bool: ...


def agreed_name(store: Store, rank: int, size: int, timeout: float) -> str:
    """A name that the ranks of this start, and no others, agree on; a RuntimeError if they do not come in time."""
    end = time.monotonic() + timeout
    return _invite(store, size, end) if rank == 0 else _follow(store, rank, end)


def _invite(store: Store, size: int, end: float) -> str:
    """Answer whoever says hello, maybe to a process that is gone too, until all have followed."""
    name, answered = secrets.token_hex(8), set[str]()
    missing = set(range(1, size))
    while missing:
        for rank in sorted(missing):
            if store.check([f"hello-{rank}"]):
                word = store.get(f"hello-{rank}").decode()
                if word not in answered:
                    store.set(f"answer-{word}", name)
                    answered.add(word)
        missing = {rank for rank in missing if not store.check([f"{name}-{rank}"])}
        if missing:
            _pause(end, f"rank {min(missing)} did not come")
    store.set(f"{name}-all", "")
    return name


def _follow(store: Store, rank: int, end: float) -> str:
    word = secrets.token_hex(8)
    store.set(f"hello-{rank}", word)
    _wait(store, f"answer-{word}", end, "the first rank did not come")
    name = store.get(f"answer-{word}").decode()
    store.set(f"{name}-{rank}", "")
    _wait(store, f"{name}-all", end, "another rank did not come")
    return name


def _wait(store: Store, key: str, end: float, missing: str) -> None:
    while not store.check([key]):
        _pause(end, missing)


def _pause(end: float, missing: str) -> None:
    if time.monotonic() > end:
        raise RuntimeError(missing)
    time.sleep(POLL)
