"""Intervals of forecasts: how far forecasts were off in the validation part, at every step (split conformal).

The interval of step k is the forecast plus and minus the r-th smallest of the n absolute errors at step k, with
r = ceil((n + 1) level). If windows were exchangeable it would hold the truth with at least that probability; windows of
a series overlap and times change, so what it really holds is measured on the testing part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from dragoman.graph import Array
from dragoman.networks import Configuration

LEVELS = (0.5, 0.8, 0.9, 0.95)


class Intervals(Configuration):
    """Half the widths of intervals, by level, step and column.

    windows  of the validation part that they were measured on
    widths   None for a level that needs more windows: r would be above n
    """

    windows: int = Field(ge=0)
    levels: tuple[float, ...] = LEVELS
    widths: tuple[tuple[tuple[FiniteFloat, ...], ...] | None, ...]

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        shapes = {(len(rows), *{len(row) for row in rows}) for rows in self.widths if rows is not None}
        if len(self.widths) != len(self.levels) or len(shapes) > 1 or any(len(shape) != 2 for shape in shapes):
            raise ValueError("there is a width for every level, step and column")
        return self

    def half_width(self, level: float) -> Array | None:
        """[H, p], or None where there were too few windows."""
        rows = self.widths[self.levels.index(level)]
        return None if rows is None else np.array(rows)

    @property
    def usable(self) -> list[float]:
        return [level for level, rows in zip(self.levels, self.widths, strict=True) if rows is not None]


def measure_intervals(errors: Array, levels: Sequence[float] = LEVELS) -> Intervals:
    """errors [n, H, p]: forecast minus truth."""
    count, ordered = len(errors), np.sort(np.abs(errors), axis=0)
    widths = []
    for level in levels:
        rank = math.ceil((count + 1) * level - 1e-9)
        rows = None if rank > count else tuple(tuple(float(f"{w:.9g}") for w in row) for row in ordered[rank - 1])
        widths.append(rows)
    return Intervals(windows=count, levels=tuple(levels), widths=tuple(widths))


def fewest_windows(level: float) -> int:
    """Windows that a level needs."""
    return math.ceil(level / (1 - level) - 1e-9)
