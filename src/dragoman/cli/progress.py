"""Show the progress of a training: a live line in a terminal, plain lines elsewhere, a row per evaluation."""

from __future__ import annotations

import logging
import math
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from dragoman.cli.options import NARROW
from dragoman.graph.operation import current_engine
from dragoman.loss import Loss
from dragoman.training import Callback, Record
from dragoman.training.loop import Training
from dragoman.training.stopping import format_time

if TYPE_CHECKING:
    from dragoman.tasks.vectors.training import Progress

logger = logging.getLogger(__name__)

PLAIN_EVERY = 20.0  # seconds between lines without a terminal
LIVE_EVERY = 0.2
SMOOTHING = 0.95
WIDTH = 24


class Screen:
    """Prints lines, and redraws a live line in a terminal."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        self.console, self.quiet = console, quiet
        self.spoken = time.monotonic()
        self.live: Live | None = None
        if console.is_terminal and not quiet:
            self.live = Live(console=console, transient=True, refresh_per_second=4)
            self.live.start()

    @property
    def narrow(self) -> bool:
        return self.console.width < NARROW

    def _fitting(self, parts: list[str]) -> str:
        """Join as many of the parts as fit into one line of a narrow terminal."""
        while self.narrow and len("  ".join(parts)) > self.console.width:
            parts = parts[:-1]
        return "  ".join(parts)

    def tell(self, text: str) -> None:
        if self.quiet and not text.startswith("warning: "):
            return
        self.console.print(text, highlight=False, markup=False, style="dim")

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()


class TrainingProgress(Screen, Callback):
    """Epoch, steps, tokens/s, error, accuracy, learning rate, gradient norm, time left, memory."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        super().__init__(console, quiet)
        self.error = self.accuracy = 0.0
        self.first: tuple[float, int] | None = None  # time and number of the first step of this session
        self.headed = False

    def step(self, step: int, loss: Loss, training: Training) -> None:
        now = time.monotonic()
        if self.first is None:
            self.first, self.error, self.accuracy = (now, step), loss.error, loss.accuracy
            logger.info("training from step %d with the %s engine", step, current_engine())
        self.error += (1 - SMOOTHING) * (loss.error - self.error)
        self.accuracy += (1 - SMOOTHING) * (loss.accuracy - self.accuracy)
        if not self.quiet and now - self.spoken > (LIVE_EVERY if self.live else PLAIN_EVERY):
            self.spoken = now
            share, left = self._estimate(step, training)
            lines = self._how_far(training, share, left), self._how_well(step, training)
            if self.live is not None:
                bar = "" if self.narrow else f"{_bar(share)} "
                self.live.update(Text(f"{bar}{lines[0]}\n{lines[1]}", style="cyan"))
            else:
                self.console.print("  ".join(reversed(lines)), highlight=False, markup=False)

    def _how_far(self, training: Training, share: float, left: float) -> str:
        speed = training.tokens / training.busy if training.busy else 0.0
        shown = [
            f"{share:.0%}",
            *([f"{format_time(left)} left"] if math.isfinite(left) else []),
            f"{speed / 1000:.1f}k tokens/s",
            f"{memory() / 2**20:.0f} MB",
        ]
        return self._fitting(shown)

    def _how_well(self, step: int, training: Training) -> str:
        shown = [
            f"epoch {training.epochs_done:.2f}",
            f"step {step:,}",
            f"error {self.error:.3f}",
            *([] if math.isnan(self.accuracy) else [f"accuracy {self.accuracy:.1%}"]),
            f"rate {training.rate:.1e}",
            f"|g| {training.norm:.2g}",
        ]
        return self._fitting(shown)

    def _estimate(self, step: int, training: Training) -> tuple[float, float]:
        """Return the share that is done and the seconds left; with a budget, the share of time."""
        share, budget, now = share_done(step, training), training.stopping.seconds, training.now()
        left = self._seconds_left(step, training, share)
        if budget is None:
            return share, left
        left = max(0.0, min(left, budget - now))
        return now / (now + left) if now + left else 0.0, left

    def _seconds_left(self, step: int, training: Training, share: float) -> float:
        """Return the seconds left, at the recent pace or that of this session; infinite if no end or pace is known."""
        if training.plan is not None:
            left = training.plan.seconds_left(step, training.steps_per_evaluation)
            if left is not None:
                return left
        began, at = self.first or (time.monotonic(), step)
        if step == at or not share:  # the first step compiles kernels, so it tells no pace
            return math.inf
        return (time.monotonic() - began) / (step - at) * max(0.0, step / share - step)

    def record(self, record: Record) -> None:
        if self.quiet:
            return
        self.spoken = time.monotonic()
        columns = self._columns(record)
        if not self.headed:
            self.headed = True
            head = "".join(f"{name:>{width}}" for name, width, _ in columns)
            self.console.print(head, style="dim", highlight=False)
        row = "".join(f"{value:>{width}}" for _, width, value in columns)
        self.console.print(row, highlight=False, markup=False)

    def _columns(self, record: Record) -> list[tuple[str, int, str]]:
        """Return (heading, width, value) of the columns of an evaluation; fewer in a narrow terminal."""
        describe = format_error if self.narrow else format_loss
        trained = bool(record.training.positions)  # not before the first step, when a model is fine-tuned
        best = "*" if record.best else " "
        validation = "" if record.validation is None else f"{describe(record.validation)} {best}"
        training, speed = describe(record.training), f"{record.tokens_per_second / 1000:.1f}k"
        scores = [(name, 6, f"{value:.1f}") for name, value in record.scores.items()]
        epoch, step = ("epoch", 6, f"{record.epoch:.2f}"), ("step", 8, f"{record.step:,}")
        if self.narrow:
            errors = [("training", 9, training if trained else ""), ("validation", 11, validation)]
            return [epoch, step, *errors, *scores, ("time", 12, format_time(record.seconds))]
        errors = [("training error", 15, training if trained else ""), ("validation error", 17, validation)]
        rest = [("tokens/s", 9, speed if trained else ""), ("time", 12, format_time(record.seconds))]
        return [epoch, step, *errors, *scores, *rest]

    def notice(self, text: str) -> None:
        self.console.print(text, highlight=False, markup=False, style="yellow")

    def warn(self, text: str) -> None:
        self.notice(f"warning: {text}")


def format_loss(loss: Loss) -> str:
    """Error and accuracy; numbers have no accuracy."""
    return format_error(loss) if math.isnan(loss.accuracy) else f"{loss.error:.4f} {loss.accuracy:.1%}"


def format_error(loss: Loss) -> str:
    return f"{loss.error:.4f}"


def _bar(share: float) -> str:
    full = round(share * WIDTH)
    return "━" * full + "─" * (WIDTH - full)


def share_done(step: int, training: Training) -> float:
    """Return the share of the plan that is done, by the limit that comes first."""
    stopping = training.stopping
    shares = [0.0]
    if stopping.steps:
        shares.append(step / stopping.steps)
    if stopping.epochs:
        shares.append(training.epochs_done / stopping.epochs)
    return min(1.0, max(shares))


def memory() -> int:
    """Return the memory of this process in bytes: now on Linux, the peak elsewhere."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    with suppress(ImportError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return 0


class VectorProgress(Screen):
    """Progress of word vectors: time left, words/s, and a line per epoch."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        super().__init__(console, quiet)
        self.first: tuple[float, Progress] | None = None
        self.errors: list[float] = []

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if self.first is None:  # the first block may have compiled kernels: speed is measured from its end
            self.first = now, progress
        self.errors.append(progress.error)
        began, first = self.first
        spent, share = now - began, progress.done - first.done
        speed = (progress.words - first.words) / spent if spent and share else 0.0
        if progress.ended:
            error = sum(self.errors) / len(self.errors)
            line = f"epoch {progress.epoch}: error {error:.4f}" + (f", {speed / 1000:,.0f}k words/s" if speed else "")
            if not self.quiet:
                self.console.print(line, highlight=False, markup=False)
            self.errors = []
        elif self.live is not None and share and now - self.spoken > LIVE_EVERY:
            self.spoken = now
            left = format_time(spent / share * (1 - progress.done))
            bar = "" if self.narrow else f"{_bar(progress.done)} "
            line = f"{bar}{progress.done:.0%}  {left} left  {speed / 1000:,.0f}k words/s"
            self.live.update(Text(f"{line}  error {progress.error:.3f}", style="cyan"))
