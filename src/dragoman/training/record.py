"""What a round of training did, and what the selection part said of it: one line of history.jsonl."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.errors import DataError, FileFormatError
from dragoman.loss import Loss

WAITED = 2  # evaluations after the best one before overfitting is spoken of: one alone may be noise


@dataclass(frozen=True)
class Record:
    """One round: from one evaluation to the next."""

    step: int
    epoch: float  # epochs done, with the fraction
    training: Loss
    norm: float  # of the last gradient, before clipping
    rate: float
    seconds: float  # since the training began, pauses left out
    tokens_per_second: float = math.nan
    selection: Loss | None = None
    scores: dict[str, float] = field(default_factory=dict)  # what else was measured: bleu, chrf
    best: bool = False

    def as_dict(self) -> dict[str, Any]:
        """One flat object of numbers; what is not known is left out."""
        told: dict[str, Any] = {
            "step": self.step,
            "epoch": round(self.epoch, 4),
            "training_error": self.training.error,
            "training_accuracy": self.training.accuracy,
            "selection_error": None if self.selection is None else self.selection.error,
            "selection_accuracy": None if self.selection is None else self.selection.accuracy,
            **self.scores,
            "rate": self.rate,
            "gradient_norm": self.norm,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": round(self.tokens_per_second, 1),
        }
        finite = {name: value for name, value in told.items() if value is not None and math.isfinite(value)}
        return finite | {"best": self.best}


def overfitting(history: Sequence[dict[str, Any]]) -> str | None:
    """What to tell when the selection error rises while the training error falls (thesis 6.1), or None."""
    known = [line for line in history if "selection_error" in line]
    if len(known) <= WAITED:
        return None
    best = min(range(len(known)), key=lambda i: float(known[i]["selection_error"]))
    since = known[best:]
    rising = len(since) > WAITED and since[-1]["selection_error"] > since[0]["selection_error"]
    if not rising or not since[-1]["training_error"] < since[0]["training_error"]:
        return None
    return (
        f"overfitting: since step {since[0]['step']} the training error fell from {since[0]['training_error']:.4f} to "
        f"{since[-1]['training_error']:.4f}, but the selection error rose from {since[0]['selection_error']:.4f} to "
        f"{since[-1]['selection_error']:.4f}; more data, more dropout or a smaller network would help"
    )


class History:
    """history.jsonl: appended to, never rewritten, except that a resumed run takes back what its checkpoint lacks."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        try:
            return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{self.path} cannot be read as JSON lines: {error}") from None

    def append(self, line: dict[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise DataError(f"{self.path} could not be written: {error}") from None

    def keep(self, count: int) -> None:
        """Take back all lines after the first `count`."""
        if not self.path.exists():
            return
        try:
            with self.path.open("r+b") as file:
                for _ in range(count):
                    file.readline()
                file.truncate()
        except OSError as error:
            raise DataError(f"{self.path} could not be written: {error}") from None
