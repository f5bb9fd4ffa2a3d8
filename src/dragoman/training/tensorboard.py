"""Training curves for TensorBoard, on request (the extra `tensorboard`)."""

from __future__ import annotations

from pathlib import Path

from dragoman.errors import ConfigurationError
from dragoman.loss import Loss
from dragoman.training.callback import Callback
from dragoman.training.loop import Training
from dragoman.training.record import Record

EVERY = 20  # steps


class TensorBoard(Callback):
    """Writes event files, and passes every call on to another callback."""

    def __init__(self, directory: Path, other: Callback) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise ConfigurationError(
                "TensorBoard files need tensorboardX; install it with: pip install 'dragoman[tensorboard]'"
            ) from None
        self.writer = SummaryWriter(str(directory))
        self.other = other

    def step(self, step: int, loss: Loss, training: Training) -> None:
        if step % EVERY == 0:
            for name, value in (("error", loss.error), ("accuracy", loss.accuracy), ("rate", training.rate)):
                self.writer.add_scalar(f"step/{name}", value, step)
        self.other.step(step, loss, training)

    def record(self, record: Record) -> None:
        for name, value in record.as_dict().items():
            if name not in ("step", "best", "new_plans"):
                self.writer.add_scalar(f"round/{name}", value, record.step)
        self.writer.flush()
        self.other.record(record)

    def notice(self, text: str) -> None:
        self.other.notice(text)

    def warn(self, text: str) -> None:
        self.other.warn(text)
