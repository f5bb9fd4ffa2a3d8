"""What a diagram is drawn of: shapes, lines and words at places in inches."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from dragoman.analysis.figures.canvas import new_figure, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[float, float]
Outline = Literal["box", "circle", "frame"]
LINE = 1.3  # inches from one line of text to the next, for each inch of its size
MARGIN, CAPTION, TITLE = 0.15, 0.42, 0.5
COPY = 0.06  # inches that a copy is shifted by
INK, QUIET = "0.2", "0.35"  # of arrows; of edges and small print


@dataclass(frozen=True)
class Rectangle:
    """A place on the paper, x to the right and y up."""

    left: float
    bottom: float
    right: float
    top: float

    def around(self, other: Rectangle) -> Rectangle:
        return Rectangle(
            min(self.left, other.left),
            min(self.bottom, other.bottom),
            max(self.right, other.right),
            max(self.top, other.top),
        )


@dataclass(frozen=True)
class Shape:
    """A box, a circle, or the frame of a group; copies of a box stand behind it, shifted."""

    name: str
    outline: Outline
    place: Rectangle
    colour: str
    copies: int = 1


@dataclass(frozen=True)
class Line:
    """An arrow along its points, which may be a plain line or dashed."""

    name: str
    points: tuple[Point, ...]
    head: bool = True
    dashed: bool = False
    colour: str = INK
    width: float = 1.0


@dataclass(frozen=True)
class Words:
    """A text at a point: `align` says which side of it the point is."""

    at: Point
    text: str
    size: float
    colour: str = "black"
    align: Literal["left", "center", "right"] = "center"
    covering: bool = False  # the line below it

    def place(self) -> Rectangle:
        width, height = text_size(self.text, self.size)
        left = self.at[0] - {"left": 0.0, "center": width / 2, "right": width}[self.align]
        return Rectangle(left, self.at[1] - height / 2, left + width, self.at[1] + height / 2)


@dataclass(frozen=True)
class Picture:
    """All that is drawn, in the order in which it is drawn."""

    shapes: list[Shape] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    words: list[Words] = field(default_factory=list)

    def places(self) -> Iterator[Rectangle]:
        for shape in self.shapes:
            behind = COPY * (shape.copies - 1)
            yield replace(shape.place, right=shape.place.right + behind, top=shape.place.top + behind)
        for line in self.lines:
            x, y = zip(*line.points, strict=True)
            yield Rectangle(min(x), min(y), max(x), max(y))
        yield from (words.place() for words in self.words)

    def bounds(self) -> Rectangle:
        return functools.reduce(Rectangle.around, self.places())

    def moved(self, right: float, up: float) -> Picture:
        def point(at: Point) -> Point:
            return at[0] + right, at[1] + up

        def place(r: Rectangle) -> Rectangle:
            return Rectangle(r.left + right, r.bottom + up, r.right + right, r.top + up)

        return Picture(
            [replace(shape, place=place(shape.place)) for shape in self.shapes],
            [replace(line, points=tuple(map(point, line.points))) for line in self.lines],
            [replace(words, at=point(words.at)) for words in self.words],
        )

    def add(self, other: Picture) -> None:
        self.shapes.extend(other.shapes)
        self.lines.extend(other.lines)
        self.words.extend(other.words)


@functools.lru_cache(maxsize=4096)
def text_size(text: str, size: float) -> tuple[float, float]:
    """Width and height of a text in inches, formulas between $ included."""
    require_matplotlib()
    from matplotlib.cbook import is_math_text
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font, widths = FontProperties(size=size), [0.0]
    for line in text.split("\n"):
        formula = is_math_text(line)
        shown = line if formula else line.replace(r"\$", "$")
        widths.append(text_to_path.get_text_width_height_descent(shown or " ", font, ismath=formula)[0])
    return max(widths) / 72, (1 + text.count("\n")) * LINE * size / 72


def plain(text: str) -> str:
    """A text in which a $ is a dollar."""
    return text.replace("$", r"\$")


def arranged(panels: Sequence[tuple[str, Picture]], across: int = 1, gap: float = 0.45) -> Picture:
    """Pictures as the panels of one figure, row by row, each over its caption."""
    sheet, top = Picture(), 0.0
    rows = [panels[i : i + across] for i in range(0, len(panels), across)]
    bounds = [[picture.bounds() for _, picture in row] for row in rows]
    widths = [
        max(max(b.right - b.left, text_size(row[i][0], 10)[0]) for b, row in _column(bounds, rows, i))
        for i in range(min(across, len(panels)))
    ]
    for row, boxes in zip(rows, bounds, strict=True):
        height, left = max(b.top - b.bottom for b in boxes), 0.0
        for i, ((caption, picture), box) in enumerate(zip(row, boxes, strict=True)):
            middle = left + widths[i] / 2
            foot = top - height + (height - (box.top - box.bottom)) / 2
            sheet.add(picture.moved(middle - (box.left + box.right) / 2, foot - box.bottom))
            if caption:
                sheet.words.append(Words((middle, top - height - CAPTION / 2 - 0.05), caption, 10))
            left += widths[i] + gap
        top -= height + gap + (CAPTION if any(caption for caption, _ in row) else 0)
    return sheet


def _column(bounds: Any, rows: Any, i: int) -> Iterable[Any]:
    return ((b[i], row) for b, row in zip(bounds, rows, strict=True) if i < len(b))


def render(picture: Picture, title: str = "") -> Figure:
    """A figure that is as large as the picture."""
    box, head = picture.bounds(), TITLE if title else 0.0
    wide = max(box.right - box.left, text_size(title, 12)[0])
    width, height = wide + 2 * MARGIN, box.top - box.bottom + 2 * MARGIN + head
    shown = picture.moved(MARGIN - box.left + (wide - box.right + box.left) / 2, MARGIN - box.bottom)
    figure = new_figure(width, height, layout=None)
    axes: Any = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    for shape in shown.shapes:
        _draw_shape(axes, shape)
    for line in shown.lines:
        _draw_line(axes, line)
    for words in shown.words:
        _write(axes, words)
    if title:
        axes.text(width / 2, height - MARGIN - 0.16, title, fontsize=12, ha="center", va="center").set_gid("title")
    return figure


def _draw_shape(axes: Any, shape: Shape) -> None:
    from matplotlib.patches import Ellipse, FancyBboxPatch

    r, frame = shape.place, shape.outline == "frame"
    width, height = r.right - r.left, r.top - r.bottom
    style: dict[str, Any] = {"facecolor": shape.colour, "edgecolor": QUIET, "linewidth": 1}
    if frame:
        style |= {"facecolor": "none" if shape.colour == "none" else shape.colour, "linestyle": (0, (4, 3))}
        style |= {"edgecolor": "0.55"}
    for copy in reversed(range(shape.copies)):
        x, y, order = r.left + copy * COPY, r.bottom + copy * COPY, 0.5 if frame else 2 - 0.1 * copy
        if shape.outline == "circle":
            patch: Any = Ellipse((x + width / 2, y + height / 2), width, height, zorder=order, **style)
        else:
            corner = f"round,pad=0,rounding_size={0.1 if frame else 0.06}"
            patch = FancyBboxPatch((x, y), width, height, boxstyle=corner, zorder=order, **style)
        patch.set_gid(f"{shape.outline}: {shape.name}" if copy == 0 else f"copy {copy}: {shape.name}")
        axes.add_patch(patch)


def _draw_line(axes: Any, line: Line) -> None:
    from matplotlib.patches import FancyArrowPatch

    patch = FancyArrowPatch(
        path=_rounded(line.points),
        arrowstyle="-|>,head_length=0.45,head_width=0.2" if line.head else "-",
        mutation_scale=10,
        color=line.colour,
        linewidth=line.width,
        linestyle=(0, (3, 2)) if line.dashed else "-",
        joinstyle="miter",
        capstyle="butt",
        zorder=1,
    )
    patch.set_fill(line.head)
    patch.set_gid(f"arrow: {line.name}")
    axes.add_patch(patch)


def _rounded(points: Sequence[Point], radius: float = 0.06) -> Any:
    """A path along the points, with round corners."""
    from matplotlib.path import Path

    vertices, codes = [points[0]], [Path.MOVETO]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        vertices += [_towards(corner, before, radius), corner, _towards(corner, after, radius)]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path([*vertices, points[-1]], [*codes, Path.LINETO])


def _towards(start: Point, end: Point, distance: float) -> Point:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = max((dx * dx + dy * dy) ** 0.5, 1e-9)
    share = min(distance, length / 2) / length
    return start[0] + share * dx, start[1] + share * dy


def _write(axes: Any, words: Words) -> None:
    style: dict[str, Any] = {"fontsize": words.size, "color": words.colour, "ha": words.align, "va": "center"}
    if words.covering:
        style["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    axes.text(*words.at, words.text, zorder=3, linespacing=1.15, **style)
