"""Draw the figures of a run: ratios with their spread, and cost curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.analysis.figures.canvas import new_figure
from dragoman.bench.rounds import LINEAR_PRODUCTS, OURS, PRODUCTS, Row
from dragoman.bench.scaling import CORPUS, ROWS, Point
from dragoman.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {
    OURS: "tab:blue",
    "torch": "tab:red",
    "torch.compile": "tab:orange",
    "ctranslate2-float32": "tab:green",
    "ctranslate2-int8": "tab:olive",
    PRODUCTS: "tab:grey",
    LINEAR_PRODUCTS: "lightgrey",
}
MIB = 2**20
TITLES = {"training": "Training steps", "decoding": "Decoding"}
AXES = {
    "batch": "sentences per batch",
    "length": f"tokens per sentence\n({ROWS:,} per side in all)",
    "depth": "depth d",
    CORPUS: "pairs in the corpus",
}


def ratios_figure(rows: Sequence[Row]) -> Figure:
    """Draw the time of each peer divided by ours: median, quartiles (whiskers), minimum (dash)."""
    peers = [row for row in rows if row.contender != OURS]
    kinds = [kind for kind in TITLES if any(row.kind == kind for row in peers)]
    if not kinds:
        raise DataError("the run has no rows: nothing to draw")
    widest = max(len({(row.preset, row.workload) for row in peers if row.kind == kind}) for kind in kinds)
    figure = new_figure(max(6.0, 1.5 + 1.1 * widest), 3.6 * len(kinds))
    for axes, kind in zip(np.atleast_1d(figure.subplots(len(kinds), 1)), kinds, strict=True):
        _bars(axes, [row for row in peers if row.kind == kind])
        axes.set_title(TITLES[kind], loc="left")
    return figure


def _bars(axes: Any, rows: Sequence[Row]) -> None:
    groups = list(dict.fromkeys((row.preset, row.workload) for row in rows))
    names = list(dict.fromkeys(row.contender for row in rows))
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        mine = [row for row in rows if row.contender == name]
        x = np.array([groups.index((row.preset, row.workload)) for row in mine]) + (i - (len(names) - 1) / 2) * width
        medians = np.array([row.median_ratio for row in mine])
        around = np.array([(row.median_ratio - row.spread[0], row.spread[1] - row.median_ratio) for row in mine]).T
        axes.bar(x, medians - 1, width, 1, color=COLOURS.get(name), label=name)
        axes.errorbar(x, medians, around, fmt="none", ecolor="black", capsize=2, linewidth=0.9)
        axes.plot(x, [row.min_ratio for row in mine], "_", markeredgecolor="black", markersize=6)
        for place, row in zip(x, mine, strict=True):
            _number(axes, place, row)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.margins(y=0.15)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_xticks(range(len(groups)), [f"{preset}\n{workload}" for preset, workload in groups], fontsize=8)
    axes.set_ylabel("its time / Dragoman's")
    axes.grid(axis="y", alpha=0.25)
    axes.legend(frameon=False, fontsize=8, ncols=len(names), loc="lower right", bbox_to_anchor=(1, 1))


def _number(axes: Any, place: float, row: Row) -> None:
    """Write the median beyond the end of its bar."""
    end, side, gap = (row.spread[1], "bottom", 3) if row.median_ratio >= 1 else (row.min_ratio, "top", -3)
    style = {"textcoords": "offset points", "ha": "center", "va": side, "fontsize": 7}
    axes.annotate(f"{row.median_ratio:.2f}", (place, end), (0, gap), **style)


def scaling_figure(points: Sequence[Point]) -> Figure:
    """Draw a column per curve: above, time per step (per token for corpus sizes); below, peak memory."""
    if not points:
        raise DataError("the run has no curves: nothing to draw")
    curves = list(dict.fromkeys(point.curve for point in points))
    figure = new_figure(2.7 * len(curves), 6)
    panels = figure.subplots(2, len(curves), squeeze=False)
    for (above, below), curve in zip(panels.T, curves, strict=True):
        mine = [point for point in points if point.curve == curve]
        for name in dict.fromkeys(point.contender for point in mine):
            _curve(above, below, [point for point in mine if point.contender == name], name)
        above.set(title=AXES.get(curve, curve), ylabel="µs per token" if curve == CORPUS else "ms per step")
        below.set_ylabel("peak MiB")
        for axes in (above, below):
            _scales(axes, sorted({point.value for point in mine}), from_zero=axes is below or curve == CORPUS)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _curve(above: Any, below: Any, points: Sequence[Point], name: str) -> None:
    x, style = [point.value for point in points], {"marker": "o", "color": COLOURS.get(name), "label": name}
    times = [1e6 * p.seconds / p.tokens if p.curve == CORPUS else 1e3 * p.seconds for p in points]
    above.plot(x, times, **style)
    below.plot(x, [point.memory / MIB for point in points], **style)


def _scales(axes: Any, values: Sequence[int], from_zero: bool) -> None:
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:,}" for value in values], fontsize=7, rotation=45)
    axes.grid(alpha=0.25)
    if from_zero:
        axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
    else:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
