"""Draw attention weights as grey squares, black 0 and white 1. Words with a $ are not formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.analysis.figures.canvas import in_lines, new_figure, text_width
from dragoman.errors import ShapeError
from dragoman.graph import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MANY = 16  # keys; with more of them, greys follow the roots of the weights
BAR = 0.9  # inches for the scale with its numbers


def attention_figure(weights: Array, queries: Sequence[str], keys: Sequence[str], title: str = "Attention") -> Figure:
    """Draw the attention from queries (rows) to keys (columns) (thesis, Figure 3; book, Figure 7.11)."""
    if weights.shape != (len(queries), len(keys)) or not weights.size:
        raise ShapeError(f"weights of shape {weights.shape} for {len(queries)} queries and {len(keys)} keys")
    cell = min(0.42, max(0.24, 5 / max(weights.shape)))
    width, height = cell * len(keys), cell * len(queries)
    figure = new_figure(
        max(3.6, text_width(queries, 9) + width + BAR), height + text_width(keys, 9) + 0.5, layout="compressed"
    )
    axes = figure.subplots()
    image = _draw(axes, weights, queries, keys, size=9, rotation=60)
    axes.set_title(in_lines(title, width + BAR), parse_math=False)
    figure.colorbar(image, ax=axes, label=_label(keys), pad=0.1 / width, aspect=height / 0.14)
    return figure


def heads_figure(weights: Array, queries: Sequence[str], keys: Sequence[str], title: str = "Attention") -> Figure:
    """The same for every head: weights [h, Tq, Tk]. Heads share their words and the scale."""
    if weights.ndim != 3 or weights.shape[1:] != (len(queries), len(keys)) or not weights.size:
        raise ShapeError(f"heads of shape {weights.shape} for {len(queries)} queries and {len(keys)} keys")
    heads, columns = len(weights), _columns(len(weights))
    rows = math.ceil(heads / columns)
    cell = min(0.3, max(0.13, 3 / max(weights.shape[1:])))
    size = min(8.0, 60 * cell)  # of 72 points in an inch, so that lines stay apart
    width, height = columns * (cell * len(keys) + 0.2), rows * (cell * len(queries) + 0.4)
    figure = new_figure(
        text_width(queries, size) + width + BAR, text_width(keys, size) + height + 0.5, layout="compressed"
    )
    for index, axes in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
        if index >= heads:
            axes.remove()
            continue
        first, lowest = index % columns == 0, index + columns >= heads
        image = _draw(axes, weights[index], queries if first else [], keys if lowest else [], size, rotation=90)
        axes.set_title(f"head {index + 1}", fontsize=9)
    figure.suptitle(in_lines(title, width + BAR), parse_math=False)
    figure.colorbar(image, ax=figure.axes, label=_label(keys), pad=0.1 / width, aspect=height / 0.14)
    return figure


def _scale(keys: int) -> Any:
    """From 0 to 1. Weights that are shared among many keys are small: by their roots they are still seen."""
    from matplotlib.colors import PowerNorm

    return PowerNorm(0.5 if keys > MANY else 1.0, 0, 1)


def _label(keys: Sequence[str]) -> str:
    return "weight (√ scale)" if len(keys) > MANY else "weight"


def _draw(axes: Any, weights: Array, queries: Sequence[str], keys: Sequence[str], size: float, rotation: float) -> Any:
    image = axes.imshow(weights, cmap="gray", norm=_scale(weights.shape[1]))
    tilted = {"rotation": rotation, "ha": "right", "va": "center", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(keys)), keys, fontsize=size, parse_math=False, **tilted)
    axes.set_yticks(range(len(queries)), queries, fontsize=size, parse_math=False)
    between = {"colors": "0.3", "linewidth": 0.4}  # lead the eye from a square to its words
    axes.hlines(np.arange(1, len(weights)) - 0.5, *axes.get_xlim(), **between)
    axes.vlines(np.arange(1, weights.shape[1]) - 0.5, *axes.get_ylim(), **between)
    return image


def _columns(heads: int) -> int:
    """A nearly square grid; up to 4 columns, one without a hole is preferred."""
    least = math.ceil(math.sqrt(heads))
    return next((columns for columns in range(least, 5) if heads % columns == 0), least)
