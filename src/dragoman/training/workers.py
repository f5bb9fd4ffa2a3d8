"""Shards of a batch on threads: each runs its whole forward and backward pass with single-threaded BLAS."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from dragoman.batch import Batch
from dragoman.engines import aside, turns
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Gathering, Theta
from dragoman.layers import Run
from dragoman.loss import Loss, LossIndex
from dragoman.networks import Network
from dragoman.training.crew import Crew

USUAL = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}  # what NumPy tells, unless asked
A = TypeVar("A")
B = TypeVar("B")


def physical_cores() -> int:
    """Cores this process may use; two threads of one core count once, where the system tells."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    siblings = set()
    for core in allowed:
        place = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        try:
            siblings.add(place.read_text().strip())
        except OSError:
            siblings.add(str(core))
    return max(1, len(siblings))


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def single_blas() -> AbstractContextManager[Any]:
    """One BLAS thread for each thread of ours: two pools would spin against each other."""
    context: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return context


@functools.cache
def keep_pages() -> None:
    """Let the C library keep the memory that a step frees for the next one.

    glibc gives large blocks back to the system, which hands them out again page by page, a fault each: some hundred
    faults a step where the sizes of batches differ. What threads have of their own comes in blocks that are given back
    whatever is asked: they share what the first has. Other C libraries have no such setting and are left alone.
    """
    trim_threshold, mmap_threshold, arena_max = -1, -3, -8  # M_TRIM_THRESHOLD... of malloc.h
    library = platform.libc_ver()[0]
    if library == "glibc":
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(mmap_threshold, 2**30)
        mallopt(trim_threshold, 2**31 - 1)
        mallopt(arena_max, 1)


class Workers:
    """Threads that share the work of a step. The same number of threads gives the same bits."""

    def __init__(self, threads: int = 1) -> None:
        if threads < 1:
            raise ConfigurationError(f"at least one thread does the work, got {threads}")
        keep_pages()
        self.threads = threads
        self._crew = Crew(threads - 1)
        self._theta: Theta | None = None  # what the gradient belongs to
        self._gradient: Array = np.empty(0)
        self._views: dict[int, Array] = {}

    def map(self, function: Callable[[A], B], items: Sequence[A], failed: Callable[[], Any] = lambda: None) -> list[B]:
        """The function of every item, in the order of the items; whichever thread is free takes the next.

        failed  where items wait for each other: lets them end when one of them will not
        """
        if self.threads < 2 or len(items) < 2:
            return [function(item) for item in items]
        told, left = np.geterr(), iter(range(len(items)))  # the next of a range is handed out once, to any thread

        def several() -> dict[int, B]:
            try:
                begin()
                # a thread does not inherit what the one that asked wants told
                with nullcontext() if told == USUAL else np.errstate(**told):
                    return {i: function(items[i]) for i in left}
            except BaseException:
                failed()
                raise

        found: dict[int, B] = {}
        with turns(self.threads) as begin:
            for some in self._crew.together(several, failed):
                found |= some
        return [found[i] for i in range(len(items))]

    def differentiate(
        self,
        loss_index: LossIndex,
        network: Network,
        batch: Batch,
        run: Run,
        prepare: Callable[[Batch], Batch] = lambda shard: shard,
    ) -> tuple[Loss, Array]:
        """The loss of a batch and its gradient, summed over the shards in their order; valid until the next call."""
        shards, total = batch.shards(self.threads), batch.weight
        gradient = self._make_room(network)
        gathering = Gathering(self._views, len(shards), aside)

        def differentiate(number: int) -> tuple[float, float]:
            with gathering.share(number) as share:
                return loss_index.differentiate_error(network, prepare(shards[number]), share, run, total)

        found = self.map(differentiate, range(len(shards)), gathering.end)
        error, hits = sum(e for e, _ in found), sum(h for _, h in found)
        return loss_index.regularized(network, error, hits, total, gradient), gradient

    def _make_room(self, network: Network) -> Array:
        theta = network.theta
        if self._theta is not theta:
            self._theta, self._gradient = theta, np.empty_like(theta.values)
            self._views = theta.views(self._gradient)
        return self._gradient

    def close(self) -> None:
        self._crew.close()
