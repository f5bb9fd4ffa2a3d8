"""Where everything of a diagram is: the sizes of columns and rows, and the ways of arrows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.analysis.figures.diagram import (
    COLOURS,
    DETAIL,
    DIRECTIONS,
    DOT,
    NAME,
    PAD,
    Arrow,
    Diagram,
    Group,
    Node,
    Side,
)
from dragoman.analysis.figures.picture import COPY, INK, Line, Picture, Point, Rectangle, Shape, Words, text_size


class Layout:
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
