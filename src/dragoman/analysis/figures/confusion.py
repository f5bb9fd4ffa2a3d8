"""Which classes are taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis.figures.canvas import in_lines, new_figure, text_width
from dragoman.graph import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 30  # classes in a figure
NOTED = 0.005  # shares below are not written into their squares


def confusion_figure(counts: Array, names: Sequence[str], title: str) -> Figure:
    """Squares of the share of each true class (row) that was predicted as each class (column).

    counts [C, C]; with more than MOST classes the most frequent ones are shown.
    """
    kept = np.argsort(-counts.sum(axis=1), kind="stable")[:MOST]
    shown = counts[np.ix_(kept, kept)]
    shares = shown / np.maximum(1, counts[kept].sum(axis=1, keepdims=True))
    labels = [names[i] for i in kept]
    side = max(4.0, 0.42 * len(labels))
    figure = new_figure(side + text_width(labels, 9) + 1.4, side + text_width(labels, 9) + 0.8)
    axes = figure.subplots()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=9)
    axes.set_yticks(range(len(labels)), labels, fontsize=9)
    for row, column in np.argwhere(shares >= NOTED):
        share = shares[row, column]
        colour = "white" if share > 0.5 else "black"
        axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=7, color=colour)
    axes.set(xlabel="predicted", ylabel="true")
    axes.set_title(in_lines(title, side), fontsize=11)
    return figure
