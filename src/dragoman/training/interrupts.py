"""Ctrl-C and SIGTERM: finish the step, save, stop. A second one stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Remembers the first signal, for the training loop to ask."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def reason(self) -> str | None:
        return None if self.signal is None else f"interrupted ({signal.Signals(self.signal).name})"

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handle signals within this context; does nothing outside of the main thread, which alone receives them."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._remember) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
