"""Gradients that vanish or explode on their way back through time, and what helps (book 7.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dragoman.analysis.figures.canvas import in_lines, new_figure
from dragoman.graph import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 11.0
COLOURS = {"rnn": "tab:blue", "lstm": "tab:orange", "gru": "tab:green"}
DASHES = ("-", "--", ":")  # lines of one cell
TRAINED = ("tab:red", "tab:purple", "tab:cyan", "black")  # none of the cells' colours
LEAST = 1e-12  # norms below are as good as 0, and would leave the others no room


def gradients_figure(
    untrained: Mapping[str, Array],
    trained: Mapping[str, Array],
    training: Mapping[str, Sequence[float]],
    chance: float,
    titles: tuple[str, str],
) -> Figure:
    """Left: the norm of the adjoints, steps back from the loss. Right: the error of trainings whose gradients explode.

    untrained, trained  [T + 1] norms by a name that begins with the cell's; those of a trained cell are drawn thick
    training            the error at every step, by what was done about exploding
    chance              the error of one who guesses
    """
    figure = new_figure(WIDTH, 4.8)
    back, errors = figure.subplots(1, 2)
    _draw_adjoints(back, untrained, trained)
    _draw_errors(errors, training, chance)
    for axes, title in zip((back, errors), titles, strict=True):
        axes.set_title(in_lines(title, WIDTH * 0.44), fontsize=11)
        axes.grid(alpha=0.25)
    return figure


def _draw_adjoints(axes: Axes, untrained: Mapping[str, Array], trained: Mapping[str, Array]) -> None:
    drawn: dict[str, int] = {}
    for name, norms in untrained.items():
        cell = name.partition(",")[0].lower()
        style = DASHES[drawn.get(cell, 0) % len(DASHES)]
        drawn[cell] = drawn.get(cell, 0) + 1
        _line(axes, norms, name, COLOURS[cell], 1.5, style)
    for name, norms in trained.items():
        _line(axes, norms, name, "black", 3.5, "-")
    axes.axhline(1, color="grey", linewidth=0.6)
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, LEAST), high)
    axes.set(xlabel="steps back from the loss, T - t", ylabel=r"norm of the adjoint $\zeta^{\langle t \rangle}$")
    axes.legend(frameon=False, fontsize=9)


def _line(axes: Axes, norms: Array, name: str, colour: str, width: float, style: str) -> None:
    axes.plot(np.arange(len(norms)), norms[::-1], style, color=colour, linewidth=width, label=name)


def _draw_errors(axes: Axes, training: Mapping[str, Sequence[float]], chance: float) -> None:
    for i, (name, errors) in enumerate(training.items()):
        style = "-" if i < len(TRAINED) - 1 else ":"
        colour = TRAINED[i % len(TRAINED)]
        axes.plot(np.arange(1, len(errors) + 1), errors, style, color=colour, linewidth=1.8, label=name)
    axes.axhline(chance, color="grey", linewidth=0.9, linestyle="--", label="guessing")
    axes.set_ylim(bottom=0)
    axes.set(xlabel="step of gradient descent", ylabel="training error")
    axes.legend(frameon=False, fontsize=9)
