"""Count the different scenes there are, exactly: placements of groups are counted by the boxes around them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product

import numpy as np

from dragoman.data.scenes import drawing
from dragoman.data.scenes.drawing import STEP
from dragoman.data.scenes.scene import NUMBERS, THINGS, Thing, apart, covers, sides
from dragoman.graph import Array

MOST = len(NUMBERS)  # things of a scene


def count_scenes(things: Iterable[Thing] = THINGS) -> int:
    """How many different scenes there are of one to four of these things."""
    known = sorted(things)
    count = _Counts()
    alone = sum(count.placed(thing.width, k) for thing in known for k in range(1, MOST + 1))
    pairs = 0
    for a, b in combinations(known, 2):
        pairs += sum(
            count.beside(a.width, k, b.width, m) for k, m in product(range(1, MOST), repeat=2) if k + m <= MOST
        )
        pairs += sum(count.covered(a, k, b) + count.covered(b, k, a) for k in range(1, MOST))
    return alone + pairs


class _Counts:
    """Numbers that many pairs of things share: colours do not matter, and beside each other shapes neither."""

    def __init__(self) -> None:
        self.boxes_of: dict[tuple[int, int], tuple[Array, Array]] = {}
        self.known: dict[tuple[object, ...], int] = {}

    def placed(self, width: int, k: int) -> int:
        """Sets of k places for equal things with a margin between them."""
        return int(self.boxes(width, k)[1].sum())

    def boxes(self, width: int, k: int) -> tuple[Array, Array]:
        """[n, 2, 2] the first and the last corner of such sets, and how many sets have both."""
        if (width, k) not in self.boxes_of:
            grid = STEP * np.array(list(product(range(drawing.positions(width)), repeat=2)))
            sets = grid[np.array(list(combinations(range(len(grid)), k)), np.int64).reshape(-1, k)]
            sets = sets[apart(width, sets)]
            ends = np.concatenate([sets.min(axis=1), sets.max(axis=1)], axis=1)
            found, counts = np.unique(ends, axis=0, return_counts=True)
            self.boxes_of[width, k] = found.reshape(-1, 2, 2), counts
        return self.boxes_of[width, k]

    def beside(self, first: int, k: int, second: int, m: int) -> int:
        """Placements of k things left of, right of, above or below m others, by the widths of both."""
        key = (first, k, second, m)
        if key not in self.known:
            (one, ones), (other, others) = self.boxes(first, k), self.boxes(second, m)
            i, j = (grid.ravel() for grid in np.indices((len(one), len(other))))
            held = sides((first, second), one[i], other[j])
            fits = np.logical_or.reduce(list(held.values()))
            self.known[key] = int((ones[i] * others[j])[fits].sum())
        return self.known[key]

    def covered(self, front: Thing, k: int, behind: Thing) -> int:
        """Placements of k things in front of another one."""
        key = (front.shape, front.size, k, behind.shape, behind.size)
        if key not in self.known:
            reach = range(STEP - front.width, behind.width, STEP)
            near = [(x, y) for x in reach for y in reach]
            hiding = [place for place in near if covers(front, (place,), behind, (0, 0), 0.0)]
            found = 0
            for places in combinations(hiding, k):
                if apart(front.width, np.array([places]))[0] and covers(front, places, behind, (0, 0)):
                    found += _shifts(np.array(places), front.width, behind.width)
            self.known[key] = found
        return self.known[key]


def _shifts(places: Array, front: int, behind: int) -> int:
    """How many places of the image there are for things that stand like this to one at (0, 0)."""
    first = np.minimum(places.min(axis=0), 0)
    last = np.maximum(places.max(axis=0) + front, behind)
    return int(np.prod(np.maximum((drawing.SIZE - (last - first)) // STEP + 1, 0)))
