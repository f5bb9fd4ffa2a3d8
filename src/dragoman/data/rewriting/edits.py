"""What becomes of each pair of some files, in the order in which they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from dragoman.data.mending import repair_text
from dragoman.graph import Array


class Edits:
    """Hands out what is to be done, one unit of a file after the other, and counts what was done.

    repairs  names of REPAIRS
    dropped  [n] bool: the pair is left out
    swapped  [n] bool: its sides are turned round
    """

    def __init__(self, repairs: Collection[str], dropped: Array, swapped: Array) -> None:
        self.repairs, self._dropped, self._swapped = repairs, dropped, swapped
        self._next = 0
        self._names: set[str] = set()
        self.changed: Counter[str] = Counter()  # pairs that each repair changed
        self.stayed = 0  # pairs that share a unit with others that are not dropped

    def keep(self, pairs: int) -> bool:
        """Whether the unit with the next so many pairs is kept; a unit without a pair is."""
        some = self._dropped[self._next : self._next + pairs]
        self._swap = bool(self._swapped[self._next : self._next + pairs].any()) and pairs == 1
        self._next += pairs
        if pairs and some.all():
            return False
        self.stayed += int(some.sum())
        return True

    @property
    def swap(self) -> bool:
        """Whether the sides of the unit asked for last are turned round."""
        return self._swap

    def mend(self, text: str) -> str:
        """Repair a text of the unit asked for last."""
        mended, names = repair_text(text, self.repairs)
        self._names.update(names)
        return mended

    def mend_sides(self, texts: Sequence[str]) -> list[str]:
        """Repair the two texts of a pair, and turn them round if that is to be done."""
        mended = [self.mend(text) for text in texts]
        return mended[::-1] if self.swap else mended

    def done(self) -> bool:
        """Count what was changed in a unit; whether anything was."""
        self.changed.update({*self._names, *(["swapped"] if self.swap else [])})
        changed = bool(self._names) or self.swap
        self._names.clear()
        return changed
