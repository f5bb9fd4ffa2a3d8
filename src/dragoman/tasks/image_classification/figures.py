"""Figures of an image classifier: attention over an image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.tasks.image_classification.classifier import ImageClassifier

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def attention_maps(model: ImageClassifier, image: str | Path | Array, resize: bool = False) -> dict[str, Array]:
    """[rows, columns] for each of: all layers together, and every head of the last layer.

    A head's map is where the class token looks (without a class token: the mean of all patches). All layers together
    is their rollout: the product over layers of (A + I) / 2, A the mean of the heads.
    """
    weights = model.attention(image, resize)
    c = model.network.configuration
    token = c.pooling == "class_token"
    patches = weights.shape[-1] - token

    def over_image(rows: Array) -> Array:
        """The rows of [T, T] that are read, over the patches."""
        looked = rows[-1] if token else rows.mean(axis=0)
        found: Array = looked[:patches].reshape(c.grid)
        return found

    rollout = np.eye(weights.shape[-1])
    for layer in weights:
        rollout = (layer.mean(axis=0) + np.eye(len(rollout))) / 2 @ rollout
    heads = {f"head {i + 1}": over_image(head) for i, head in enumerate(weights[-1])}
    return {"all layers": over_image(rollout), **heads}


def attention(model: ImageClassifier, image: Path | None, head: int | None = None, resize: bool = False) -> Figure:
    """What the model looks at in an image: all layers together, and the heads of the last one, or one head from 1."""
    from dragoman.analysis.figures.images import image_attention_figure

    if image is None:
        raise ConfigurationError("attention is that of an image: --image digit.png")
    maps = attention_maps(model, image, resize)
    if head is not None:
        name = f"head {head}"
        if name not in maps:
            raise ConfigurationError(f"--head {head}: the last layer has {len(maps) - 1} heads")
        maps = {name: maps[name]}
    predicted = model.predict([image], resize)[0]
    title = f"{image.name}: {predicted.label} ({predicted.probability:.0%})"
    return image_attention_figure(model.images.read(image, resize).pixels, maps, title)


FIGURES = {"attention": attention}
