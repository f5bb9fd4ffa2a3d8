"""Choose how many threads run the shards of a batch when other programs use the cores too.

Threads of a step wait for each other. If another program takes one of their cores, two threads can be slower than one.
So when threads get too little CPU time in a step, fewer threads are tried, and the faster setting (seconds per row) is
kept. More threads are tried again later. Results do not depend on which thread runs a shard.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, thread_time

KEPT_WAITING = 0.8  # threads that ran for less than this share of a step lacked a core
TRIAL = 3  # steps of a trial with another number of threads
FIRST_REST, LONGEST_REST = 8, 128  # steps between trials; doubled after each trial without gain
BETTER = 0.97  # share of the previous time per row: less gain is noise
RECENT = 0.2  # weight of the last step in the mean


class Pace:
    """The number of threads to use, from how long steps take."""

    def __init__(self, most: int) -> None:
        # one thread per shard, then the fewest that need 2, 3 ... rounds
        self._counts = sorted({math.ceil(most / evaluations) for evaluations in range(1, most + 1)}, reverse=True)
        self._at = 0  # the count in use
        self._seconds = math.nan  # seconds per row with it
        self._trial: list[float] = []  # seconds of a row in each step of a trial
        self._tried: int | None = None  # the count being tried
        self._rest, self._left = FIRST_REST, FIRST_REST  # steps until the next trial may begin
        self._ran: list[tuple[float, float]] = []  # (seconds at work, seconds that passed) of each thread in this step

    @property
    def threads(self) -> int:
        """Number of threads for the next step."""
        return self._counts[self._at if self._tried is None else self._tried]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Measure the work of one thread in a step."""
        ran, passed = thread_time(), perf_counter()
        try:
            yield
        finally:
            self._ran.append((thread_time() - ran, perf_counter() - passed))

    @contextmanager
    def step(self, rows: int) -> Iterator[None]:
        """Measure a step over this many rows."""
        self._ran.clear()
        began = perf_counter()
        yield
        if len(self._counts) > 1 and rows:
            self._observe((perf_counter() - began) / rows, self._kept_waiting())

    def _kept_waiting(self) -> bool:
        ran, passed = (sum(several) for several in zip(*self._ran, strict=True)) if self._ran else (1.0, 1.0)
        return ran < KEPT_WAITING * passed

    def _observe(self, seconds: float, kept_waiting: bool) -> None:
        if self._tried is not None:
            self._trial.append(seconds)
            if len(self._trial) == TRIAL:
                self._judge()
            return
        before = self._seconds
        self._seconds = seconds if math.isnan(before) else before + RECENT * (seconds - before)
        self._left -= 1
        if self._left > 0:
            return
        if kept_waiting and self._at + 1 < len(self._counts):
            self._try(self._at + 1)
        elif self._at > 0:
            self._try(self._at - 1)

    def _try(self, count: int) -> None:
        self._tried, self._trial = count, []

    def _judge(self) -> None:
        """Keep what was tried if it was faster, without its first step, in which threads had to wake up."""
        found = sum(self._trial[1:]) / (TRIAL - 1)
        if found < BETTER * self._seconds and self._tried is not None:
            self._at, self._seconds, self._rest = self._tried, found, FIRST_REST
        else:
            self._rest = min(LONGEST_REST, 2 * self._rest)
        self._tried, self._left = None, self._rest
