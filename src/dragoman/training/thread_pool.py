"""Threads that stay awake for a while between two calls: waking one takes longer than many a kernel."""

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
    """So many threads besides the one that calls them. They end with the crew."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = Lock()
        self._calls: SimpleQueue[Call | None] | None = None  # none before the first call
        self._process = 0  # that the threads belong to

    def together(
        self, function: Callable[[], Any], failed: Callable[[], Any] = lambda: None, helpers: int | None = None
    ) -> list[Any]:
        """What the function returns, here and on every thread; all are through when it raises what one has raised.

        failed   lets the others end when one will not do its part
        helpers  how many of the threads take part besides this one; None: all
        """
        calls, outcomes = self._hired(), SimpleQueue[Outcome]()
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
        found += _collected(outcomes, called)
        errors = [error for _, error in found if error is not None]
        if not errors:
            return [value for value, _ in found]
        try:
            raise errors[0]
        finally:
            del found, errors  # or they would keep themselves alive, with all that the frames of the error hold

    def _hired(self) -> SimpleQueue[Call | None]:
        """Where calls are taken from; a process that was forked has no threads but its own."""
        with self._lock:
            if self._calls is None or self._process != os.getpid():
                self._calls, self._process = SimpleQueue(), os.getpid()
                for _ in range(self.size):
                    Thread(target=_serve, args=(self._calls,), name="dragoman", daemon=True).start()
                self._dismiss = weakref.finalize(self, _dismiss, self._calls, self.size)
            return self._calls

    def close(self) -> None:
        with self._lock:
            if self._calls is not None:
                self._dismiss()
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


def _collected(outcomes: SimpleQueue[Outcome], count: int) -> list[Outcome]:
    """Those of all that were called, interrupts or not: while one is at work, what it writes to is not at rest."""
    found, late = list[Outcome](), list[Outcome]()
    while len(found) < count:
        try:
            found.append(outcomes.get())
        except KeyboardInterrupt as interrupt:
            late.append((None, interrupt))
    return found + late


def _dismiss(calls: SimpleQueue[Call | None], size: int) -> None:
    for _ in range(size):
        calls.put(None)
