"""Waiting for what other threads and processes do: for events, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

LONGEST = 300.0  # seconds after which an event that a test waits for will not come any more


def wait_for(condition: Callable[[], Any], *failing: type[Exception]) -> Any:
    """What a condition returns as soon as it is met; until then it may raise errors of these types."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        try:
            if met := condition():
                return met
        except failing:
            pass
        time.sleep(0.02)
    raise AssertionError(f"it did not happen in {LONGEST:g} s")
