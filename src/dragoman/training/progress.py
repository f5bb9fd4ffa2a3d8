"""Print progress of a training from Python: one line on standard error per evaluation, or every few seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from dragoman.loss import Loss
from dragoman.training.callback import Callback
from dragoman.training.record import Record
from dragoman.training.stopping import format_time

if TYPE_CHECKING:
    from dragoman.training.loop import Training

EVERY = 10.0  # seconds between lines


class PrintedProgress(Callback):
    """Prints step, error, accuracy and time; `train(..., progress=True)` uses it."""

    def __init__(self, every: float = EVERY) -> None:
        self.every, self._printed = every, time.monotonic()

    def step(self, step: int, loss: Loss, training: Training) -> None:
        if time.monotonic() - self._printed >= self.every:
            of = f" of {training.stopping.steps:,}" if training.stopping.steps else ""
            self._print(f"step {step:,}{of}: {loss}")

    def record(self, record: Record) -> None:
        """Print a line per evaluation; if every step is one and nothing is validated, only every few seconds."""
        if record.validation is not None or time.monotonic() - self._printed >= self.every:
            validation = "" if record.validation is None else f"; validation {record.validation}"
            self._print(f"step {record.step:,}: {record.training}{validation}; {format_time(record.seconds)}")

    def notice(self, text: str) -> None:
        self._print(text)

    def _print(self, text: str) -> None:
        self._printed = time.monotonic()
        print(text, file=sys.stderr)  # noqa: T201 - what it is for
