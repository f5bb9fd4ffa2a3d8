"""Scaler: real numbers with mean 0 and deviation 1 on the training part."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.errors import DataError, FileFormatError
from dragoman.graph import Array


@dataclass(frozen=True)
class Scaler:
    """Encodes a number x as (x - mean) / deviation."""

    mean: float
    deviation: float

    file: ClassVar[str] = "scaler"

    @property
    def size(self) -> int:
        return 1

    @classmethod
    def learn(cls, numbers: Iterable[float]) -> Scaler:
        """Of the training part alone."""
        x = np.fromiter(numbers, np.float64)
        if not len(x):
            raise DataError("there is no number to learn from")
        mean, deviation = float(x.mean()), float(x.std())
        if not deviation > 1e-12 * max(1.0, abs(mean)):
            raise DataError(
                f"every training example has the same number, {x[0]:g}: there is nothing to learn; "
                "choose another column with --label"
            )
        if not math.isfinite(deviation):
            raise DataError("the numbers to learn are too large; measure them in a larger unit")
        return cls(mean, deviation)

    def encode(self, numbers: Array) -> Array:
        scaled: Array = (numbers - self.mean) / self.deviation
        return scaled.astype(np.float32)

    def decode(self, scaled: Array) -> Array:
        numbers: Array = scaled.astype(np.float64) * self.deviation + self.mean
        return numbers

    def to_json(self) -> str:
        return json.dumps({"mean": self.mean, "deviation": self.deviation}, indent=2)

    @classmethod
    def load(cls, path: Path) -> Scaler:
        try:
            found: Any = json.loads(path.read_text(encoding="utf-8"))
            mean, deviation = float(found["mean"]), float(found["deviation"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"{path} cannot be read as a scaler: {error!r}") from None
        if not (math.isfinite(mean) and math.isfinite(deviation) and deviation > 0):
            raise FileFormatError(f"{path}: mean must be finite and deviation above 0, got {mean} and {deviation}")
        return cls(mean, deviation)
