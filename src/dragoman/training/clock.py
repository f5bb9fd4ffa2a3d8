"""The time that a process has run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

TICK = 1.0  # seconds between two looks at the clock
GAP = 10.0  # seconds without a look, of which only those on the processor count


class RunningClock:
    """Seconds since the start; those in which the process was suspended (SIGSTOP, Ctrl-Z) are left out.

    A thread looks at the clock every second. Where none of the process's threads has looked for ten, either the process
    was suspended, or one thread ran and kept the others waiting: only the processor time of such a gap is counted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.restart()

    def restart(self) -> None:
        with self._lock:
            self._counted, self._last, self._used = 0.0, time.monotonic(), time.process_time()

    def seconds(self) -> float:
        with self._lock:
            now, used = time.monotonic(), time.process_time()
            gap, ran = now - self._last, used - self._used
            self._counted += gap if gap <= GAP else min(gap, max(TICK, ran))
            self._last, self._used = now, used
            return self._counted

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Look at the clock every second."""
        ended = threading.Event()

        def tick() -> None:
            while not ended.wait(TICK):
                self.seconds()

        thread = threading.Thread(target=tick, name="training clock", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
