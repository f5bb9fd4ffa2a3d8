"""The corpora that come with Dragoman and need no download."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from dragoman.data.toys import Task, toy_texts
from dragoman.errors import ConfigurationError

NAMES = ("phrases", *get_args(Task))
HELD_OUT = ("The plant is green.",)  # sources of phrases that belong to the testing part, never to training


@dataclass(frozen=True)
class BuiltIn:
    """Sentence pairs, the sources that always go to the testing part, and the languages of both sides."""

    name: str
    pairs: list[tuple[str, str]]
    held_out: tuple[str, ...] = ()
    languages: tuple[str, str] | None = None


def built_in(name: str) -> BuiltIn:
    """Return a built-in corpus: phrases (English-Spanish, from a grammar), or a toy task: copy, reverse, sort, add."""
    if name == "phrases":
        return BuiltIn(name, phrases(), HELD_OUT, ("en", "es"))
    if name not in NAMES:
        raise ConfigurationError(f"unknown built-in corpus '{name}'; available: {', '.join(NAMES)}")
    return BuiltIn(name, toy_texts(name))  # type: ignore[arg-type]


def phrases() -> list[tuple[str, str]]:
    """Read the English-Spanish pairs of phrases.tsv.xz, which `python -m tools.phrases` writes."""
    import lzma
    from importlib.resources import files

    packed = files("dragoman.data").joinpath("phrases.tsv.xz").read_bytes()
    lines = lzma.decompress(packed).decode("utf-8").splitlines()
    return [(source, reference) for source, reference in (line.split("\t") for line in lines)]
