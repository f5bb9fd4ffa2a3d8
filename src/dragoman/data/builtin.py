"""The corpora that come with Dragoman, by name: nothing to fetch, nothing to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from dragoman.data.toys import Task, toy_texts
from dragoman.errors import ConfigurationError

NAMES = ("phrases", *get_args(Task))


@dataclass(frozen=True)
class BuiltIn:
    """Sentence pairs, and the sources that every split keeps for testing."""

    name: str
    pairs: list[tuple[str, str]]
    held_out: tuple[str, ...] = ()


def built_in(name: str) -> BuiltIn:
    """phrases (English-Spanish, from a grammar), or a toy task: copy, reverse, sort, add."""
    if name == "phrases":
        from dragoman.data.corpora import HELD_OUT, phrases

        return BuiltIn(name, [(pair.source, pair.reference) for pair in phrases()], HELD_OUT)
    if name not in NAMES:
        raise ConfigurationError(f"there is no built-in corpus '{name}'; there is {', '.join(NAMES)}")
    return BuiltIn(name, toy_texts(name))  # type: ignore[arg-type]
