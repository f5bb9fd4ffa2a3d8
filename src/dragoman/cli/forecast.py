"""dragoman forecast: the next rows of a series, with intervals."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.engine import choose_engine
from dragoman.cli.options import Encoding, Fill, Header, check_fill, given_only
from dragoman.cli.translate import written_output
from dragoman.errors import ConfigurationError
from dragoman.wording import counted

if TYPE_CHECKING:
    from dragoman.tasks.forecasting.forecaster import Forecast, Forecaster

SHOWN = 4  # horizons of known rows in a plot


def forecast(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A forecaster that `dragoman train` wrote.")],
    series: Annotated[str, typer.Argument(metavar="FILE", help="What is known: a table; - reads standard input.")],
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Rows to forecast; default: as many as the model was trained for.")
    ] = None,
    level: Annotated[float, typer.Option(help="Per cent that an interval should hold: 50, 80, 90 or 95.")] = 90,
    out: Annotated[Path | None, typer.Option(help="CSV file; it is replaced only when complete.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw it: a .png or .svg file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
    fill: Fill = None,
    header: Header = None,
    encoding: Encoding = None,
) -> None:
    """Forecast the rows that come after those of a table, as CSV: value, low and high end of an interval."""
    from dragoman.tasks.forecasting.forecaster import Forecaster

    check_fill(fill)
    if not 0 < level < 100:
        raise ConfigurationError(f"--level is per cent, such as 90; got {level:g}")
    forecaster = Forecaster.load(model)
    choose_engine(one_text=True)
    reading = given_only({"fill": fill, "header": header, "encoding": encoding})
    found = forecaster.forecast(series, horizon, round(level / 100, 6), **reading)
    _warn(forecaster, found)
    if plot is not None:
        _plot(found, plot)
    with written_output(out, series) as file:
        if as_json:
            about: dict[str, Any] = {"model": str(model), "series": series}
            print(json.dumps(about | found.as_dict(), ensure_ascii=False), file=file)
            return
        table = csv.writer(file, lineterminator="\n")
        table.writerow(found.header())
        table.writerows(found.lines())


def _warn(forecaster: Forecaster, found: Forecast) -> None:
    """Say where intervals are not known, and why."""
    from dragoman.tasks.forecasting.intervals import fewest_windows

    intervals, steps = forecaster.metadata.intervals, len(found.times)
    if found.series.filled:
        typer.echo(f"note: filled {counted(found.series.filled, 'missing value')} of the series", err=True)
    if intervals is None:
        typer.echo("note: no intervals: they are measured when a training with a validation part finishes", err=True)
    elif intervals.half_width(found.level) is None:
        typer.echo(
            f"note: no intervals of {found.level:.0%}: they need {fewest_windows(found.level)} validation windows, the "
            f"model had {intervals.windows}; try a lower --level",
            err=True,
        )
    elif steps > forecaster.encoding.horizon:
        typer.echo(
            f"note: the model was trained to forecast {forecaster.encoding.horizon} steps; later ones are made from "
            "its own forecasts and have no intervals",
            err=True,
        )


def _plot(found: Forecast, path: Path) -> None:
    from dragoman.analysis.figures import save_figure
    from dragoman.analysis.figures.series import Piece, future_figure

    known, half = found.series, found.high - found.values
    piece = Piece(len(known.values), found.values, half)
    shown = SHOWN * max(len(found.times), 8)
    figure = future_figure(known.values, known.timeline.label, found.columns, piece, found.level, shown)
    save_figure(figure, path)
