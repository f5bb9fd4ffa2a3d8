"""Words as points of a plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.analysis.figures.canvas import in_lines, new_figure
from dragoman.analysis.figures.labels import place_labels
from dragoman.analysis.tsne import tsne, usual_perplexity
from dragoman.errors import ConfigurationError, NonFiniteError, ShapeError
from dragoman.graph import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROJECTIONS = {"pca": "PCA", "t-sne": "t-SNE"}
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
    vectors: Array,
    words: Sequence[str],
    title: str = "Embedding",
    groups: Sequence[str] | None = None,
    projection: str = "pca",
    perplexity: float | None = None,
) -> Figure:
    """Words as points, near where their vectors are near (thesis, Figure 2). `groups` names the topic of each word.

    projection  "pca": the two principal directions; "t-sne": neighbours stay neighbours, other distances mean nothing;
                "both" side by side
    perplexity  of t-SNE: about how many neighbours each word has; by default 30, or a third of few words
    """
    _check(vectors, words, groups)
    if projection == "both":
        return projections_figure(vectors, words, title, groups, perplexity)
    plane, names = _projected(vectors, projection, perplexity)
    width = 6.5 * max(1.0, len(words) / 40) ** 0.5
    across, along = np.ptp(plane, axis=0)
    figure = new_figure(width, width * min(1.0, max(0.6, along / across if across else 1.0)))
    axes = figure.subplots()
    _scatter(axes, plane, words, groups)
    if groups is not None:
        _legend(figure, axes)
    axes.set(xlabel=names[0], ylabel=names[1])
    axes.set_title(in_lines(title, 0.9 * width), parse_math=False)
    place_labels(axes, plane, words)
    return figure


def projections_figure(
    vectors: Array,
    words: Sequence[str],
    title: str = "Embedding",
    groups: Sequence[str] | None = None,
    perplexity: float | None = None,
) -> Figure:
    """PCA and t-SNE of the same words side by side (thesis, Figure 2)."""
    _check(vectors, words, groups)
    width = 5.2 * max(1.0, len(words) / 40) ** 0.5
    figure = new_figure(2 * width + (1.2 if groups else 0), width)
    drawn = []
    for axes, (projection, name) in zip(figure.subplots(1, 2), PROJECTIONS.items(), strict=True):
        plane, names = _projected(vectors, projection, perplexity)
        _scatter(axes, plane, words, groups)
        axes.set(xlabel=names[0], ylabel=names[1], title=name)
        drawn.append((axes, plane))
    if groups is not None:
        _legend(figure, figure.axes[0])
    figure.suptitle(in_lines(title, 1.8 * width), parse_math=False)
    for axes, plane in drawn:
        place_labels(axes, plane, words)
    return figure


def _check(vectors: Array, words: Sequence[str], groups: Sequence[str] | None) -> None:
    for what, names in (("words", words), ("groups", words if groups is None else groups)):
        if len(vectors) != len(names):
            raise ShapeError(f"{len(vectors)} vectors for {len(names)} {what}")


def _projected(vectors: Array, projection: str, perplexity: float | None) -> tuple[Array, tuple[str, str]]:
    """Points of the plane, and what its axes are called."""
    if projection not in PROJECTIONS:
        raise ConfigurationError(f"unknown projection '{projection}'; available: {', '.join(PROJECTIONS)}, both")
    plane = principal_plane(vectors)
    if projection == "t-sne":
        wanted = usual_perplexity(len(vectors)) if perplexity is None else perplexity
        return tsne(vectors, plane, wanted), (f"t-SNE, perplexity {wanted:.3g}; only neighbourhoods count", "")
    first, second = np.square(plane).sum(axis=0) / (np.square(vectors - vectors.mean(axis=0)).sum() or 1)
    return plane, (f"first principal direction ({first:.0%} of the variance)", f"second ({second:.0%})")


def _scatter(axes: Any, plane: Array, words: Sequence[str], groups: Sequence[str] | None) -> None:
    topics = [""] * len(words) if groups is None else list(groups)
    for number, group in enumerate(dict.fromkeys(topics)):
        x, y = plane[[topic == group for topic in topics]].T
        axes.scatter(x, y, s=16, marker=MARKERS[number % len(MARKERS)], color=f"C{number % 10}", label=group)
    axes.margins(0.15)
    axes.set_aspect("equal", adjustable="datalim")  # a distance is a distance, along both directions


def _legend(figure: Any, axes: Any) -> None:
    legend = figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
