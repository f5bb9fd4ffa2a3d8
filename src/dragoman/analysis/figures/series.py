"""Figures of series: forecasts beside the truth, the error by step, and what comes next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.analysis.figures.canvas import new_figure
from dragoman.graph import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 6  # columns that are drawn
FORECAST, KNOWN = "tab:orange", "black"
Label = Callable[[int], str]


@dataclass(frozen=True)
class Piece:
    """One forecast: the row it begins at, its values [H, p], and half the width of its interval."""

    first: int
    values: Array
    half_width: Array | None = None


def truth_figure(
    values: Array, label: Label, names: Sequence[str], pieces: Sequence[Piece], level: float | None
) -> Figure:
    """Forecasts that follow each other without overlap, beside the true values [T, p]."""
    start = max(0, pieces[0].first - len(pieces[0].values))
    rows = np.arange(start, len(values))
    figure, panels = _panels(names, f"{len(pieces)} forecasts of {len(pieces[0].values)} steps, one after another")
    for axes, column in panels:
        axes.plot(rows, values[start:, column], color=KNOWN, linewidth=1, label="truth")
        for number, piece in enumerate(pieces):
            at = piece.first + np.arange(len(piece.values))
            _band(axes, at, piece, column, level, number == 0)
            shown = {"label": "forecast"} if number == 0 else {}
            axes.plot(at, piece.values[:, column], color=FORECAST, linewidth=1.2, **shown)
            axes.axvline(piece.first - 0.5, color="grey", linewidth=0.4, alpha=0.5)
        axes.set_xlim(start, len(values) - 1)
        _label_times(axes, label)
    panels[0][0].legend(loc="upper left", fontsize=8, ncols=3, frameon=False)
    return figure


def future_figure(
    known: Array, label: Label, names: Sequence[str], piece: Piece, level: float | None, shown: int
) -> Figure:
    """The last rows that are known, and the forecast after them."""
    start = max(0, len(known) - shown)
    figure, panels = _panels(names, f"{len(piece.values)} steps after {label(len(known) - 1)}")
    for axes, column in panels:
        axes.plot(np.arange(start, len(known)), known[start:, column], color=KNOWN, linewidth=1, label="known")
        at = piece.first + np.arange(len(piece.values))
        _band(axes, at, piece, column, level, True)
        joined = np.concatenate((known[-1:, column], piece.values[:, column]))
        axes.plot(np.arange(len(known) - 1, len(known) + len(at)), joined, color=FORECAST, label="forecast")
        axes.set_xlim(start, at[-1])
        _label_times(axes, label)
    panels[0][0].legend(loc="upper left", fontsize=8, ncols=3, frameon=False)
    return figure


def step_figure(errors: Mapping[str, Array], unit: str) -> Figure:
    """The error of each forecast, [H], by step."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(7, 4)
    axes = figure.subplots()
    for number, (name, error) in enumerate(errors.items()):
        mark = "o" if len(error) <= 30 else None
        axes.plot(
            np.arange(1, len(error) + 1),
            error,
            label=name,
            marker=mark,
            markersize=3,
            color=f"C{(1, 7, 2, 0)[number % 4]}",
            linewidth=2 if number == 0 else 1.2,
        )
    axes.set(xlabel="steps ahead", ylabel=unit, ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False)
    return figure


def _panels(names: Sequence[str], title: str) -> tuple[Figure, list[tuple[Any, int]]]:
    """A figure with a panel for each of the first columns."""
    count = min(len(names), MOST_PANELS)
    figure = new_figure(9, 1.6 + 2.4 * count)
    found = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    for axes, name in zip(found, names, strict=False):
        axes.set_ylabel(name if len(name) <= 30 else name[:30] + "...")
        axes.grid(alpha=0.25)
        axes.margins(y=0.12)
    more = f" (the first {count} of {len(names)} columns)" if len(names) > count else ""
    figure.suptitle(title + more, fontsize=11)
    return figure, [(axes, column) for column, axes in enumerate(found)]


def _band(axes: Any, at: Array, piece: Piece, column: int, level: float | None, named: bool) -> None:
    if piece.half_width is None or level is None:
        return
    half = np.full(len(at), np.nan)
    half[: len(piece.half_width)] = piece.half_width[: len(at), column]
    low, high = piece.values[:, column] - half, piece.values[:, column] + half
    label = {"label": f"{level:.0%} interval"} if named else {}
    axes.fill_between(at, low, high, color=FORECAST, alpha=0.25, linewidth=0, **label)


def _label_times(axes: Any, label: Label) -> None:
    """Write the times of rows below the axis."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: label(int(x)) if x >= 0 else ""))
