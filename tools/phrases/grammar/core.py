"""What rules are made of: drawing, naming a rule, and finishing a sentence."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from tools.phrases.morphology import contracted

T = TypeVar("T")


class Draw:
    """Choices that depend on the seed and on nothing else (only `random()` is the same in every Python)."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def one(self, items: Sequence[T]) -> T:
        return items[int(self._random.random() * len(items))]

    def two(self, items: Sequence[T]) -> tuple[T, T]:
        """Two different ones."""
        first = int(self._random.random() * len(items))
        second = int(self._random.random() * (len(items) - 1))
        return items[first], items[second + (second >= first)]

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def number(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))


class Sentence(NamedTuple):
    """A sentence of each language, the one the translation of the other."""

    english: str
    spanish: str

    def then(self, other: Sentence) -> Sentence:
        """One sentence after the other."""
        return Sentence(f"{self.english} {other.english}", f"{self.spanish} {other.spanish}")


Writer = Callable[[Draw], Sentence]


class Rule(NamedTuple):
    """A rule has a name, writes one sentence a draw, and may have sentences that are always in the corpus."""

    name: str
    write: Writer
    always: tuple[Sentence, ...] = ()


RULES: list[Rule] = []


def rule(write: Writer, always: tuple[Sentence, ...] = ()) -> Writer:
    """Adds a function to the rules of the grammar, under its own name."""
    RULES.append(Rule(write.__name__, write, always))
    return write


def words(*parts: str) -> str:
    """The parts that are there, one space apart."""
    return " ".join(filter(None, parts))


def statement(english: str, spanish: str) -> Sentence:
    return Sentence(_capital(english) + ".", _capital(contracted(spanish)) + ".")


def question(english: str, spanish: str) -> Sentence:
    return Sentence(_capital(english) + "?", "¿" + _capital(contracted(spanish)) + "?")


def exclamation(english: str, spanish: str) -> Sentence:
    return Sentence(_capital(english) + "!", "¡" + _capital(contracted(spanish)) + "!")


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
