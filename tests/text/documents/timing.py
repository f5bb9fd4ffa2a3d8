"""Whether the time that something takes grows with a text, or with its square."""

from __future__ import annotations

import time
from collections.abc import Callable

SMALL, TIMES = 10_000, 10


def assert_linear(function: Callable[[str], object], piece: str) -> None:
    """A text 10 times as long takes about 10 times as long; were the time quadratic, 100 times."""
    text = piece * (SMALL // len(piece))
    short = min(seconds(function, text) for _ in range(3))
    limit = 0.05 + 3 * TIMES * short
    assert any(seconds(function, text * TIMES) < limit for _ in range(2))


def seconds(function: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    function(text)
    return time.process_time() - started
