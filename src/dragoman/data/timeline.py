"""Times of a series: read from a column, checked for order and regular spacing, and continued into the future."""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal, get_args

import numpy as np

from dragoman.errors import DataError, FileFormatError
from dragoman.graph import Array

Moment = float | datetime
Unit = Literal["rows", "number", "seconds", "months", "month_ends", "weekdays"]

STYLES = (
    "%Y-%m-%d",
    "%Y-%m",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%Y%m%d",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%d %H:%M:%S%z",
    "%Y-%m-%dT%H:%M:%S%z",
    "%d.%m.%Y %H:%M",
)
NUMBER, QUARTER = "number", "quarter"
TOLERANCE = 1e-6  # of a step: how far a time written in decimals may be off
DAY = 86_400
SECONDS = ((7 * DAY, "week"), (DAY, "day"), (3600, "hour"), (60, "minute"))
MONTHS = ("months", "month_ends")


def find_style(cell: str) -> str | None:
    """How a time is written; None if it is none that can be read without doubt (1/2/2001 may be in January)."""
    for style in (QUARTER, *STYLES):
        if _parse(cell, style) is not None:
            return style
    return NUMBER if _parse(cell, NUMBER) is not None else None


def parse_moment(cell: str, style: str) -> Moment | None:
    """A time that is written in a style; None if it is not."""
    return _parse(cell, style)


def _parse(cell: str, style: str) -> Moment | None:
    try:
        if style == NUMBER:
            number = float(cell)
            return number if math.isfinite(number) and "_" not in cell else None
        if style == QUARTER:
            found = re.fullmatch(r"(\d{4})-?[Qq]([1-4])", cell)
            return None if found is None else datetime(int(found[1]), 3 * int(found[2]) - 2, 1)
        if style == "%Y%m%d" and not re.fullmatch(r"(1[6-9]|20|21)\d{6}", cell):
            return None
        return datetime.strptime(cell, style)
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class Timeline:
    """Moments at a regular distance; without times, the numbers of rows.

    first  moment 0
    step   in the unit: a number, seconds, months; weekdays follow each other and leave weekends out
    style  how moments are written
    """

    unit: Unit = "rows"
    step: float = 1.0
    first: Moment = 1.0
    style: str = NUMBER

    def label(self, i: int) -> str:
        """Moment i, as it is written."""
        return _written(self.moment(i), self.style)

    def moment(self, i: int) -> Moment:
        if not isinstance(self.first, datetime):
            return self.first + i * self.step
        try:
            if self.unit in MONTHS:
                return _months_later(self.first, i * int(self.step), self.unit == "month_ends")
            if self.unit == "weekdays":
                day: date = np.busday_offset(self.first.date(), i).astype(date)
                return datetime.combine(day, self.first.timetz())
            return self.first + timedelta(seconds=i * self.step)
        except (OverflowError, ValueError):
            raise DataError(
                f"a forecast cannot go on beyond the year {datetime.max.year}; ask for fewer steps"
            ) from None

    def later(self, i: int) -> Timeline:
        """The same from moment i on."""
        return Timeline(self.unit, self.step, self.moment(i), self.style)

    def spacing(self) -> str:
        """'every 7 days', for messages."""
        if self.unit == "weekdays":
            return "every weekday"
        if self.unit in ("rows", "number"):
            return "row by row" if self.unit == "rows" else f"every {self.step:g}"
        for size, name in ((12, "year"), (1, "month")) if self.unit in MONTHS else SECONDS:
            if self.step % size == 0:
                count = int(self.step // size)
                return f"every {name}" if count == 1 else f"every {count} {name}s"
        return f"every {self.step:g} seconds"

    def same_spacing(self, other: Timeline) -> bool:
        """Whether another series has its rows as far apart; one without times fits any."""
        if "rows" in (self.unit, other.unit):
            return True
        return self.unit == other.unit and math.isclose(self.step, other.step, rel_tol=TOLERANCE)

    def as_dict(self) -> dict[str, Any]:
        first = self.first.isoformat() if isinstance(self.first, datetime) else self.first
        return {"unit": self.unit, "step": self.step, "first": first, "style": self.style}

    @classmethod
    def from_dict(cls, found: Any) -> Timeline:
        try:
            first = found["first"]
            moment = datetime.fromisoformat(first) if isinstance(first, str) else float(first)
            if found["unit"] not in get_args(Unit) or not found["step"] > 0:
                raise ValueError(f"unit {found['unit']!r}, step {found['step']!r}")
            return cls(found["unit"], float(found["step"]), moment, str(found["style"]))
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"the times of a series cannot be read: {error!r}") from None


def _months_later(first: datetime, months: int, ends: bool) -> datetime:
    """The same day of a later month, or its last day."""
    month = 12 * first.year + first.month - 1 + months
    year, month = month // 12, month % 12 + 1
    last = calendar.monthrange(year, month)[1]
    return first.replace(year=year, month=month, day=last if ends else min(first.day, last))


def _ends_month(moment: Any) -> bool:
    return bool(moment.day == calendar.monthrange(moment.year, moment.month)[1])


def _written(moment: Moment, style: str) -> str:
    if not isinstance(moment, datetime):
        return f"{moment:.12g}"
    if style == QUARTER:
        return f"{moment.year}Q{(moment.month + 2) // 3}"
    text = moment.strftime(style)
    return text if "%z" not in style else f"{text[:-2]}:{text[-2:]}"


# From moments to a timeline


def regular(moments: Sequence[Moment], style: str, place: Sequence[str]) -> tuple[Timeline, Array]:
    """The timeline of moments, and the number of each on it: 0, 1, 2 ... where none is missing.

    place  where each moment stands ("series.csv, line 7"), for errors
    """
    for i in range(1, len(moments)):
        before, now = moments[i - 1], moments[i]
        if not before < now:  # type: ignore[operator]
            shown = f"{place[i]}: {_written(now, style)}"
            if before == now:
                raise DataError(f"{shown} is there twice; keep one of the rows")
            raise DataError(f"{shown} comes after {_written(before, style)}; sort the rows by time, earliest first")
    timeline = _timeline(moments, style)
    numbers = _numbers(moments, timeline)
    off = np.flatnonzero(np.abs(numbers - np.round(numbers)) > TOLERANCE * np.maximum(1, np.abs(numbers)))
    if len(off):
        i = int(off[0])
        raise DataError(
            f"{place[i]}: {_written(moments[i], style)} is not at a regular distance from "
            f"{_written(moments[i - 1], style)}; the rows are {timeline.spacing()} elsewhere. Bring the series to a "
            "regular spacing, or leave the time column out: --set data.time=none"
        )
    return timeline, np.round(numbers).astype(np.int64)


def _timeline(moments: Sequence[Moment], style: str) -> Timeline:
    first, dated = moments[0], [moment for moment in moments if isinstance(moment, datetime)]
    if len(moments) == 1:
        return Timeline("seconds" if isinstance(first, datetime) else "number", DAY, first, style)
    if not isinstance(first, datetime):
        step = float(np.median(np.diff(np.array(moments, np.float64))))
        return Timeline("number", step, first, style)
    gaps = np.diff(_seconds(moments, first))
    step = float(np.median(gaps))
    if step >= 27 * DAY and (unit := _month_unit(moments)) is not None:
        return Timeline(unit, float(np.median(np.diff(_months(moments)))), first, style)
    if step == DAY and 3 * DAY in gaps and all(moment.weekday() < 5 for moment in dated):
        return Timeline("weekdays", 1.0, first, style)
    return Timeline("seconds", step, first, style)


def _month_unit(moments: Sequence[Any]) -> Unit | None:
    """Whether moments stand on the same day of their months, or on the last one; None if they do not."""
    if len({moment.timetz() for moment in moments}) > 1:
        return None
    if len({moment.day for moment in moments}) == 1:
        return "months"
    return "month_ends" if all(map(_ends_month, moments)) else None


def _months(moments: Sequence[Any]) -> Array:
    return np.array([12 * moment.year + moment.month for moment in moments])


def _seconds(moments: Sequence[Any], first: Any) -> Array:
    return np.array([(moment - first).total_seconds() for moment in moments])


def _numbers(moments: Sequence[Any], timeline: Timeline) -> Array:
    """The number of each moment on a timeline; a fraction where it lies between two."""
    first: Any = timeline.first
    if timeline.unit in MONTHS:
        found: Array = (_months(moments) - _months([first])) / timeline.step
    elif timeline.unit == "weekdays":
        days = np.array([moment.date() for moment in moments], "datetime64[D]")
        found = np.busday_count(days[0], days).astype(np.float64)
    elif isinstance(first, datetime):
        found = _seconds(moments, first) / timeline.step
    else:
        found = (np.array(moments, np.float64) - first) / timeline.step
    return found
