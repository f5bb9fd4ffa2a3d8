"""Run the shards of a batch on threads, each with its forward and backward pass and single-threaded BLAS."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import Lock, local
from typing import Any, TypeVar

import numpy as np

from dragoman.batch import Batch
from dragoman.engines import gate, paused
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, GradientReducer
from dragoman.layers import ForwardContext
from dragoman.loss import Loss, LossIndex
from dragoman.networks import Network
from dragoman.ranks import ALONE, Ranks, Reduction, current
from dragoman.training.pace import Pace
from dragoman.training.thread_pool import ThreadPool

MOST_THREADS = 256  # each has its shard and its memory, and more cores than that are counted
USUAL = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}  # NumPy's defaults
A = TypeVar("A")
B = TypeVar("B")


def allowed_cores() -> set[int]:
    """Return the number of logical cores this process may use."""
    return set(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def check_threads(threads: int) -> str | None:
    """Return a warning if there are more threads than cores; far too many are an error."""
    if threads < 1:
        raise ConfigurationError(f"threads must be at least 1, got {threads}")
    cores, most = len(allowed_cores()), max(MOST_THREADS, os.cpu_count() or 1)
    if threads > most:
        raise ConfigurationError(f"{threads} threads are too many; use at most {most}, best one per core: {cores}")
    if threads <= cores:
        return None
    return f"{threads} threads share {cores} core{'s' if cores > 1 else ''} here: more than {cores} gain nothing"


def physical_cores() -> int:
    """Return the number of physical cores this process may use, where the system reports them."""
    siblings = set()
    for core in allowed_cores():
        place = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        try:
            siblings.add(place.read_text().strip())
        except OSError:
            siblings.add(str(core))
    return max(1, len(siblings))


def threads_per_rank() -> int:
    """The cores of this machine, shared by its ranks."""
    return max(1, physical_cores() // current().local_size)


@functools.cache
def keep_freed_memory() -> None:
    """Let the C library keep the memory that a step frees for the next one, in the whole process.

    A setting of the process belongs to a program, so `dragoman train` calls this and the library never does. glibc
    returns large blocks to the system, which hands them out again page by page: some hundred page faults a step where
    the sizes of batches differ. Arenas of other threads are returned whatever is set, so all threads share the first
    one. Other C libraries have no such setting and are left alone.
    """
    trim_threshold, mmap_threshold, arena_max = -1, -3, -8  # M_TRIM_THRESHOLD... of malloc.h
    library = platform.libc_ver()[0]
    if library == "glibc":
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(mmap_threshold, 2**30)
        mallopt(trim_threshold, 2**31 - 1)
        mallopt(arena_max, 1)


class Workers:
    """Threads that share the work of a step. The same number of threads gives the same bits.

    How many of them the system runs at a time depends on what else wants the cores (`Pace`); the shards and the order
    in which they are summed do not. One call at a time uses the threads: a nested or concurrent call runs on the
    thread that makes it.
    """

    def __init__(self, threads: int = 1) -> None:
        check_threads(threads)
        self.threads = threads
        self._pool = ThreadPool(threads - 1)
        self._pace = Pace(threads)
        self._taken = Lock()  # held by the call that uses the threads
        self._gradients = local()  # one per calling thread

    def map(
        self,
        function: Callable[[A], B],
        items: Sequence[A],
        failed: Callable[[], Any] = lambda: None,
        rows: int = 0,
    ) -> list[B]:
        """Map the function over items on the threads; results are in the order of the items.

        failed  is called when one fails, if items wait for each other
        rows    of a training step; its time decides how many threads to use
        """
        if self.threads < 2 or len(items) < 2 or not self._taken.acquire(blocking=False):
            return [function(item) for item in items]
        try:
            with self._pace.step(rows):
                if self._pace.threads < 2:
                    return [function(item) for item in items]
                return self._on_threads(self._pace.threads, function, items, failed)
        finally:
            self._taken.release()

    def _on_threads(
        self, threads: int, function: Callable[[A], B], items: Sequence[A], failed: Callable[[], Any]
    ) -> list[B]:
        errors, left = np.geterr(), iter(range(len(items)))  # next() hands out each number once

        def several() -> dict[int, B]:
            try:
                arrive()
                # NumPy's error handling is not inherited from the caller's thread
                with self._pace.at_work(), nullcontext() if errors == USUAL else np.errstate(**errors):
                    return {i: function(items[i]) for i in left}
            except BaseException:
                failed()
                raise

        found: dict[int, B] = {}
        with gate(threads) as arrive:
            for some in self._pool.run_on_all(several, failed, threads - 1):
                found |= some
        return [found[i] for i in range(len(items))]

    def differentiate(
        self,
        loss_index: LossIndex,
        network: Network,
        batch: Batch,
        run: ForwardContext,
        prepare: Callable[[Batch], Batch] = lambda shard: shard,
        total: float | None = None,
        ranks: Ranks = ALONE,
        reduced: bool = True,
    ) -> tuple[Loss, Array]:
        """Compute the loss of a batch and its gradient, summed over the shards in order.

        total    the weight of the whole batch, if this is the part of one rank; the loss is that of all ranks
        reduced  whether the gradient is too; otherwise it is a part, and all parts add up to it

        The gradient is valid until the next call from the same thread.
        """
        shards, total = batch.shards(self.threads), batch.weight if total is None else total
        gradient, views = self._gradient_buffer(network)
        reduction = ranks.reduction(network.theta, gradient) if reduced else Reduction()
        if not len(batch):  # a batch of fewer samples than there are ranks
            shards, gradient[:] = [], 0
        gradient_reducer = GradientReducer(
            views, len(shards), paused, reduction.written if reduced and ranks is not ALONE else None
        )

        def differentiate(number: int) -> tuple[float, float]:
            with gradient_reducer.share(number) as share:
                return loss_index.differentiate_error(network, prepare(shards[number]), share, run, total)

        found = self.map(differentiate, range(len(shards)), gradient_reducer.end, len(batch.labels))
        reduction.finish()
        sums = np.array([sum(e for e, _ in found), sum(h for _, h in found)], np.float64)
        ranks.sum(sums)
        error, hits = sums.tolist()
        if not reduced and not ranks.first:  # the regularization counts once
            return loss_index.loss(network, error, hits, total), gradient
        return loss_index.regularized(network, error, hits, total, gradient), gradient

    def _gradient_buffer(self, network: Network) -> tuple[Array, dict[int, Array]]:
        """Return a gradient buffer of this thread, and its views by parameter."""
        theta, mine = network.theta, self._gradients
        if getattr(mine, "theta", None) is not theta:
            mine.theta, mine.gradient = theta, np.empty_like(theta.values)
            mine.views = theta.views(mine.gradient)
        return mine.gradient, mine.views

    def close(self) -> None:
        self._pool.close()
