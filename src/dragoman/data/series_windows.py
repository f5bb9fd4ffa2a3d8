"""A prepared series on disk, read in windows. The parts are ranges of time: training first, then validation, testing.

A window is C rows of context and the H rows to forecast after them. It belongs to the part that all H rows lie in; its
context may reach back into the part before, as it does when a forecast is made, so that no part's rows are targets of
another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np

from dragoman.batch import Batch
from dragoman.data.autoregression import Autoregression
from dragoman.data.cache import cached, dataset_key
from dragoman.data.dataset import Dataset, Part, published
from dragoman.data.schema import Encoders, Fields
from dragoman.data.series_encoding import Level, SeriesEncoding, Strategy
from dragoman.data.splits import PARTS
from dragoman.data.stores import mapped
from dragoman.data.timeline import Timeline
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.graph import Array

VERSION = 1
NUMBER = np.dtype("<f8")
FED_BACK = 24  # steps that are made one after the other, unless a strategy is given
FEWEST = 10  # windows that a model is trained on


@dataclass(frozen=True)
class RegularSeries:
    """Rows at regular moments, none of them missing: names and values [T, p], and how many values were filled."""

    names: tuple[str, ...]
    values: Array
    timeline: Timeline
    time: str | None = None
    filled: int = 0


@dataclass(frozen=True)
class SeriesSchema(Fields):
    """How a series becomes windows. What is None is decided from the series."""

    context: int | None = None
    horizon: int | None = None
    strategy: Strategy | None = None
    level: Level | None = None
    period: int | None = None
    shares: tuple[float, float, float] = (0.7, 0.15, 0.15)

    name: ClassVar[str] = "series"
    fields: ClassVar[tuple[str, ...]] = ("series",)
    encoders: ClassVar[Mapping[str, type[Any]]] = {"series": SeriesEncoding, "linear": Autoregression}

    def bounds(self, rows: int) -> list[int]:
        """Where the parts begin, and the end."""
        first, second = (round(float(share) * rows) for share in np.cumsum(self.shares)[:2])
        return [0, first, second, rows]


@dataclass(frozen=True)
class SeriesWindows(Sequence[int]):
    """Windows of a series, by their origins: how many rows stand before the first one that is forecast."""

    values: Array
    timeline: Timeline
    encoding: SeriesEncoding
    origins: Array

    @classmethod
    def of(cls, series: RegularSeries, encoding: SeriesEncoding, first: int = 0) -> SeriesWindows:
        """All windows whose forecasts begin at a row from `first` on."""
        origins = np.arange(max(first, encoding.context), len(series.values) - encoding.horizon + 1)
        return cls(series.values, series.timeline, encoding, origins)

    def __len__(self) -> int:
        return len(self.origins)

    @overload
    def __getitem__(self, chosen: int) -> int: ...

    @overload
    def __getitem__(self, chosen: slice) -> SeriesWindows: ...

    def __getitem__(self, chosen: int | slice) -> int | SeriesWindows:
        if isinstance(chosen, slice):
            return replace(self, origins=self.origins[chosen])
        return int(self.origins[chosen])

    def rows(self, items: Array | slice = slice(None)) -> Array:
        """[B, C + H, p] of some windows."""
        e = self.encoding
        found: Array = self.values[self.origins[items][:, None] + np.arange(-e.context, e.horizon)]
        return found


@dataclass(frozen=True, eq=False)
class SeriesPart(Part):
    """The windows of a part."""

    windows: SeriesWindows | None = None

    def lengths(self) -> Array:
        assert self.windows is not None
        e = self.windows.encoding
        length = e.context if e.strategy == "direct" else e.context + e.horizon - 1
        return np.full((len(self), 1), length)

    def batch(self, items: Array) -> Batch:
        assert self.windows is not None
        return self.windows.encoding.batch(self.windows.rows(items))


class SeriesDataset(Dataset):
    """A prepared series; nothing is loaded until it is used."""

    schema: Any  # a SeriesSchema
    version = VERSION

    def _open(self) -> None:
        about, encoding = self.about, self.encoding
        rows = mapped(self.directory / "rows.data", NUMBER)
        if len(rows) != about["bounds"][-1] * encoding.size:
            raise FileFormatError(
                f"{self.directory}: its files do not match each other; delete the directory and try again"
            )
        timeline = Timeline.from_dict(about["timeline"])
        self.series = RegularSeries(
            encoding.names, rows.reshape(-1, encoding.size), timeline, about["time"], about["filled"]
        )

    def __len__(self) -> int:
        return sum(self.about["parts"].values())

    @property
    def encoding(self) -> SeriesEncoding:
        found: SeriesEncoding = self.encoders["series"]
        return found

    def part(self, name: str) -> SeriesPart:
        if name not in PARTS:
            raise ConfigurationError(f"unknown part '{name}'; available: {', '.join(PARTS)}")
        first, last = self.about["bounds"][PARTS.index(name) :][:2]
        until = replace(self.series, values=self.series.values[:last])
        windows = SeriesWindows.of(until, self.encoding, first)
        return SeriesPart(self, np.arange(len(windows)), windows)


def cached_series(
    series: RegularSeries,
    digest: str,
    schema: SeriesSchema,
    encoders: Encoders | None = None,
    directory: Path | None = None,
) -> SeriesDataset:
    """The windows of a series, prepared now or found from before; with the encoders of a model, as that model reads."""
    given = [hashlib.sha256(encoder.to_json().encode()).hexdigest() for encoder in (encoders or {}).values()]
    key = dataset_key([digest], schema.name, VERSION, asdict(schema), given)
    return cached(key, SeriesDataset, lambda place: prepare_series(series, place, schema, encoders), directory)


def prepare_series(
    series: RegularSeries, directory: Path, schema: SeriesSchema, encoders: Encoders | None = None
) -> SeriesDataset:
    """Split by time, learn the encoders from the training part (or use the given ones). Complete or not at all."""
    bounds = schema.bounds(len(series.values))
    chosen = encoders or learn_encoders(series, schema)
    encoding: SeriesEncoding = chosen["series"]
    counts = {
        name: len(SeriesWindows.of(replace(series, values=series.values[:last]), encoding, first))
        for name, (first, last) in zip(PARTS, pairwise(bounds), strict=True)
    }
    if counts["training"] < FEWEST:
        raise too_short(bounds[1], encoding.context, encoding.horizon)
    about = {
        "schema": schema.name,
        "parts": counts,
        "bounds": bounds,
        "timeline": series.timeline.as_dict(),
        "time": series.time,
        "filled": series.filled,
        "vocabularies": [encoding.size],
        "truncated": [0],
        "encoding": asdict(schema),
        "version": VERSION,
    }
    with published(directory) as work:
        series.values.astype(NUMBER).tofile(work / "rows.data")
        for name, encoder in chosen.items():
            (work / f"{name}-{encoder.file}.json").write_text(encoder.to_json(), encoding="utf-8")
        (work / "about.json").write_text(json.dumps(about, indent=2, ensure_ascii=False), encoding="utf-8")
    return SeriesDataset(directory)


def learn_encoders(series: RegularSeries, schema: SeriesSchema) -> Encoders:
    """What the training part decides; where it leaves a choice, the validation part."""
    bounds = schema.bounds(len(series.values))
    training, later = series.values[: bounds[1]], series.values[bounds[1] : bounds[2]]
    period = schema.period if schema.period != 1 else None
    horizon = schema.horizon or choose_horizon(bounds, period)
    context = schema.context or choose_context(bounds[1], period, horizon)
    if bounds[1] - context - horizon + 1 < FEWEST:
        raise too_short(bounds[1], context, horizon)
    strategy = schema.strategy or choose_strategy(horizon)
    encoding = SeriesEncoding.learn(series.names, training, later, context, horizon, strategy, schema.level, period)
    return {"series": encoding, "linear": Autoregression.learn(training, later, context, horizon, period)}


def choose_horizon(bounds: Sequence[int], period: int | None) -> int:
    """One season, or 24 rows; fewer where the validation or the testing part would have too few windows."""
    sizes = [last - first for first, last in pairwise(bounds)]
    judged = [size // 3 for size in sizes[1:] if size]
    return max(1, min(period or 24, sizes[0] // 8, *judged))


def choose_strategy(horizon: int) -> Strategy:
    """Errors that are fed back add up, so long forecasts are made at once."""
    return "feedback" if horizon <= FED_BACK else "direct"


def choose_context(rows: int, period: int | None, horizon: int) -> int:
    """Two seasons, or twice the horizon and at least 16 rows; at most half of the training part."""
    return max(1, min(2 * (period or max(horizon, 8)), (rows - horizon) // 2))


def too_short(rows: int, context: int, horizon: int) -> DataError:
    """An error for a series that gives too few windows to train on."""
    found = max(0, rows - context - horizon + 1)
    fits = max(1, (rows - FEWEST + 1) // 3)
    return DataError(
        f"the training part has {rows:,} rows; windows of {context:,} rows that are read (data.context) and "
        f"{horizon:,} that are forecast (data.horizon) fit into it {found:,} times, at least {FEWEST} are needed. Give "
        f"a longer series, or shorter windows: --set data.context={fits} --set data.horizon={max(1, fits // 2)}"
    )
