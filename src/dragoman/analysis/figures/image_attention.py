"""Draw attention over an image: what is not looked at is faded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis.figures.canvas import new_figure
from dragoman.errors import ShapeError
from dragoman.graph import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = 6
PANEL = 1.5  # inches
FAINT = 0.12  # how much is left of a pixel that is not looked at


def words_figure(pixels: Array, words: Sequence[str], weights: Array) -> Figure:
    """The image, and for each word of its caption where it looked.

    pixels [H, W, C] uint8, weights [words, rows, columns] of patches; the brightest patch of a word is the one with
    its largest weight
    """
    height, width = pixels.shape[:2]
    if weights.ndim != 3 or len(weights) != len(words) or height % weights.shape[1] or width % weights.shape[2]:
        raise ShapeError(f"weights {weights.shape} of {len(words)} words do not fit an image of {height} x {width}")
    columns = min(COLUMNS, len(words) + 1)
    rows = math.ceil((len(words) + 1) / columns)
    figure = new_figure(columns * PANEL, rows * (PANEL + 0.3) + 0.3, layout="compressed")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    image = np.repeat(pixels, 3, axis=2) if pixels.shape[2] == 1 else pixels
    pictures = [image, *(faded(image, each) for each in weights)]
    for axes, picture, title in zip(grid, pictures, ("the image", *words), strict=False):
        axes.imshow(picture, interpolation="nearest")
        axes.set_title(title, fontsize=9, parse_math=False)
        axes.set_xticks([])
        axes.set_yticks([])
    for axes in grid[len(pictures) :]:
        axes.remove()
    figure.suptitle("Where each word looked", fontsize=11)
    return figure


def faded(image: Array, weights: Array) -> Array:
    """[H, W, 3] towards grey where the weights [rows, columns] are low."""
    scale = (image.shape[0] // weights.shape[0], image.shape[1] // weights.shape[1])
    share = np.kron(weights / max(float(weights.max()), 1e-12), np.ones(scale))[:, :, None]
    strength = FAINT + (1 - FAINT) * np.sqrt(share)
    found: Array = (strength * image + (1 - strength) * 96).astype(np.uint8)
    return found
