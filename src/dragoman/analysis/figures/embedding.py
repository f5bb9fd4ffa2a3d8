"""Words as points of a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis.figures.canvas import in_lines, new_figure
from dragoman.analysis.figures.labels import place_labels
from dragoman.errors import NonFiniteError, ShapeError
from dragoman.graph import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "osD^vP*X"  # a shape beside each colour: not everyone sees the same colours


def principal_plane(vectors: Array) -> Array:
    """[n, d] -> [n, 2]: the two directions of largest variance (PCA)."""
    if vectors.ndim != 2 or min(vectors.shape) < 2:
        raise ShapeError(f"a plane needs at least two vectors of at least two columns, got shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise NonFiniteError("vectors with NaN or infinity have no principal plane; the network has diverged")
    centred = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    directions = directions[:2]
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1)[:, None], axis=1)
    plane: Array = centred @ (directions * np.where(largest < 0, -1, 1)).T  # LAPACK leaves the sign open
    return plane


def embedding_figure(
    vectors: Array, words: Sequence[str], title: str = "Embedding", groups: Sequence[str] | None = None
) -> Figure:
    """Words as points, near where their vectors are near (thesis, Figure 2). `groups` names the topic of each word."""
    for what, names in (("words", words), ("groups", words if groups is None else groups)):
        if len(vectors) != len(names):
            raise ShapeError(f"{len(vectors)} vectors for {len(names)} {what}")
    plane = principal_plane(vectors)
    width = 6.5 * max(1.0, len(words) / 40) ** 0.5
    across, along = np.ptp(plane, axis=0)
    figure = new_figure(width, width * min(1.0, max(0.6, along / across if across else 1.0)))
    axes = figure.subplots()
    topics = [""] * len(words) if groups is None else list(groups)
    for number, group in enumerate(dict.fromkeys(topics)):
        x, y = plane[[topic == group for topic in topics]].T
        axes.scatter(x, y, s=16, marker=MARKERS[number % len(MARKERS)], color=f"C{number % 10}", label=group)
    if groups is not None:
        legend = figure.legend(loc="outside right upper", frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)
    axes.margins(0.15)
    axes.set_aspect("equal", adjustable="datalim")  # a distance is a distance, along both directions
    first, second = np.square(plane).sum(axis=0) / (np.square(vectors - vectors.mean(axis=0)).sum() or 1)
    axes.set(xlabel=f"first principal direction ({first:.0%} of the variance)", ylabel=f"second ({second:.0%})")
    axes.set_title(in_lines(title, 0.9 * width), parse_math=False)
    place_labels(axes, plane, words)
    return figure
