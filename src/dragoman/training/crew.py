"""Threads that stay awake for a while between two calls: waking one takes longer than many a kernel."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

from dragoman.engines import await_rest, rest_after_call

Outcome = tuple[Any, BaseException | None]  # what a function returned, or what it raised
Call = tuple[Callable[[], Any], SimpleQueue[Outcome]]


class Crew:
    """So many threads besides the one that calls them. They end with the crew."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._calls: SimpleQueue[Call | None] | None = None  # none before the first call

    def together(self, function: Callable[[], Any]) -> list[Any]:
        """What the function returns, here and on every thread; all are through when it raises what one has raised."""
        if self._calls is None:
            self._calls = self._hire()
        outcomes: SimpleQueue[Outcome] = SimpleQueue()
        for _ in range(self.size):
            self._calls.put((function, outcomes))
        try:
            found = [_outcome(function)]
        finally:
            await_rest()
            others = [outcomes.get() for _ in range(self.size)]
        for _, error in (*found, *others):
            if error is not None:
                raise error
        return [value for value, _ in (*found, *others)]

    def _hire(self) -> SimpleQueue[Call | None]:
        calls: SimpleQueue[Call | None] = SimpleQueue()
        for _ in range(self.size):
            Thread(target=_serve, args=(calls,), name="dragoman", daemon=True).start()
        self._dismiss = weakref.finalize(self, _dismiss, calls, self.size)
        return calls

    def close(self) -> None:
        if self._calls is not None:
            self._dismiss()
            self._calls = None


def _serve(calls: SimpleQueue[Call | None]) -> None:
    while (call := calls.get()) is not None:
        function, outcomes = call
        outcome = _outcome(function)
        rest = rest_after_call()
        outcomes.put(outcome)
        call = function = outcomes = outcome = None  # type: ignore[assignment]  # nothing lives on for a thread at rest
        rest()


def _outcome(function: Callable[[], Any]) -> Outcome:
    try:
        return function(), None
    except BaseException as error:
        return None, error


def _dismiss(calls: SimpleQueue[Call | None], size: int) -> None:
    for _ in range(size):
        calls.put(None)
