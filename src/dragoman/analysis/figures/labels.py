"""Names beside points, none over another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dragoman.graph import Array

# All lengths are pixels.
MARK = 4.0  # half the side of a point's square; names keep off it
RINGS = np.arange(1.5 * MARK, 250.0, 8.0)
ANGLES = np.linspace(-np.pi, np.pi, 24, endpoint=False)
# How much farther away a place may be that avoids: a line over a line, over a name, a name over anything, outside.
TANGLE, CROSSING, OVERLAP, OUTSIDE = 40.0, 150.0, 1e4, 1e6
TEXT = {
    "textcoords": "offset points",
    "ha": "center",
    "va": "center",
    "fontsize": 9,
    "parse_math": False,
    "bbox": {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0},  # lines pass below names
}


def place_labels(axes: Any, points: Array, words: Sequence[str]) -> None:
    """Write each word near its point [n, 2], at the nearest free place; a line leads to one that is not beside it.

    Places are found in pixels, so the axes must not move afterwards: their layout is settled here and then frozen.
    """
    figure = axes.get_figure()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    axes.autoscale(False)
    frame = np.array(axes.get_window_extent().extents)
    centres = axes.transData.transform(points)
    boxes, leads = np.concatenate((centres - MARK, centres + MARK), axis=1), np.zeros((0, 4))
    for row in _loneliest_first(centres):
        centre = centres[row]
        text = axes.annotate(words[row], points[row], (0, 0), **TEXT)
        half = np.array(text.get_window_extent().size) / 2 + 1
        place = _free_place(centre, half, _outwards(centre, centres), boxes, leads, len(points), frame)
        text.xyann = (place - centre) * 72 / figure.dpi
        edge = np.clip(centre, place - half, place + half)
        if np.linalg.norm(edge - centre) > 2 * MARK:
            x, y = axes.transData.inverted().transform(np.stack((centre, edge))).T
            axes.plot(x, y, color="grey", linewidth=0.6, zorder=1)
            leads = np.vstack((leads, np.concatenate((centre, edge))))
        boxes = np.vstack((boxes, np.concatenate((place - half, place + half))))


def _loneliest_first(centres: Array) -> Array:
    """Around a cluster names stay beside their points; those within it then find a way out between them."""
    distances = np.square(centres[:, None] - centres[None]).sum(axis=2)
    order: Array = np.argsort((1 / (distances + 100)).sum(axis=1), kind="stable")
    return order


def _outwards(centre: Array, centres: Array) -> float:
    """The angle that leads away from the other points, the near ones above all."""
    away = centre - centres
    x, y = (away / (np.square(away).sum(axis=1, keepdims=True) + 1)).sum(axis=0)
    return float(np.arctan2(y, x))


def _free_place(
    centre: Array, half: Array, outwards: float, boxes: Array, leads: Array, marks: int, frame: Array
) -> Array:
    """The centre of the best place for a name of half sides `half`: near, outwards, over nothing and across nothing.

    The first `marks` boxes are points; lines may cross those, names may not cover them.
    """
    directions = np.stack((np.cos(ANGLES), np.sin(ANGLES)), axis=1)
    places = (centre + directions * (half + RINGS[:, None, None])).reshape(-1, 2)
    low, high = places - half, places + half
    edges = np.clip(centre, low, high)
    own = np.concatenate((np.broadcast_to(centre, edges.shape), edges), axis=1)
    covered = (low[:, None] < boxes[:, 2:]).all(axis=2) & (high[:, None] > boxes[:, :2]).all(axis=2)
    crossed = _crosses(own[:, None], boxes[marks:]).sum(axis=1)
    crossed += _crosses(leads, np.concatenate((low, high), axis=1)[:, None]).sum(axis=1)
    tangled = _tangled(own[:, None], leads).sum(axis=1)
    outside = ((low < frame[:2]) | (high > frame[2:])).any(axis=1)
    turned = np.abs((ANGLES - outwards + np.pi) % (2 * np.pi) - np.pi)
    distance = np.add.outer(RINGS, 6 * turned).ravel()
    cost = distance + TANGLE * tangled + CROSSING * crossed + OVERLAP * covered.sum(axis=1) + OUTSIDE * outside
    best: Array = places[np.argmin(cost)]
    return best


def _crosses(lines: Array, boxes: Array) -> Array:
    """Whether lines [..., 4] from (x, y) to (x, y) meet boxes [..., 4], of which the shapes broadcast."""
    start, step = lines[..., :2], lines[..., 2:] - lines[..., :2]
    step = np.where(np.abs(step) < 1e-9, 1e-9, step)
    one, other = (boxes[..., :2] - start) / step, (boxes[..., 2:] - start) / step
    enters, leaves = np.minimum(one, other).max(axis=-1), np.maximum(one, other).min(axis=-1)
    met: Array = (enters < leaves) & (leaves > 0) & (enters < 1)
    return met


def _tangled(one: Array, other: Array) -> Array:
    """Whether lines [..., 4] cross each other: each has the ends of the other on both its sides."""

    def apart(a: Array, b: Array) -> Array:
        along, begin, end = a[..., 2:] - a[..., :2], b[..., :2] - a[..., :2], b[..., 2:] - a[..., :2]
        sides: Array = _cross(along, begin) * _cross(along, end)
        return sides < 0

    return apart(one, other) & apart(other, one)


def _cross(a: Array, b: Array) -> Array:
    product: Array = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product
