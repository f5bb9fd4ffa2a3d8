"""Draw a scene: shapes on a white square, with a darker edge that shows what is in front."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dragoman.graph import Array

if TYPE_CHECKING:
    from dragoman.data.scenes.scene import Scene

SIZE = 32  # width and height of a scene, in pixels
BACKGROUND = 255
WIDTHS = {"small": 8, "large": 12}  # of a shape, which is as high as it is wide
STEP = 4  # pixels between the places where a shape may begin
COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 170, 70),
    "blue": (50, 80, 220),
    "yellow": (245, 215, 50),
    "purple": (150, 60, 190),
    "orange": (245, 130, 30),
}
SHAPES = ("circle", "square", "triangle", "diamond")


def positions(width: int) -> int:
    """How many places there are for a shape of this width, down or across."""
    return (SIZE - width) // STEP + 1


@cache
def mask(shape: str, width: int) -> Array:
    """[width, width] the pixels of a shape."""
    middle = (width - 1) / 2
    y, x = np.mgrid[:width, :width]
    across, down = x - middle, y - middle
    if shape == "circle":
        return np.asarray(across**2 + down**2 <= (width / 2) ** 2)
    if shape == "square":
        return np.ones((width, width), bool)
    if shape == "triangle":  # its tip is above
        return np.asarray(np.abs(across) <= (y + 1) / 2)
    return np.asarray(np.abs(across) + np.abs(down) <= width / 2)


@cache
def edge(shape: str, width: int) -> Array:
    """[width, width] the pixels of a shape with a neighbour outside it."""
    inside = np.pad(mask(shape, width), 1)
    whole = inside[:-2, 1:-1] & inside[2:, 1:-1] & inside[1:-1, :-2] & inside[1:-1, 2:]
    return np.asarray(mask(shape, width) & ~whole)


@cache
def padded_mask(shape: str, width: int) -> Array:
    """The same with the width of a large shape of nothing around it."""
    return np.pad(mask(shape, width), WIDTHS["large"])


def draw(scene: Scene) -> Array:
    """[SIZE, SIZE, 3] the pixels of a scene, uint8."""
    image = np.full((SIZE, SIZE, 3), BACKGROUND, np.uint8)
    for group in scene.back_to_front():
        thing = group.thing
        width, colour = WIDTHS[thing.size], np.array(COLOURS[thing.colour], np.uint8)
        for x, y in group.places:
            pixels = image[y : y + width, x : x + width]
            pixels[mask(thing.shape, width)] = colour
            pixels[edge(thing.shape, width)] = colour // 2
    return image
