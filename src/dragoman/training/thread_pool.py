"""A thread pool whose threads spin for a while between calls: waking a thread takes longer than many kernels."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from dragoman.engines import idle_after_call, wait_until_idle

Outcome = tuple[Any, BaseException | None]  # what a function returned, or what it raised
Call = tuple[Callable[[], Any], SimpleQueue[Outcome]]


class ThreadPool:
    """A pool of `size` threads besides the calling one. They end with the pool."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = Lock()
        self._calls: SimpleQueue[Call | None] | None = None  # none before the first call
        self._process = 0  # the process of the threads

    def run_on_all(
        self, function: Callable[[], Any], failed: Callable[[], Any] = lambda: None, helpers: int | None = None
    ) -> list[Any]:
        """Call the function here and on the threads, and return all results. Raises an error after all have ended.

        failed   is called when one has failed, to let the others end
        helpers  number of threads besides this one; None: all
        """
        calls, outcomes = self._start_threads(), SimpleQueue[Outcome]()
        called, found = 0, list[Outcome]()
        try:
            for _ in range(self.size if helpers is None else helpers):
                calls.put((function, outcomes))
                called += 1
            found.append(_outcome(function))
            wait_until_idle()
        except BaseException as error:  # an interrupt may come anywhere
            found.append((None, error))
        if any(error is not None for _, error in found):
            failed()
        found += _collect(outcomes, called)
        errors = [error for _, error in found if error is not None]
        if not errors:
            return [value for value, _ in found]
        try:
            raise errors[0]
        finally:
            del found, errors  # break the reference cycle with the frames of the error

    def _start_threads(self) -> SimpleQueue[Call | None]:
        """Start the threads if needed (also after a fork) and return their queue."""
        with self._lock:
            if self._calls is None or self._process != os.getpid():
                self._calls, self._process = SimpleQueue(), os.getpid()
                for _ in range(self.size):
                    Thread(target=_serve, args=(self._calls,), name="dragoman", daemon=True).start()
                self._stop_threads = weakref.finalize(self, _stop_threads, self._calls, self.size)
            return self._calls

    def close(self) -> None:
        with self._lock:
            if self._calls is not None:
                self._stop_threads()
                self._calls = None


def _serve(calls: SimpleQueue[Call | None]) -> None:
    while (call := calls.get()) is not None:
        function, outcomes = call
        outcome = _outcome(function)
        idle = idle_after_call()
        outcomes.put(outcome)
        call = function = outcomes = outcome = None  # type: ignore[assignment]  # an idle thread keeps nothing alive
        idle()


def _outcome(function: Callable[[], Any]) -> Outcome:
    try:
        return function(), None
    except BaseException as error:
        return None, error


def _collect(outcomes: SimpleQueue[Outcome], count: int) -> list[Outcome]:
    """Wait for all outcomes, even if interrupted: running threads still write to shared memory."""
    found, late = list[Outcome](), list[Outcome]()
    while len(found) < count:
        try:
            found.append(outcomes.get())
        except KeyboardInterrupt as interrupt:
            late.append((None, interrupt))
    return found + late


def _stop_threads(calls: SimpleQueue[Call | None], size: int) -> None:
    for _ in range(size):
        calls.put(None)
