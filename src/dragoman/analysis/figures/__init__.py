"""Figures of what a network is and does, drawn with matplotlib (the extra `plot`). Each returns a Figure."""

from dragoman.analysis.figures.activations import activations_figure
from dragoman.analysis.figures.architecture import architecture_figure
from dragoman.analysis.figures.attention import attention_figure, heads_figure
from dragoman.analysis.figures.canvas import as_svg, save_figure
from dragoman.analysis.figures.confusion import confusion_figure
from dragoman.analysis.figures.embedding import embedding_figure, principal_plane, projections_figure
from dragoman.analysis.figures.gradients import gradients_figure
from dragoman.analysis.figures.history import histories_figure, history_figure
from dragoman.analysis.figures.image_attention import words_figure
from dragoman.analysis.figures.positions import distances_figure, positions_figure
from dragoman.analysis.figures.recurrent import recurrent_figure
from dragoman.analysis.figures.stack import network_figure

__all__ = [
    "activations_figure",
    "architecture_figure",
    "as_svg",
    "attention_figure",
    "confusion_figure",
    "distances_figure",
    "embedding_figure",
    "gradients_figure",
    "heads_figure",
    "histories_figure",
    "history_figure",
    "network_figure",
    "positions_figure",
    "principal_plane",
    "projections_figure",
    "recurrent_figure",
    "save_figure",
    "words_figure",
]
