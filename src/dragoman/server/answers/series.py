"""Forecasts of a series that is sent: a table as CSV, or columns of numbers."""

from __future__ import annotations

import csv
import io
import math
import re
import tempfile
from pathlib import Path
from typing import Any

from dragoman.errors import DragomanError
from dragoman.server.answers.values import Payload, as_json, checked, number_of, whole_of
from dragoman.server.bounds import CSV_BYTES, HORIZON, SERIES_COLUMNS, SERIES_ROWS, SHOWN_ROWS
from dragoman.server.errors import BadRequest, TooLarge
from dragoman.tasks.forecasting.forecaster import Forecast, Forecaster
from dragoman.tasks.forecasting.intervals import fewest_windows

FILLS = ("linear", "previous", "seasonal")
SHOWN = 4  # horizons of known rows that come back
Table = tuple[str, dict[str, Any]]  # CSV, and how it is read


def of_series(model: Forecaster, payload: Payload) -> dict[str, Any]:
    """The next rows of a series, what was known before them, and notes on what the intervals mean."""
    horizon = None if payload.get("horizon") is None else whole_of(payload, "horizon", 1, 1, HORIZON)
    level, fill = number_of(payload, "level", 90.0), payload.get("fill")
    assert level is not None
    if not 0 < level < 100:
        raise BadRequest("'level' must be per cent, such as 90")
    if fill is not None and fill not in FILLS:
        raise BadRequest(f"'fill' must be one of {', '.join(FILLS)}")
    text, reading = _sent(payload) if payload.get("csv") is not None else _columns(model, payload["series"])
    found = _forecast(model, text, horizon, round(level / 100, 6), reading | ({"fill": fill} if fill else {}))
    return {**as_json(found.as_dict(), 10), "known": _known(found), "notes": _notes(model, found)}


def _sent(payload: Payload) -> Table:
    text = payload["csv"]
    if not isinstance(text, str) or not text.strip():
        raise BadRequest("'csv' must be a table: a line for each row, numbers between commas")
    if len(checked(text, "csv").encode()) > CSV_BYTES:
        raise TooLarge(f"'csv' has more than {CSV_BYTES:,} bytes; its last rows are enough")
    return text, {}


def _columns(model: Forecaster, series: Any) -> Table:
    """Columns of numbers as a table; null is a missing value."""
    given = series.get("columns") if isinstance(series, dict) else None
    if not isinstance(given, dict) or not 1 <= len(given) <= SERIES_COLUMNS:
        raise BadRequest("'series' must have 'columns': a list of numbers for each name")
    names, times = model.encoding.names, series.get("times")
    if missing := [name for name in names if name not in given]:
        raise BadRequest(f"'series' has no column '{missing[0]}'; the model forecasts {', '.join(names)}")
    columns = [_cells(given[name], name) for name in names]
    if times is not None:
        columns.insert(0, _times(times))
    if len(lengths := {len(column) for column in columns}) > 1:
        raise BadRequest(f"the columns of 'series' have different lengths: {', '.join(map(str, sorted(lengths)))}")
    name = model.metadata.time if isinstance(model.metadata.time, str) and times is not None else "time"
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*([name] if times is not None else []), *(f"value {i}" for i in range(len(names)))])
    table.writerows(zip(*columns, strict=True))
    first = 1 if times is None else 2
    places = tuple(range(first, first + len(names)))
    return text.getvalue(), {
        "columns": places,
        "time": "none" if times is None else 1,
        "header": True,
        "decimal": ".",
        "format": "csv",
    }


def _cells(column: Any, name: str) -> list[str]:
    if not isinstance(column, list) or not 1 <= len(column) <= SERIES_ROWS:
        raise BadRequest(f"column '{name}' must be a list of 1 to {SERIES_ROWS:,} numbers")
    for number in column:
        right = number is None or (isinstance(number, int | float) and not isinstance(number, bool))
        if not right or (number is not None and not math.isfinite(number)):
            raise BadRequest(f"column '{name}' must have numbers, and null where a value is missing")
    return ["" if number is None else repr(float(number)) for number in column]


def _times(times: Any) -> list[str]:
    if not isinstance(times, list) or not all(isinstance(each, str | int | float) for each in times):
        raise BadRequest("'times' must be a list of dates such as 2001-02-28, or of numbers")
    return [checked(str(each), "times")[:64] for each in times]


def _forecast(model: Forecaster, text: str, horizon: int | None, level: float, reading: dict[str, Any]) -> Forecast:
    """Readers of tables open files; messages name none."""
    with tempfile.TemporaryDirectory(prefix="dragoman-") as folder:
        path = Path(folder) / "series.csv"
        path.write_text(text, encoding="utf-8")
        try:
            return model.forecast(path, horizon, level, **reading)
        except OverflowError:
            raise BadRequest("the series has numbers that are too large") from None
        except DragomanError as error:
            raise BadRequest(_for_clients(str(error).replace(str(path), "the series"))) from None


def _for_clients(message: str) -> str:
    """A message that advises options of the command line, for someone who sends a request."""
    message = message.removesuffix(" (use --on-bad-line skip to skip and count such lines)")
    message = re.sub(r"--fill (\w+)", r"'fill' \1", message)
    message = re.sub(r"(, or|;|,)[^;,.]*--(?:set|columns|encoding|header)\b.*$", "", message)
    return re.sub(r"--(\w+)", r"'\1'", message)


def _known(found: Forecast) -> dict[str, Any]:
    """The last rows of the series, for a plot."""
    series, total = found.series, len(found.series.values)
    count = min(total, SHOWN_ROWS, SHOWN * max(len(found.times), 8))
    values = series.values[total - count :]
    return {
        "times": [series.timeline.label(i) for i in range(total - count, total)],
        "columns": {name: as_json(values[:, j], 10) for j, name in enumerate(found.columns)},
    }


def _notes(model: Forecaster, found: Forecast) -> list[str]:
    """What was done to the series, and where intervals are not known."""
    notes, intervals = [], model.metadata.intervals
    if found.series.filled:
        notes.append(f"{found.series.filled:,} missing values were filled")
    if intervals is None:
        notes.append("no intervals: they are measured when a training with a validation part finishes")
    elif intervals.half_width(found.level) is None:
        notes.append(
            f"no intervals of {found.level:.0%}: they need {fewest_windows(found.level)} validation windows, the model "
            f"had {intervals.windows}"
        )
    elif len(found.times) > model.encoding.horizon:
        notes.append(
            f"the model was trained to forecast {model.encoding.horizon} steps; later ones are made from its own "
            "forecasts and have no intervals"
        )
    return notes
