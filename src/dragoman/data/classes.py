"""Classes: the labels of a field, in a fixed order, with how often each occurs in the training part."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from dragoman.errors import DataError, FileFormatError

SHOWN = 12  # names in a message


@dataclass(frozen=True)
class Classes:
    """Names of classes by number, and the number of training examples of each."""

    names: tuple[str, ...]
    counts: tuple[int, ...]

    file: ClassVar[str] = "classes"

    @property
    def size(self) -> int:
        return len(self.names)

    @classmethod
    def learn(cls, labels: Iterable[str]) -> Classes:
        """The classes of some labels, the most frequent first, equally frequent ones by name."""
        counted = sorted(Counter(labels).items(), key=lambda item: (-item[1], item[0]))
        if not counted:
            raise DataError("there are no labels to learn classes from")
        return cls(tuple(name for name, _ in counted), tuple(count for _, count in counted))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def index(self, name: str) -> int:
        """The number of a class; an error names the nearest one if there is none of this name."""
        found = self._numbers.get(name)
        if found is None:
            raise DataError(f"'{name}' is not a class of the training data; {self.suggestion(name)}")
        return found

    def suggestion(self, name: str) -> str:
        """Which classes there are, or the one that was probably meant."""
        close = difflib.get_close_matches(name, self.names, 1)
        listed = ", ".join(self.names[:SHOWN]) + (" ..." if self.size > SHOWN else "")
        return f"did you mean '{close[0]}'?" if close else f"the classes are {listed}"

    def to_json(self) -> str:
        return json.dumps({"names": list(self.names), "counts": list(self.counts)}, ensure_ascii=False)

    @classmethod
    def load(cls, path: Path) -> Classes:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            names, counts = tuple(found["names"]), tuple(found["counts"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise FileFormatError(f"{path} cannot be read as classes: {error!r}") from None
        right = all(isinstance(name, str) for name in names) and all(isinstance(count, int) for count in counts)
        if not right or not names or len(names) != len(counts) or len(set(names)) != len(names):
            raise FileFormatError(f"{path}: classes are different names with a count each")
        return cls(names, counts)
