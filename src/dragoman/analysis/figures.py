"""Figures of what a network does, drawn with matplotlib (the extra `plot`). Each returns a Figure to show or save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.errors import ConfigurationError, ShapeError
from dragoman.graph import Array, value_of
from dragoman.operations import activate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    """A figure that belongs to no window and no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigurationError("figures need matplotlib; install it with: pip install 'dragoman[plot]'") from None
    figure = Figure(figsize=(width, height), layout="constrained", dpi=120)
    return figure, figure.subplots()


def activations_figure(names: Sequence[str] = ("identity", "relu"), reach: float = 5.0) -> Figure:
    """The graphs of activations on [-reach, reach] (thesis, Figure 4)."""
    figure, axes = _figure(5.5, 4)
    x = np.linspace(-reach, reach, 401)
    for name in names:
        axes.plot(x, value_of(activate(x, activation=name)), label=name)
    axes.axhline(0, color="grey", linewidth=0.6)
    axes.axvline(0, color="grey", linewidth=0.6)
    axes.set(xlabel="x", ylabel="a(x)", title="Activations")
    axes.legend(frameon=False)
    return figure


def attention_figure(weights: Array, queries: Sequence[str], keys: Sequence[str], title: str = "Attention") -> Figure:
    """Which keys (columns) each query (row) looks at: black is 0, white is 1 (thesis, Figure 3)."""
    if weights.shape != (len(queries), len(keys)):
        raise ShapeError(f"weights of shape {weights.shape} for {len(queries)} queries and {len(keys)} keys")
    figure, axes = _figure(2 + 0.45 * len(keys), 1.6 + 0.38 * len(queries))
    image = axes.imshow(weights, cmap="gray", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(keys)), keys, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(queries)), queries)
    axes.set_title(title)
    figure.colorbar(image, ax=axes, label="weight", fraction=0.06)
    return figure


def principal_plane(vectors: Array) -> Array:
    """[n, d] -> [n, 2]: the two directions of largest variance (PCA)."""
    if vectors.ndim != 2 or min(vectors.shape) < 2:
        raise ShapeError(f"a plane needs at least two vectors of at least two columns, got shape {vectors.shape}")
    centred = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    plane: Array = centred @ directions[:2].T
    return plane


def embedding_figure(vectors: Array, words: Sequence[str], title: str = "Embedding") -> Figure:
    """Words as points, near where their vectors are near (thesis, Figure 2)."""
    if len(vectors) != len(words):
        raise ShapeError(f"{len(vectors)} vectors for {len(words)} words")
    plane = principal_plane(vectors)
    figure, axes = _figure(6.5, 5)
    axes.scatter(plane[:, 0], plane[:, 1], s=14)
    for word, (x, y) in zip(words, plane, strict=True):
        axes.annotate(word, (x, y), textcoords="offset points", xytext=(4, 3), fontsize=9)
    axes.margins(0.15)
    axes.set(xlabel="first principal direction", ylabel="second", title=title)
    return figure
