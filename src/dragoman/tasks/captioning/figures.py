"""The figures of a trained captioner, by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import ConfigurationError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dragoman.graph import Array
    from dragoman.tasks.captioning.captioner import Captioner


def attention(
    captioner: Captioner, image: str | Path | Array | None, head: int | None = None, resize: bool = False
) -> Figure:
    """Where each word of a caption looked: the last decoder, the mean of its heads, or one head from 1."""
    from dragoman.analysis.figures.image_attention import words_figure

    if image is None:
        raise ConfigurationError("attention is that of an image: --image photo.png")
    found = captioner.look(image, head=head, resize=resize)
    return words_figure(found.pixels, found.tokens, found.weights)


FIGURES = {"attention": attention}
