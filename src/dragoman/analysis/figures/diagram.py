"""Boxes in two columns, joined by arrows that go up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dragoman.analysis.figures.canvas import new_figure

# All lengths are inches, and so are the coordinates of the axes.
WIDTH = 9.4
LEFT = (1.4, 5.2)  # of the boxes of either column
BOX = (2.8, 0.46)
PITCH = 0.74  # from one box to the next
FOOT = 0.75  # below the first box
COLOURS = {
    "embedding": "#fde3cb",
    "attention": "#f9d6d9",
    "normalization": "#fbf3c6",
    "addition": "#ededed",
    "perceptron": "#d6e6f8",
    "output": "#d9efd9",
}


@dataclass(frozen=True)
class Part:
    """What one box says. Its kind gives its colour."""

    kind: str
    name: str
    detail: str = ""


class Diagram:
    """Two columns of `rows` boxes, counted from the bottom; side 0 is on the left."""

    def __init__(self, rows: int, title: str) -> None:
        height = FOOT + rows * PITCH + 0.75
        self.figure = new_figure(WIDTH, height, layout=None)
        self.axes: Any = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, WIDTH), ylim=(0, height))
        self.axes.axis("off")
        self._say(WIDTH / 2, height - 0.25, title, size=12)

    def box(self, side: int, row: int, part: Part) -> None:
        """A box, and the arrow that reaches it from below."""
        from matplotlib.patches import FancyBboxPatch

        x, y = LEFT[side], _bottom(row)
        shape = "round,pad=0,rounding_size=0.06"
        colour = COLOURS[part.kind]
        self.axes.add_patch(FancyBboxPatch((x, y), *BOX, boxstyle=shape, facecolor=colour, edgecolor="0.35", zorder=2))
        middle, centre = y + BOX[1] / 2, _centre(side)
        self._say(centre, middle + (0.09 if part.detail else 0), part.name, size=9.5)
        self._say(centre, middle - 0.1, part.detail, size=8, colour="0.25")
        self._arrow([(centre, y - PITCH + BOX[1]), (centre, y)])

    def skip(self, side: int, first: int, last: int) -> None:
        """The residual connection: from below one box around to another, on the outer side."""
        away = -1 if side == 0 else 1
        edge = _centre(side) + away * BOX[0] / 2
        below, beside = _bottom(first) - (PITCH - BOX[1]) * 0.6, _bottom(last) + BOX[1] / 2
        out = edge + away * 0.2
        self._arrow([(_centre(side), below), (out, below), (out, beside), (edge, beside)])

    def bracket(self, side: int, first: int, last: int, text: str) -> None:
        """What is repeated, and how often."""
        away = -1 if side == 0 else 1
        x = _centre(side) + away * (BOX[0] / 2 + 0.35)
        low, high = _bottom(first) - 0.22, _bottom(last) + BOX[1] + 0.04
        tick = x - away * 0.08
        self.axes.plot([tick, x, x, tick], [low, low, high, high], color="black", linewidth=1.4)
        self._say(x + away * 0.1, (low + high) / 2, text, size=11, align="right" if side == 0 else "left")

    def across(self, top: int, row: int, text: str) -> None:
        """From above the left column's last box into the right column's box at `row`."""
        start, over = _centre(0), _bottom(top) - PITCH + BOX[1]
        gutter = (LEFT[0] + BOX[0] + LEFT[1]) / 2
        up, into = over + 0.28, _bottom(row) + BOX[1] / 2
        self._arrow([(start, over), (start, up), (gutter, up), (gutter, into), (LEFT[1], into)])
        self._say((start + gutter) / 2, up + 0.12, text, size=8, colour="0.25")

    def name_ends(self, feet: tuple[str, str], top: int, head: str) -> None:
        """What goes in at the foot of either column, and what comes out of the right one."""
        for side, foot in enumerate(feet):
            self._say(_centre(side), FOOT - PITCH + BOX[1] - 0.12, foot, size=9)
        end = _bottom(top)
        self._arrow([(_centre(1), end - PITCH + BOX[1]), (_centre(1), end)])
        self._say(_centre(1), end + 0.1, head, size=9)

    def _arrow(self, points: list[tuple[float, float]]) -> None:
        """Along a line of right angles, with a head at its end."""
        x, y = zip(*points, strict=True)
        self.axes.plot(x[:-1], y[:-1], color="0.3", linewidth=1, zorder=1)
        style = {"arrowstyle": "-|>", "color": "0.3", "linewidth": 1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 9}
        self.axes.annotate("", points[-1], points[-2], arrowprops=style, zorder=1)

    def _say(self, x: float, y: float, text: str, size: float, colour: str = "black", align: str = "center") -> None:
        if text:
            self.axes.text(x, y, text, fontsize=size, color=colour, ha=align, va="center", zorder=3)


def _bottom(row: int) -> float:
    return FOOT + row * PITCH


def _centre(side: int) -> float:
    return LEFT[side] + BOX[0] / 2
