"""A scene: one or two groups of equal things, where they stand, and the caption that follows from it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from dragoman.data.scenes.drawing import COLOURS, SHAPES, WIDTHS, mask, padded_mask
from dragoman.graph import Array

RELATIONS = ("left of", "right of", "above", "below", "in front of", "behind")
NUMBERS = ("a", "two", "three", "four")
MARGIN = 2  # pixels between things that are beside each other, and rows or columns that they share
HIDDEN = 4  # pixels at least that a thing in front hides of the one behind
VISIBLE = 0.7  # share at least that stays visible of a thing behind others
HELD_OUT = (("red", "triangle"), ("blue", "diamond"), ("yellow", "circle"), ("purple", "square"))
Place = tuple[int, int]  # column and row of the upper left corner


@dataclass(frozen=True, order=True)
class Thing:
    """What things of one group have in common."""

    colour: str
    shape: str
    size: str

    @property
    def width(self) -> int:
        return WIDTHS[self.size]

    @property
    def is_held_out(self) -> bool:
        return (self.colour, self.shape) in HELD_OUT


THINGS = tuple(Thing(colour, shape, size) for colour in COLOURS for shape in SHAPES for size in WIDTHS)


@dataclass(frozen=True)
class Group:
    """Equal things, and the upper left corner of each."""

    thing: Thing
    places: tuple[Place, ...]

    def words(self) -> str:
        """a large red circle; two small red circles"""
        count, shape = len(self.places), self.thing.shape
        plural = "" if count == 1 else "s"
        return f"{NUMBERS[count - 1]} {self.thing.size} {self.thing.colour} {shape}{plural}"


@dataclass(frozen=True)
class Scene:
    """One group, or two in a relation; the first of two is that whose colour, shape and size come first by name.

    relation  of the first group to the second; "" where there is one
    """

    groups: tuple[Group, ...]
    relation: str = ""

    @property
    def caption(self) -> str:
        """What the scene shows, in words. The order of the groups is fixed, so that an image has one caption."""
        words = [group.words() for group in self.groups]
        return words[0] if len(words) == 1 else f"{words[0]} {self.relation} {words[1]}"

    @property
    def count(self) -> int:
        return sum(len(group.places) for group in self.groups)

    @property
    def is_held_out(self) -> bool:
        return any(group.thing.is_held_out for group in self.groups)

    def back_to_front(self) -> tuple[Group, ...]:
        return self.groups[::-1] if self.relation == "in front of" else self.groups


def sides(widths: tuple[int, int], first: Array, second: Array) -> dict[str, Array]:
    """Whether the first group is left of the second, right of it, above or below: [n] for each, of n candidates.

    first [n, k, 2], second [n, m, 2]: the upper left corners. A group is left of another if there is a margin between
    their columns while they share some rows; so at most one of the four holds.
    """
    begins = first.min(axis=1), second.min(axis=1)  # [n, 2], of x and y
    ends = first.max(axis=1) + widths[0], second.max(axis=1) + widths[1]
    before, after = begins[1] - ends[0] >= MARGIN, begins[0] - ends[1] >= MARGIN
    shared = np.minimum(*ends) - np.maximum(*begins) >= MARGIN
    return {
        "left of": before[:, 0] & shared[:, 1],
        "right of": after[:, 0] & shared[:, 1],
        "above": before[:, 1] & shared[:, 0],
        "below": after[:, 1] & shared[:, 0],
    }


def apart(width: int, places: Array) -> Array:
    """[n] whether the things of a group, at places [n, k, 2], all have a margin between them."""
    distance = np.abs(places[:, :, None] - places[:, None, :]).max(axis=3)  # [n, k, k]
    near = (distance < width + MARGIN).sum(axis=(1, 2))
    return np.asarray(near == places.shape[1])  # each is near itself alone


def covers(
    front: Thing, places: tuple[Place, ...], behind: Thing, place: Place, visible_share: float = VISIBLE
) -> bool:
    """Whether each thing in front hides a part of the one behind, and enough of it stays visible."""
    pad, full = WIDTHS["large"], padded_mask(behind.shape, behind.width)
    visible = full.copy()
    for x, y in places:
        column, row = x - place[0] + pad, y - place[1] + pad
        if not (0 <= column <= visible.shape[1] - front.width and 0 <= row <= visible.shape[0] - front.width):
            return False
        part = visible[row : row + front.width, column : column + front.width]
        cover = mask(front.shape, front.width)
        if np.count_nonzero(part & cover) < HIDDEN:
            return False
        part &= ~cover
    return bool(np.count_nonzero(visible) >= visible_share * np.count_nonzero(full))


@dataclass(frozen=True)
class Described:
    """What a caption of a scene says: how many things there are, and their pairs of colour and shape."""

    count: int
    pairs: tuple[tuple[str, str], ...]

    @property
    def is_held_out(self) -> bool:
        return any(pair in HELD_OUT for pair in self.pairs)


_GROUP = rf"({'|'.join(NUMBERS)}) (?:{'|'.join(WIDTHS)}) ({'|'.join(COLOURS)}) ({'|'.join(SHAPES)})s?"
_CAPTION = re.compile(rf"{_GROUP}(?: (?:{'|'.join(RELATIONS)}) {_GROUP})?")


def described(caption: str) -> Described | None:
    """Read the caption of a scene; None if it is no such caption."""
    found = _CAPTION.fullmatch(caption)
    if found is None:
        return None
    words = [found.groups()[i : i + 3] for i in (0, 3) if found.groups()[i]]
    count = sum(NUMBERS.index(number) + 1 for number, _, _ in words)
    return Described(count, tuple((colour, shape) for _, colour, shape in words))
