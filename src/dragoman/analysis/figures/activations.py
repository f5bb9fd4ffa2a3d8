"""The graphs of activations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis.figures.canvas import new_figure
from dragoman.graph import value_of
from dragoman.operations import activate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = ("-", "--", "-.", ":")  # where two graphs coincide, both are seen


def activations_figure(names: Sequence[str] = ("identity", "relu"), reach: float = 5.0) -> Figure:
    """The graphs of activations on [-reach, reach] (thesis, Figure 4)."""
    figure = new_figure(5.5, 4)
    axes = figure.subplots()
    x = np.linspace(-reach, reach, 401)
    for name, style in zip(names, itertools.cycle(STYLES), strict=False):
        axes.plot(x, value_of(activate(x, activation=name)), style, linewidth=2, label=name)
    axes.axhline(0, color="grey", linewidth=0.6)
    axes.axvline(0, color="grey", linewidth=0.6)
    axes.set(xlabel="x", ylabel="a(x)", title="Activations")
    axes.legend(frameon=False)
    return figure
