"""Time that passes when a test says so."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from dragoman.training import clock


def running_at(monkeypatch: pytest.MonkeyPatch, now: Callable[[], float]) -> None:
    """Let trainings see this time, in which their process always runs."""
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=now, process_time=now))


class FakeTime:
    """A wall clock, and the processor time of the process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds, self.processor = 1000.0, 7.0
        fakes = SimpleNamespace(monotonic=lambda: self.seconds, process_time=lambda: self.processor)
        monkeypatch.setattr(clock, "time", fakes)

    def pass_time(self, seconds: float, processor: float) -> None:
        self.seconds += seconds
        self.processor += processor
