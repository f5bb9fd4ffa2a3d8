"""The record of an evaluation: one line of history.jsonl."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.errors import DataError, FileFormatError
from dragoman.loss import Loss
from dragoman.training import checkpoints

JUMPED = 1.5  # times the lowest training error so far
WAITED = 2  # evaluations after the best one before overfitting is reported: one may be noise

COMPARED = ("step", "training_error", "validation_error")


@dataclass(frozen=True)
class Record:
    """One evaluation, and the training since the one before."""

    step: int
    epoch: float  # epochs done, with the fraction
    training: Loss
    norm: float  # of the last gradient, before clipping
    rate: float
    seconds: float  # since the training began, pauses left out
    tokens_per_second: float = math.nan
    validation: Loss | None = None
    scores: dict[str, float] = field(default_factory=dict)  # what else was measured: bleu, chrf
    best: bool = False
    planned_steps: int | None = None  # of a training with a time budget
    new_plans: tuple[tuple[int, int], ...] = ()  # (step, planned steps) of the plans made since the last evaluation

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON object of numbers; what was not measured is left out."""
        values: dict[str, Any] = {
            "step": self.step,
            "epoch": round(self.epoch, 4),
            "training_error": self.training.error,
            "training_accuracy": self.training.accuracy,
            "validation_error": None if self.validation is None else self.validation.error,
            "validation_accuracy": None if self.validation is None else self.validation.accuracy,
            **self.scores,
            "rate": self.rate,
            "gradient_norm": self.norm,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": round(self.tokens_per_second, 1),
            "planned_steps": self.planned_steps,
        }
        finite = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
        plans = {"new_plans": [list(plan) for plan in self.new_plans]} if self.new_plans else {}
        return finite | plans | {"best": self.best}


def overfitting(history: Sequence[dict[str, Any]]) -> str | None:
    """Return a warning if the validation error rises while the training error falls (thesis 6.1), or None."""
    lines = [line for line in history if all(isinstance(line.get(name), int | float) for name in COMPARED)]
    if len(lines) <= WAITED:
        return None
    best = min(range(len(lines)), key=lambda i: float(lines[i]["validation_error"]))
    since = lines[best:]
    rising = len(since) > WAITED and since[-1]["validation_error"] > since[0]["validation_error"]
    if not rising or not since[-1]["training_error"] < since[0]["training_error"]:
        return None
    return (
        f"overfitting: since step {since[0]['step']} the training error fell from {since[0]['training_error']:.4f} to "
        f"{since[-1]['training_error']:.4f}, but the validation error rose from {since[0]['validation_error']:.4f} to "
        f"{since[-1]['validation_error']:.4f}; more data, more dropout or a smaller network would help"
    )


def jump(history: Sequence[dict[str, Any]]) -> str | None:
    """Return a warning if the training error of the last evaluation has jumped (lecture, remarks), or None.

    It has if it is 1.5 times the lowest before, and more than a quarter of all that had been gained is lost.
    """
    *before, last = [line for line in history if isinstance(line.get("training_error"), int | float)] or [{}]
    if not before:
        return None
    lowest = min(before, key=lambda line: float(line["training_error"]))
    low, now, first = (float(line["training_error"]) for line in (lowest, last, before[0]))
    if not now > JUMPED * low or not now - low > (first - low) / 4:
        return None
    return (
        f"the training error jumped from {low:.4f} at step {lowest['step']} to {now:.4f} at step {last['step']}; if it "
        "does not fall again, lower the rate, clip the gradient or begin with more warm-up"
    )


class History:
    """history.jsonl: appended to; a resumed training removes lines that are newer than its checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lines(self) -> list[dict[str, Any]]:
        """Read all records; an incomplete last line is ignored."""
        if not self.path.exists():
            return []
        try:
            *whole, last = self.path.read_bytes().split(b"\n")
        except OSError as error:
            raise FileFormatError(f"{self.path} cannot be read: {error}") from None
        found = [self._parsed(number, line) for number, line in enumerate(whole, start=1)]
        return found if _object(last) is None else [*found, self._parsed(len(found) + 1, last)]

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        found = _object(line)
        if found is None:
            raise FileFormatError(
                f"{self.path}, line {number}: expected a JSON object, found {line[:40]!r}; "
                "delete the line, or restore the file from a copy"
            )
        return found

    def append(self, line: dict[str, Any]) -> None:
        """Append a line and flush it to disk, because the next checkpoint counts it."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            checkpoints._to_disk(self.path)
        except OSError as error:
            raise DataError(
                f"{self.path} could not be written ({error}); what was saved before is intact. "
                f"{checkpoints.write_advice(error)}"
            ) from None

    def keep(self, count: int) -> tuple[int, str | None]:
        """Remove all lines after the first `count`; return how many are left, and a warning if some are missing."""
        try:
            data = self.path.read_bytes() if self.path.exists() else b""
            *whole, last = data.split(b"\n")
            if len(whole) < count and _object(last) is not None:  # complete but for the line end
                whole, last = [*whole, last], b""
            kept = b"".join(line + b"\n" for line in whole[:count])
            if kept != data:
                with self.path.open("r+b") as file:
                    file.truncate(len(kept))
                    file.seek(max(0, len(kept) - 1))
                    file.write(kept[-1:])  # the missing line end
        except OSError as error:
            raise DataError(f"{self.path} could not be written: {error}") from None
        left = min(count, len(whole))
        if left < count:
            return left, (
                f"{self.path} holds {left} of the {count} evaluations that its checkpoint counts; "
                "training continues, but its curves will lack the others"
            )
        return left, f"{self.path} ended in half a line, which was dropped" if last else None


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
