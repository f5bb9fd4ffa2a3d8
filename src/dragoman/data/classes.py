"""Classes: the names that a classifier knows, in a fixed order."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.errors import DataError, FileFormatError
from dragoman.graph import Array

SHOWN = 12  # names in a message
MOST = 100_000


@dataclass(frozen=True)
class Classes:
    """Encodes the names of classes as numbers from 0, in the order of the names.

    names    sorted; where all are numbers, by their values
    counts   training examples of each
    several  whether a sample may have any number of them
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    several: bool = False

    file: ClassVar[str] = "classes"

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def binary(self) -> bool:
        """Whether one number, the probability of the second class, says everything."""
        return not self.several and len(self.names) == 2

    @property
    def outputs(self) -> int:
        """Numbers that a network has to put out."""
        return 1 if self.binary else len(self.names)

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
        return f"did you mean '{close[0]}'?" if close else f"the classes are {self.shown()}"

    @classmethod
    def learn(cls, labels: Iterable[Sequence[str]], several: bool = False) -> Classes:
        """The classes of some samples, each with its names: one, or any number."""
        counts = Counter(name for names in labels for name in set(names))
        names = in_order(counts)
        if not names:
            raise DataError("no training example has a label; check the column that --label chooses")
        if len(names) > MOST:
            raise DataError(
                f"{len(names):,} different labels: a classifier has at most {MOST:,} classes; "
                "is --label the right column? Numbers are learnt with --task regression"
            )
        return cls(tuple(names), tuple(counts[name] for name in names), several)

    def number(self, name: str) -> int | None:
        """The number of a class; None if it did not occur in training."""
        return self._numbers.get(name)

    def encode(self, names: Sequence[str]) -> Array:
        """[1] the number of the class; where there are several, [L] 1 for those that apply, else 0."""
        numbers = [self._known(name) for name in names]
        if not self.several:
            return np.array(numbers, np.int32)
        found = np.zeros(len(self.names), np.int32)
        found[numbers] = 1
        return found

    def _known(self, name: str) -> int:
        number = self.number(name)
        if number is None:
            raise DataError(
                f"the label '{name}' does not occur among the training examples, which have {self.shown()}; "
                "add training examples of it, or correct or remove these"
            )
        return number

    def shown(self) -> str:
        """The names, in a message."""
        some = ", ".join(self.names[:SHOWN])
        return some if len(self.names) <= SHOWN else f"{some} and {len(self.names) - SHOWN:,} more"

    def to_json(self) -> str:
        found = {"names": self.names, "counts": self.counts, "several": self.several}
        return json.dumps(found, ensure_ascii=False, indent=2)

    @classmethod
    def load(cls, path: Path) -> Classes:
        try:
            found: Any = json.loads(path.read_text(encoding="utf-8"))
            names, counts, several = found["names"], found["counts"], found["several"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"{path} cannot be read as classes: {error!r}") from None
        texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
        numbers = isinstance(counts, list) and all(isinstance(n, int) and n >= 0 for n in counts)
        if not texts or not names or len(set(names)) != len(names):
            raise FileFormatError(f"{path}: names must be different texts, at least one")
        if not numbers or len(counts) != len(names) or not isinstance(several, bool):
            raise FileFormatError(f"{path}: counts must be as many whole numbers as there are names, several a boolean")
        return cls(tuple(names), tuple(counts), several)


def in_order(names: Iterable[str]) -> list[str]:
    """Sorted; where all are numbers, by their values."""
    try:
        return sorted(names, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(names)
