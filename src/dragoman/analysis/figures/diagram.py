"""The diagram engine: boxes in the cells of a grid, arrows between them, frames around them.

A diagram is described by what stands in which column and row; texts decide how wide columns are, and arrows find their
way from side to side. Columns count to the right and rows up. Quarters are the edges of columns and rows, halves the
middles of the gaps between: column 0.25 is where column 0 ends, and row 1.5 lies between the rows 1 and 2.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dragoman.analysis.figures.picture import (
    INK,
    Outline,
    Picture,
    Point,
    render,
    text_size,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Side = Literal["north", "east", "south", "west"]
NAME, DETAIL, PAD = 9.5, 8.0, 0.12  # sizes of text in points; inches around it
DOT = 0.025  # inches
LEAST = 0.44  # inches, of a box
COLOURS = {
    "embedding": "#fde3cb",
    "attention": "#f9d6d9",
    "normalization": "#fbf3c6",
    "addition": "#ededed",
    "perceptron": "#d6e6f8",
    "output": "#d9efd9",
    "gate": "#fbe89a",
    "state": "#dddddd",
    "context": "#e6dcf3",
    "right": "#d9efd9",
    "wrong": "#f4b9b9",
    "plain": "white",
}
DIRECTIONS: dict[Side, Point] = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}


@dataclass(frozen=True)
class Part:
    """What one box says. Its kind gives its colour."""

    kind: str
    name: str
    detail: str = ""


@dataclass(frozen=True)
class Node:
    """A part in a cell of the grid; without an outline it is a text alone."""

    part: Part
    cell: Point
    outline: Outline | None
    copies: int = 1
    until: float | None = None  # from the left edge of its column to the right edge of this one
    loose: bool = False  # its text does not widen the column

    def size(self) -> tuple[float, float]:
        """Width and height in inches that its text asks for."""
        wide, high = text_size(self.part.name, NAME)
        if self.part.detail:
            more = text_size(self.part.detail, DETAIL)
            wide, high = max(wide, more[0]), high + more[1]
        if self.outline is None:
            return wide, high
        if self.outline == "circle":
            return (max(0.34, wide + 0.12),) * 2
        return max(LEAST, wide + 2 * PAD), max(LEAST, high + PAD)


@dataclass(frozen=True)
class Arrow:
    """From a node or a place of the grid to another, through places of the grid.

    leave, enter  the sides of its ends; None: where the straight line crosses the outline
    at            how far from the middle of those sides, or to the right of a place, in inches
    """

    start: str | Point
    end: str | Point
    via: tuple[Point, ...] = ()
    leave: Side | None = None
    enter: Side | None = None
    at: tuple[float, float] = (0.0, 0.0)
    label: str = ""
    head: bool = True
    dashed: bool = False
    colour: str = INK
    width: float = 1.0


@dataclass(frozen=True)
class Group:
    """A frame around nodes, or a bracket at one side of them, with a text."""

    names: tuple[str | Point, ...]
    text: str
    side: Side | None = None
    colour: str = "none"


class Diagram:
    """Nodes by their names, the arrows between them, and groups of them. Gaps are inches between columns and rows."""

    def __init__(self, gaps: tuple[float, float] = (0.45, 0.3), equal: bool = True) -> None:
        self.gaps = gaps
        self.equal = equal  # all boxes of a column are as wide as the widest
        self.nodes: dict[str, Node] = {}
        self.arrows: list[Arrow] = []
        self.groups: list[Group] = []
        self.dots: list[tuple[Point, float]] = []

    def box(self, name: str, column: float, row: float, part: Part, copies: int = 1, until: float | None = None) -> str:
        self.nodes[name] = Node(part, (column, row), "box", copies, until)
        return name

    def circle(self, name: str, column: float, row: float, text: str, kind: str = "plain") -> str:
        self.nodes[name] = Node(Part(kind, text), (column, row), "circle")
        return name

    def text(self, name: str, column: float, row: float, text: str, detail: str = "") -> str:
        self.nodes[name] = Node(Part("plain", text, detail), (column, row), None)
        return name

    def note(self, name: str, column: float, row: float, text: str, until: float | None = None) -> str:
        """A text over several columns, which are no wider for it."""
        last = column if until is None else until
        self.nodes[name] = Node(Part("plain", text), (column, row), None, until=last, loose=True)
        return name

    def arrow(
        self,
        start: str | Point,
        end: str | Point,
        *via: Point,
        sides: tuple[Side | None, Side | None] = (None, None),
        at: tuple[float, float] = (0.0, 0.0),
        label: str = "",
        dashed: bool = False,
        colour: str = INK,
        width: float = 1.0,
        head: bool = True,
    ) -> None:
        self.arrows.append(Arrow(start, end, via, *sides, at, label, head, dashed, colour, width))

    def dot(self, column: float, row: float, shift: float = 0.0) -> None:
        """Where a line branches, `shift` inches to the right of the place."""
        self.dots.append(((column, row), shift))

    def chain(self, *names: str) -> None:
        """Arrows from each node to the next."""
        for start, end in itertools.pairwise(names):
            self.arrow(start, end)

    def frame(self, names: Iterable[str | Point], text: str = "", colour: str = "none") -> None:
        self.groups.append(Group(tuple(names), text, None, colour))

    def bracket(self, names: Iterable[str], text: str, side: Side) -> None:
        self.groups.append(Group(tuple(names), text, side))

    def picture(self) -> Picture:
        from dragoman.analysis.figures.layout import Layout

        return Layout(self).picture()

    def figure(self, title: str = "") -> Figure:
        return render(self.picture(), title)
