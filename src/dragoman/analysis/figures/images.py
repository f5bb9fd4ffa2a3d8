"""Draw images: a gallery with titles, and attention over an image as brightness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.analysis.figures.canvas import in_lines, new_figure
from dragoman.graph import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL = 1.5  # inches of an image
COLUMNS = 4


def pictures_figure(pictures: Sequence[Array], titles: Sequence[str]) -> Figure:
    """Draw images [H, W, C] uint8 in rows, each with its title."""
    columns = min(COLUMNS, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    figure = new_figure(columns * (CELL + 0.3), rows * (CELL + 0.4), layout="compressed")
    grid = figure.subplots(rows, columns, squeeze=False).flat
    for axes, pixels, title in zip(grid, pictures, titles, strict=False):
        _draw(axes, pixels, in_lines(title, 1.6 * CELL))
    for axes in figure.axes[len(pictures) :]:
        axes.remove()
    return figure


def image_attention_figure(pixels: Array, maps: Mapping[str, Array], title: str) -> Figure:
    """Draw an image, and beside it how much attention its patches get: bright patches get much, dark ones little.

    pixels  [H, W, C] uint8
    maps    by name: [rows, columns], a weight for each patch
    """
    count = len(maps) + 1
    columns = count if count <= COLUMNS else math.ceil(count / math.ceil(count / COLUMNS))
    rows = math.ceil(count / columns)
    ratio = pixels.shape[0] / pixels.shape[1]
    figure = new_figure(columns * (CELL + 0.25) + 0.9, rows * (CELL * ratio + 0.4) + 0.5, layout="compressed")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    _draw(grid[0], pixels, "image")
    image: Any = None
    for axes, (name, weights) in zip(grid[1:], maps.items(), strict=False):
        image = _draw_weights(axes, pixels, weights, name)
    for axes in grid[count:]:
        axes.remove()
    figure.suptitle(in_lines(title, columns * CELL), parse_math=False)
    bar = figure.colorbar(image, ax=grid[:count], label="share of the attention", aspect=30)
    bar.set_ticks([0, 1], labels=["none", "most"])
    return figure


def _draw(axes: Any, pixels: Array, title: str) -> None:
    grey = pixels.shape[2] == 1
    axes.imshow(pixels[:, :, 0] if grey else pixels, cmap="gray", vmin=0, vmax=255)
    axes.set_title(title, fontsize=9, parse_math=False)
    axes.set_xticks([])
    axes.set_yticks([])


def _draw_weights(axes: Any, pixels: Array, weights: Array, name: str) -> Any:
    """The weights as colours, relative to the largest, under the image in grey."""
    share = weights / max(float(weights.max()), 1e-12)
    height, width = pixels.shape[:2]
    place = (-0.5, width - 0.5, height - 0.5, -0.5)
    image = axes.imshow(share, cmap="inferno", vmin=0, vmax=1, extent=place, interpolation="nearest")
    bright = pixels.mean(axis=2) / 255
    veil = np.ones((height, width, 4)) * (bright > 0.5).astype(float)[:, :, None]
    veil[:, :, 3] = 0.55 * np.abs(bright - 0.5) * 2 * _inked(bright)
    axes.imshow(veil, extent=place, interpolation="nearest")
    axes.set_title(name, fontsize=9, parse_math=False)
    axes.set_xticks([])
    axes.set_yticks([])
    return image


def _inked(bright: Array) -> Array:
    """Where the image differs from its ground, which is the brightness that most pixels have."""
    found: Array = np.abs(bright - np.median(bright)) > 0.25
    return found.astype(float)
