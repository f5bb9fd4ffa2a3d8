"""What a user sees of a training: one live line in a terminal, plain lines elsewhere, a row for every evaluation."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from dragoman.loss import Loss
from dragoman.training import Record, Watcher
from dragoman.training.loop import Training
from dragoman.training.stopping import told_time

PLAIN_EVERY = 20.0  # seconds between lines where nothing can be redrawn
SMOOTHING = 0.95


class TrainingProgress(Watcher):
    """Epoch, steps, tokens/s, error, accuracy, learning rate, gradient norm, time left, memory."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.error = self.accuracy = 0.0
        self.first: tuple[float, int] | None = None  # when and at which step this session began
        self.spoken = time.monotonic()
        self.best: Record | None = None
        self.bar: Progress | None = None
        self.task = TaskID(0)
        if console.is_terminal:
            columns = (BarColumn(24), TextColumn("{task.percentage:3.0f} %"), TextColumn("{task.fields[told]}"))
            self.bar = Progress(*columns, console=console, transient=True)
            self.task = self.bar.add_task("training", total=1.0, told="")
            self.bar.start()

    def tell(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, style="dim")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()

    def step(self, step: int, loss: Loss, training: Training) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first, self.error, self.accuracy = (now, step - 1), loss.error, loss.accuracy
        self.error += (1 - SMOOTHING) * (loss.error - self.error)
        self.accuracy += (1 - SMOOTHING) * (loss.accuracy - self.accuracy)
        share = share_done(step, training)
        if self.bar is not None:
            self.bar.update(self.task, completed=share, told=self._line(step, training, share))
        elif now - self.spoken > PLAIN_EVERY:
            self.spoken = now
            self.console.print(self._line(step, training, share), highlight=False)

    def _line(self, step: int, training: Training, share: float) -> str:
        speed = training.tokens / training.busy if training.busy else 0.0
        told = [
            f"epoch {training.epochs_done:.2f}",
            f"step {step:,}",
            f"error {self.error:.3f}",
            f"accuracy {self.accuracy:.1%}",
            f"rate {training.rate:.2g}",
            f"|gradient| {training.norm:.2g}",
            f"{speed / 1000:.1f}k tokens/s",
            f"{memory() / 2**20:.0f} MB",
            f"{self._left(step, training, share)} left",
        ]
        return "  ".join(told)

    def _left(self, step: int, training: Training, share: float) -> str:
        began, at = self.first or (time.monotonic(), step)
        spent = time.monotonic() - began
        total = step / share if share else step
        left = spent / max(1, step - at) * max(0.0, total - step)
        budget = training.stopping.seconds
        return told_time(left if budget is None else max(0.0, min(left, budget - training.now())))

    def record(self, record: Record) -> None:
        self.spoken = time.monotonic()
        if record.best:
            self.best = record
        told = [f"epoch {record.epoch:6.2f}", f"step {record.step:>7,}", f"training {_told(record.training)}"]
        if record.selection is not None:
            told.append(f"selection {_told(record.selection)}{' *' if record.best else '  '}")
        told += [f"{name} {value:.1f}" for name, value in record.scores.items()]
        told += [f"{record.tokens_per_second / 1000:.1f}k tokens/s", told_time(record.seconds)]
        self.console.print("  ".join(told), highlight=False, markup=False)

    def notice(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, style="yellow")


def _told(loss: Loss) -> str:
    return f"{loss.error:.4f} {loss.accuracy:6.2%}"


def share_done(step: int, training: Training) -> float:
    """How much of what is planned is done, by whichever limit comes first."""
    stopping = training.stopping
    shares = [0.0]
    if stopping.steps:
        shares.append(step / stopping.steps)
    if stopping.epochs:
        shares.append(training.epochs_done / stopping.epochs)
    return min(1.0, max(shares))


def memory() -> int:
    """Bytes of this process in memory, now where the system tells it, at most so far elsewhere."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 0
