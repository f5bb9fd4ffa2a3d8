"""What a positional encoding looks like, and how neighbours differ."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis.figures.canvas import new_figure
from dragoman.errors import ShapeError
from dragoman.graph import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def positions_figure(table: Array, t: int | None = None, first: int = 0) -> Figure:
    """(a) The codes r [T, d], yellow above 0 and blue below; (b) r(t + 1) - r(t) (book, Figure 7.14).

    `first` is what the position of the table's first row is called (the book counts from 1); t is by default the last
    position that has a neighbour.
    """
    length, depth = table.shape
    t = first + length - 2 if t is None else t
    if not first <= t < first + length - 1:
        raise ShapeError(f"a table of {length} positions from {first} on has no codes for both {t} and {t + 1}")
    figure = new_figure(10, 5.5)
    codes, difference = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    reach = _round_up(float(np.abs(table).max()))
    image = codes.imshow(
        table.T,
        cmap="cividis",
        vmin=-reach,
        vmax=reach,
        aspect="auto",
        origin="lower",
        extent=(first - 0.5, first + length - 0.5, -0.5, depth - 0.5),
    )
    codes.set(xlabel="position t", ylabel="column j", title="Positional encoding")
    figure.colorbar(image, ax=codes, label="code")
    difference.axvline(0, color="grey", linewidth=0.6)
    difference.plot(table[t + 1 - first] - table[t - first], np.arange(depth), linewidth=0.9)
    difference.set(xlabel="difference of the codes", title=f"Position {t + 1} less position {t}")
    difference.locator_params(axis="x", nbins=5)
    for axis in (codes.xaxis, codes.yaxis):
        axis.get_major_locator().set_params(integer=True)
    return figure


def distances_figure(biases: dict[str, Array]) -> Figure:
    """What relative positions add to the score of each distance, a line for each head: {stack: [h, 2 reach + 1]}."""
    figure = new_figure(10, 4)
    panels = figure.subplots(1, len(biases), sharey=True, squeeze=False)[0]
    for axes, (name, table) in zip(panels, biases.items(), strict=True):
        reach = table.shape[1] // 2
        distances = np.arange(-reach, reach + 1)
        seen = distances <= 0 if name == "decoder" else np.ones(len(distances), bool)  # what comes later is hidden
        axes.axhline(0, color="grey", linewidth=0.6)
        for head, row in enumerate(table, 1):
            axes.plot(distances[seen], row[seen], marker=".", linewidth=0.9, label=f"head {head}")
        axes.set(xlabel="key less query, clipped", title=f"Relative positions, {name}")
        axes.xaxis.get_major_locator().set_params(integer=True)
    panels[0].set_ylabel("added to the score")
    panels[0].legend(fontsize=8, ncols=2)
    return figure


def _round_up(value: float) -> float:
    """To one digit, so that the scale ends with a number: 0.9996 to 1."""
    digit: float = 10.0 ** math.floor(math.log10(value or 1.0))
    return math.ceil((value or 1.0) / digit) * digit
