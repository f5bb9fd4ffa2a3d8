"""Tagged sentences that a small tagger learns in a second: some words have two tags, which the context tells."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from tests.tasks.models import place

Sentence = list[tuple[str, str]]

PEOPLE = ["Anna", "Peter", "Maria", "Tom"]
PRONOUNS = ["They", "We", "You", "I"]
DOES = ["plays", "walks", "works", "rests"]
THINGS = ["walk", "play", "house", "garden", "rest"]
SENTENCES: list[Sentence] = [
    *([(who, "PROPN"), (does, "VERB"), (".", "PUNCT")] for who, does in product(PEOPLE, DOES)),
    *(
        [(who, "PROPN"), ("likes", "VERB"), ("the", "DET"), (what, "NOUN"), (".", "PUNCT")]
        for who, what in product(PEOPLE, THINGS)
    ),
    *([(who, "PRON"), (does[:-1], "VERB"), ("!", "PUNCT")] for who, does in product(PRONOUNS, DOES)),
    *([("the", "DET"), (what, "NOUN"), (does, "VERB"), (".", "PUNCT")] for what, does in product(THINGS, DOES)),
]
TINY: dict[str, Any] = {
    "task": "tagging",
    "preset": "small",
    "threads": 1,
    "data": {"shares": [0.8, 0.1, 0.1]},
    "network": {"depth": 16, "units": 16, "dropout": 0.1},
    "loss": {"smoothing": 0.0},
    "optimizer": {"batch": 8, "rate": 0.02, "averaging": 0.9},
    "stopping": {"epochs": 12},
}


def as_conll(sentences: list[Sentence]) -> str:
    return "".join("".join(f"{word}\t{tag}\n" for word, tag in sentence) + "\n" for sentence in sentences)


def write_conll(path: Path, sentences: list[Sentence]) -> str:
    path.write_text(as_conll(sentences), encoding="utf-8")
    return str(path)


@cache
def tagged_file() -> str:
    return write_conll(place() / "words.conll", SENTENCES)


def tiny(*changes: dict[str, Any]) -> dict[str, Any]:
    """The settings of a training that takes a second."""
    return merged({"data": {"files": [tagged_file()]}}, TINY, *changes)


@cache
def trained() -> Path:
    """A model directory that no test changes."""
    train_model(tiny(), place() / "tagger")
    return place() / "tagger"
