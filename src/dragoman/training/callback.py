"""Callbacks of a training."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from dragoman.errors import DragomanWarning
from dragoman.loss import Loss

if TYPE_CHECKING:
    from dragoman.training.loop import Training
    from dragoman.training.record import Record


class Callback:
    """Called by a training as it goes. This one does nothing."""

    def step(self, step: int, loss: Loss, training: Training) -> None:
        """After every step."""

    def record(self, record: Record) -> None:
        """After every evaluation."""

    def notice(self, text: str) -> None:
        """Something the user should know."""

    def warn(self, text: str) -> None:
        """Something that is probably a mistake: a Python warning, unless it is shown otherwise."""
        warnings.warn(text, DragomanWarning, stacklevel=2)
