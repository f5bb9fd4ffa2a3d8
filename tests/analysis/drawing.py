"""What can be said about every drawn diagram: nothing is cut off, and no text runs into anything."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.text import Text

from dragoman.graph import Array

TOLERANCE = 1.0  # pixels


def shapes(figure: Any, kind: str = "") -> dict[str, Any]:
    """The patches of boxes, circles and frames by their names ("box: encoder")."""
    found = {patch.get_gid(): patch for patch in figure.axes[0].patches if patch.get_gid()}
    return {name: patch for name, patch in found.items() if not kind or name.startswith(f"{kind}: ")}


def texts(figure: Any) -> list[tuple[str, Array]]:
    """Every text with the pixels it covers: left, bottom, right, top."""
    return [(text.get_text(), Text.get_window_extent(text).extents) for text in figure.axes[0].texts if text.get_text()]


def assert_readable(figure: Any) -> None:
    figure.draw_without_rendering()
    written = texts(figure)
    covered = np.array([extents for _, extents in written])
    low, high = covered[:, :2] + TOLERANCE, covered[:, 2:] - TOLERANCE
    assert (low >= 0).all(), "cut off at the left or below"
    assert (high <= figure.bbox.extents[2:]).all(), "cut off at the right or above"
    meets = (low[:, None] < high[None]).all(axis=2) & (high[:, None] > low[None]).all(axis=2)
    for i, j in zip(*np.nonzero(np.triu(meets, 1)), strict=True):
        raise AssertionError(f"{written[i][0]!r} overlaps {written[j][0]!r}")
    for name, patch in shapes(figure).items():
        if name.startswith(("box: ", "circle: ", "frame: ")) and name != "circle: dot":
            box = patch.get_window_extent().extents
            for (text, _), a, b in zip(written, low, high, strict=True):
                inside = (a >= box[:2]).all() and (b <= box[2:]).all()
                outside = (b <= box[:2]).any() or (a >= box[2:]).any()
                assert inside or outside, f"{text!r} runs into {name}"
