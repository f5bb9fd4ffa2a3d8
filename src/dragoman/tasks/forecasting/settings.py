"""What is particular about the configuration and the model.json of a forecaster."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from dragoman.data.seasons import Fill
from dragoman.data.series_encoding import Level, Strategy
from dragoman.networks.sizes import LONGEST
from dragoman.tasks.configuration import DataSettings, Shares
from dragoman.tasks.forecasting.intervals import Intervals
from dragoman.tasks.model import ModelMetadata

SHARES = (0.7, 0.15, 0.15)  # a series has fewer rows than a corpus has sentences: 5 % would be too few to judge by
NO_TIME = "none"
Column = int | str


def _columns(given: object) -> object:
    """'a,b' and 3 as lists of columns."""
    if isinstance(given, str):
        return [int(name) if name.isdigit() else name for name in (part.strip() for part in given.split(","))]
    return [given] if isinstance(given, int) else given


def _count_from_one(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    if not columns or any(column == "" or (isinstance(column, int) and column < 1) for column in columns):
        raise ValueError(f"columns are names, or numbers from 1; got {list(columns)}")
    if len(set(columns)) < len(columns):
        raise ValueError(f"a column is named twice: {list(columns)}")
    return columns


Columns = Annotated[tuple[Column, ...], BeforeValidator(_columns), AfterValidator(_count_from_one)]
Rows = Annotated[int, Field(ge=1, le=LONGEST)]


class SeriesData(DataSettings):
    """Where a series comes from, and how it becomes windows. What is None is decided from the series.

    columns   the variables, by name or by number from 1; None: all but the times
    time      the column of times, by name or by number from 1; "automatic": the first one if it is named like one or
              holds dates; "none": there is none
    decimal   the mark of decimals
    fill      how missing values are filled; None: they are errors
    split     by time: the first rows train, the next ones validate, the last ones test
    period    rows of a season; 1: there is none; None: found by autocorrelation
    context   rows that a forecast reads
    horizon   rows that are forecast at once
    strategy  direct: all rows of a forecast at once; feedback: one after the other, each read again; None: by horizon
    level     what values are measured from: the "mean" of the training part, or the "last" row that is known
    """

    format: Literal["csv", "tsv"] | None = None
    columns: Columns | None = None
    time: int | str = "automatic"
    decimal: Literal[".", ","] = "."
    fill: Fill | None = None
    split: Literal["time"] = "time"
    shares: Shares = SHARES
    period: Rows | None = None
    context: Rows | None = None
    horizon: Rows | None = None
    strategy: Strategy | None = None
    level: Level | None = None


class ForecasterMetadata(ModelMetadata):
    """model.json of a forecaster.

    columns, time  where its variables and times are in a table, by name or by number from 1
    timeline       its first moment and its spacing
    intervals      how far forecasts were off in the validation part; None before training has finished
    """

    columns: tuple[Column, ...] = ()
    time: Column = NO_TIME
    decimal: Literal[".", ","] = "."
    timeline: dict[str, Any] = Field(default_factory=dict)
    intervals: Intervals | None = None
