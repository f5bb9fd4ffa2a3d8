"""The figures of a trained captioner, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.analysis.figures.image_attention import words_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dragoman.tasks.captioning.captioner import Captioner


def attention(captioner: Captioner, image: Any, resize: bool = False) -> Figure:
    """Where each word of a caption looked."""
    found = captioner.look(image, resize=resize)
    return words_figure(found.pixels, found.tokens, found.weights)
