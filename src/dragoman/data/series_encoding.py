"""SeriesEncoding: from rows of a series to what a network reads and writes, and back; kept with a model."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from dragoman.batch import Batch
from dragoman.errors import DataError, FileFormatError
from dragoman.graph import Array

Strategy = Literal["direct", "feedback"]
Level = Literal["mean", "last"]
MOST = 1_000_000  # rows of a window, and numbers of one forecast: a larger one is a mistake or a damaged file


@dataclass(frozen=True)
class SeriesEncoding:
    """Windows of a series of p columns, scaled as the training part asks for.

    names      of the columns
    context    C, rows that are read
    horizon    H, rows that are forecast
    strategy   direct: all rows at once, H p outputs; feedback: one row after the other, each read again
    level      what values are measured from: the mean of the training part, or the last row of each window's context,
               so that a series may leave the range it was trained in
    mean       of each column of the training part; 0 with the level "last"
    deviation  of each column there: from the mean, or from one row to the H rows after it
    period     rows of a season; None: there is none
    """

    names: tuple[str, ...]
    context: int
    horizon: int
    strategy: Strategy
    level: Level
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    period: int | None = None

    file: ClassVar[str] = "encoding"

    @property
    def size(self) -> int:
        """p"""
        return len(self.names)

    @property
    def outputs(self) -> int:
        return self.size * (self.horizon if self.strategy == "direct" else 1)

    # From windows to batches, and from outputs to values

    def encode(self, windows: Array) -> Array:
        """[B, C + any, p] -> the same scaled; the first C rows of each are its context."""
        scaled: Array = (windows - self._level(windows)) / np.array(self.deviation)
        return scaled.astype(np.float32)

    def decode(self, scaled: Array, contexts: Array) -> Array:
        """[B, steps, p] -> values, of windows with these contexts."""
        values: Array = scaled.astype(np.float64) * np.array(self.deviation) + self._level(contexts)
        return values

    def _level(self, windows: Array) -> Array:
        if self.level == "last":
            return windows[:, self.context - 1 : self.context]
        return np.array(self.mean)

    def batch(self, windows: Array) -> Batch:
        """Windows [B, C + H, p] with their targets: of whole samples, or of every position after the context."""
        z, count = self.encode(windows), len(windows)
        if self.strategy == "direct":
            rows, targets = z[:, : self.context], z[:, self.context :]
            return Batch(_packed(rows), _offsets(count, self.context), targets.reshape(count, -1), per="sample")
        length = self.context + self.horizon - 1
        weights = np.zeros((count, length), np.float32)
        weights[:, self.context - 1 :] = 1
        return Batch(
            _packed(z[:, :-1]), _offsets(count, length), _packed(z[:, 1:]), weights.reshape(-1), per="position"
        )

    def contexts(self, windows: Array) -> Batch:
        """Contexts [B, C, p] without targets."""
        return Batch(_packed(self.encode(windows)), _offsets(len(windows), self.context))

    # Learnt, saved, loaded

    @classmethod
    def learn(
        cls,
        names: tuple[str, ...],
        training: Array,
        later: Array,
        context: int,
        horizon: int,
        strategy: Strategy,
        level: Level | None = None,
        period: int | None = None,
    ) -> SeriesEncoding:
        """Learn the scale from the training part [n, p]; an open level is decided by the validation part (`later`)."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, deviation = training.mean(axis=0), training.std(axis=0)
        for name, center, spread in zip(names, mean, deviation, strict=True):
            if not math.isfinite(spread):
                raise DataError(f"the numbers of column '{name}' are too large; measure them in a larger unit")
            if not spread > 1e-12 * max(1.0, abs(center)):
                raise DataError(
                    f"column '{name}' is {center:g} in all rows of the training part: there is nothing to learn; name "
                    "the other columns with --columns"
                )
        changes = _changes(training, horizon)
        if level is None:
            level = choose_level(mean, deviation, training, later, horizon)
        if level == "last":
            mean, deviation = np.zeros_like(mean), np.where(changes > 0, changes, deviation)
        return cls(names, context, horizon, strategy, level, _rounded(mean), _rounded(deviation), period)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> SeriesEncoding:
        try:
            found: Any = json.loads(path.read_text(encoding="utf-8"))
            given: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
            made = cls(**given)
            _check(made)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise FileFormatError(f"{path} cannot be read as the encoding of a series: {error!r}") from None
        return made


def _check(found: SeriesEncoding) -> None:
    """Raise a ValueError if a file holds what no training wrote."""
    whole = (found.context, found.horizon, *(() if found.period is None else (found.period,)))
    if not all(type(number) is int and 1 <= number <= MOST for number in whole):
        raise ValueError(f"context, horizon and period are whole numbers from 1, got {whole}")
    if found.strategy not in ("direct", "feedback") or found.level not in ("mean", "last"):
        raise ValueError(f"strategy {found.strategy!r}, level {found.level!r}")
    if not found.names or not len(found.names) == len(found.mean) == len(found.deviation):
        raise ValueError("names, mean and deviation are of the same columns")
    numbers = (*found.mean, *found.deviation)
    if not all(isinstance(number, float) and math.isfinite(number) for number in numbers) or min(found.deviation) <= 0:
        raise ValueError("mean and deviation are finite, and deviations are above 0")


def choose_level(mean: Array, deviation: Array, training: Array, later: Array, horizon: int) -> Level:
    """The level that is the better forecast of the validation part by itself: the mean, or the last row."""
    if not len(later):
        later = training
    x = np.concatenate((training[-1:], later))
    ahead = min(horizon, len(x) - 1)
    naive = np.mean([np.abs((x[k:] - x[:-k]) / deviation).mean() for k in range(1, ahead + 1)])
    return "last" if naive < np.abs((later - mean) / deviation).mean() else "mean"


def _changes(x: Array, horizon: int) -> Array:
    """[p] the root of the mean square of x[t + k] - x[t], k from 1 to the horizon."""
    steps = range(1, min(horizon, len(x) - 1) + 1)
    found: Array = np.sqrt(np.mean([np.square(x[k:] - x[:-k]).mean(axis=0) for k in steps], axis=0))
    return found


def _rounded(values: Array) -> tuple[float, ...]:
    return tuple(float(f"{value:.12g}") for value in values)


def _packed(rows: Array) -> Array:
    return rows.reshape(-1, rows.shape[2])


def _offsets(count: int, length: int) -> Array:
    return np.arange(0, count * length + 1, length)
