"""What a training tells while it runs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from dragoman.errors import DragomanWarning
from dragoman.loss import Loss

if TYPE_CHECKING:
    from dragoman.training.loop import Training
    from dragoman.training.record import Record


class Callback:
    """Is told what happens. This one does nothing with it."""

    def step(self, step: int, loss: Loss, training: Training) -> None:
        """After every step."""

    def record(self, record: Record) -> None:
        """After every round."""

    def notice(self, text: str) -> None:
        """Something the user should know."""

    def warn(self, text: str) -> None:
        """Something that is probably a mistake: a Python warning, unless it is shown otherwise."""
        warnings.warn(text, DragomanWarning, stacklevel=2)
