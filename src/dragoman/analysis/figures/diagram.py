"""The diagram engine: boxes in the cells of a grid, arrows between them, frames around them.

A diagram is described by what stands in which column and row; texts decide how wide columns are, and arrows find their
way from side to side. Columns count to the right and rows up. Quarters are the edges of columns and rows, halves the
middles of the gaps between: column 0.25 is where column 0 ends, and row 1.5 lies between the rows 1 and 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dragoman.analysis.figures.picture import (
    COPY,
    INK,
    Line,
    Outline,
    Picture,
    Point,
    Rectangle,
    Shape,
    Words,
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
        return _Layout(self).picture()

    def figure(self, title: str = "") -> Figure:
        return render(self.picture(), title)


class _Layout:
    """Where everything is, in inches."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        sizes = {name: node.size() for name, node in diagram.nodes.items()}
        wide = _sides([(node.cell[0], sizes[name][0]) for name, node in diagram.nodes.items() if node.until is None])
        reached = [column for node in diagram.nodes.values() for column in (node.cell[0], node.until or node.cell[0])]
        usual = sum(wide.values()) / max(len(wide), 1)  # of columns that have nothing but places between them
        wide = dict.fromkeys(range(math.floor(min(reached)), math.ceil(max(reached)) + 1), usual) | wide
        self.columns = _Axis(wide, diagram.gaps[0])
        high = _sides([(node.cell[1], sizes[name][1]) for name, node in diagram.nodes.items()])
        self.rows = _Axis(high, diagram.gaps[1])
        self.places = {name: self._place(node, *sizes[name]) for name, node in diagram.nodes.items()}

    def _place(self, node: Node, width: float, height: float) -> Rectangle:
        x, y = self.columns.at(node.cell[0]), self.rows.at(node.cell[1])
        if node.until is not None:
            left, right = self.columns.at(node.cell[0] - 0.25), self.columns.at(node.until + 0.25)
            x, width = (left + right) / 2, width if node.loose else max(width, right - left)
        elif self.diagram.equal and node.outline == "box":
            width = max([width, *self._boxes_of(node.cell[0])])
        return Rectangle(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def _boxes_of(self, column: float) -> list[float]:
        nodes = self.diagram.nodes.values()
        boxes = [node for node in nodes if node.outline == "box" and node.until is None]
        return [node.size()[0] for node in boxes if node.cell[0] == column]

    def picture(self) -> Picture:
        picture = Picture()
        for group in self.diagram.groups:
            self._surround(picture, group)
        for name, node in self.diagram.nodes.items():
            self._fill(picture, name, node)
        for arrow in self.diagram.arrows:
            self._lead(picture, arrow)
        for (column, row), shift in self.diagram.dots:
            x, y = self.columns.at(column) + shift, self.rows.at(row)
            picture.shapes.append(Shape("dot", "circle", Rectangle(x - DOT, y - DOT, x + DOT, y + DOT), INK))
        return picture

    def _fill(self, picture: Picture, name: str, node: Node) -> None:
        place, part = self.places[name], node.part
        x, y = _middle(place)
        if node.outline is not None:
            picture.shapes.append(Shape(name, node.outline, place, COLOURS[part.kind], node.copies))
        lower = text_size(part.detail, DETAIL)[1] if part.detail else 0.0
        picture.words.append(Words((x, y + lower / 2), part.name, NAME))
        if part.detail:
            upper = text_size(part.name, NAME)[1]
            picture.words.append(Words((x, y - upper / 2), part.detail, DETAIL, "0.25"))

    def _surround(self, picture: Picture, group: Group) -> None:
        places = [self._reach(name) for name in group.names]
        box = places[0]
        for place in places[1:]:
            box = box.around(place)
        if group.side is None:
            head = 0.26 if group.text else 0.1
            frame = Rectangle(box.left - 0.12, box.bottom - 0.1, box.right + 0.12, box.top + head)
            picture.shapes.append(Shape(group.text or "group", "frame", frame, group.colour))
            picture.words.append(Words((frame.left + 0.08, frame.top - 0.13), group.text, DETAIL, "0.25", "left"))
            return
        away = DIRECTIONS[group.side][0]
        x = (box.right if away > 0 else box.left) + away * 0.35
        low, high, tick = box.bottom - 0.22, box.top + 0.04, x - away * 0.08
        points = ((tick, low), (x, low), (x, high), (tick, high))
        picture.lines.append(Line(f"bracket {group.text}", points, head=False, colour="black", width=1.4))
        beside = (x + away * 0.1, (low + high) / 2)
        picture.words.append(Words(beside, group.text, 11, align="left" if away > 0 else "right"))

    def _reach(self, end: str | Point) -> Rectangle:
        if isinstance(end, str):
            return self.places[end]
        x, y = self._point(end)
        return Rectangle(x, y, x, y)

    def _lead(self, picture: Picture, arrow: Arrow) -> None:
        points = self._route(arrow)
        name = f"{_named(arrow.start)} > {_named(arrow.end)}"
        picture.lines.append(Line(name, tuple(points), arrow.head, arrow.dashed, arrow.colour, arrow.width))
        if arrow.label:
            first, second = max(itertools.pairwise(points), key=lambda ends: math.dist(*ends))
            middle = ((first[0] + second[0]) / 2, (first[1] + second[1]) / 2)
            picture.words.append(Words(middle, arrow.label, DETAIL, "0.25", covering=True))

    def _route(self, arrow: Arrow) -> list[Point]:
        """Its points. Between given sides the way turns at right angles; else it is straight."""
        via = [(self.columns.at(x), self.rows.at(y)) for x, y in arrow.via]
        start, end = self._point(arrow.start), self._point(arrow.end)
        first = self._edge(arrow.start, arrow.leave, via[0] if via else end, arrow.at[0])
        last = self._edge(arrow.end, arrow.enter, via[-1] if via else start, arrow.at[1])
        if not via:
            return [first, *_corners(first, arrow.leave, last, arrow.enter), last]
        via[0] = _aligned(via[0], first, arrow.leave)
        via[-1] = _aligned(via[-1], last, arrow.enter)
        return [first, *via, last]

    def _point(self, end: str | Point) -> Point:
        return _middle(self.places[end]) if isinstance(end, str) else (self.columns.at(end[0]), self.rows.at(end[1]))

    def _edge(self, end: str | Point, side: Side | None, towards: Point, at: float) -> Point:
        """Where an arrow touches its end: at a side, or where the line from the middle crosses the outline."""
        x, y = self._point(end)
        if not isinstance(end, str):
            return x + at, y
        place, outline = self.places[end], self.diagram.nodes[end].outline
        half = (place.right - place.left) / 2, (place.top - place.bottom) / 2
        behind = COPY * (self.diagram.nodes[end].copies - 1)
        if side is not None:
            dx, dy = DIRECTIONS[side]
            if self.diagram.nodes[end].until is not None and dy:  # straight up or down, where it can
                x = min(max(towards[0], place.left + PAD), place.right - PAD)
            if side in ("north", "east"):  # behind a box stand its copies
                half = half[0] + behind, half[1] + behind
            return x + dx * half[0] + abs(dy) * at, y + dy * half[1] + abs(dx) * at
        dx, dy = towards[0] - x, towards[1] - y
        if outline == "circle":
            share = half[0] / max(math.hypot(dx, dy), 1e-9)
        else:
            share = min(half[0] / max(abs(dx), 1e-9), half[1] / max(abs(dy), 1e-9))
        return x + share * dx, y + share * dy


@dataclass(frozen=True)
class _Axis:
    """Columns (or rows) of given sizes and the gaps between them: where their middles, edges and gaps are."""

    sizes: dict[int, float]
    gap: float

    def at(self, place: float) -> float:
        number = math.floor(place + 0.5)
        away, side = abs(place - number), 1 if place >= number else -1
        half = self.sizes.get(number, 0.0) / 2
        inside, outside = min(away, 0.25) / 0.25, max(away - 0.25, 0.0) / 0.25
        return self._middle(number) + side * (inside * half + outside * self.gap / 2)

    def _start(self, number: int) -> float:
        """Where a column begins."""
        before = sum(self.sizes.get(i, 0.0) + self.gap for i in range(number))
        after = sum(self.sizes.get(i, 0.0) + self.gap for i in range(number, 0))
        return before - after

    def _middle(self, number: int) -> float:
        return self._start(number) + self.sizes.get(number, 0.0) / 2


def _sides(sizes: Sequence[tuple[float, float]]) -> dict[int, float]:
    """The size of each whole column (or row): that of its largest node."""
    found: dict[int, float] = {}
    for place, size in sizes:
        if place == int(place):
            found[int(place)] = max(found.get(int(place), 0.0), size)
    return found


def _corners(first: Point, leave: Side | None, last: Point, enter: Side | None) -> list[Point]:
    """Right angles on the way between two sides."""
    if leave is None or enter is None or abs(first[0] - last[0]) < 1e-6 or abs(first[1] - last[1]) < 1e-6:
        return []
    upright = [side in ("north", "south") for side in (leave, enter)]
    if upright == [True, False]:
        return [(first[0], last[1])]
    if upright == [False, True]:
        return [(last[0], first[1])]
    if upright[0]:
        middle = (first[1] + last[1]) / 2
        return [(first[0], middle), (last[0], middle)]
    middle = (first[0] + last[0]) / 2
    return [(middle, first[1]), (middle, last[1])]


def _aligned(point: Point, edge: Point, side: Side | None) -> Point:
    """The first place on a way, moved to where it leaves at a right angle."""
    if side is None:
        return point
    return (edge[0], point[1]) if side in ("north", "south") else (point[0], edge[1])


def _middle(place: Rectangle) -> Point:
    return (place.left + place.right) / 2, (place.bottom + place.top) / 2


def _named(end: str | Point) -> str:
    return end if isinstance(end, str) else f"{end[0]:g},{end[1]:g}"
