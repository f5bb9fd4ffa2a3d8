"""Classifiers and regressors that train in a second, once in every test process, and are shared by many tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from tests.tasks.models import place

GOOD = ("wonderful", "brilliant", "moving", "funny", "clever", "charming")
BAD = ("dull", "tedious", "awful", "clumsy", "boring", "silly")
THINGS = ("film", "plot", "cast", "ending", "music", "story", "dialogue", "hero")
TOPICS = {
    "sport": ("match", "goal", "team", "coach", "player"),
    "money": ("bank", "stock", "market", "profit", "price"),
    "science": ("planet", "cell", "theory", "atom", "robot"),
}
MOODS = [
    (f"the {thing} is {word} and the {other} is {again}", mood)
    for mood, words in (("positive", GOOD), ("negative", BAD))
    for i, thing in enumerate(THINGS)
    for other in (THINGS[(i + 3) % len(THINGS)],)
    for word, again in zip(words, words[1:] + words[:1], strict=True)
    for _ in range(2)
]
MOODS = [(f"{text} {i}", mood) for i, (text, mood) in enumerate(MOODS)]
NEWS = [
    (f"a {first} and a {second} in the news, number {i}", topic)
    for topic, words in TOPICS.items()
    for first in words
    for second in words
    for i in range(2)
]
STARS = {"awful": 1, "dull": 2, "fair": 3, "good": 4, "perfect": 5}
RATED = [
    (f"{first} {thing} and {second} {other}", (STARS[first] + STARS[second]) / 2)
    for first in STARS
    for second in STARS
    for i, thing in enumerate(THINGS)
    for other in (THINGS[i - 1],)
]
TINY: dict[str, Any] = {
    "threads": 1,
    "data": {"shares": [0.7, 0.15, 0.15]},
    "network": {"buckets": 4096},
    "optimizer": {"batch": 16},
    "stopping": {"epochs": 3},
}
TRANSFORMER: dict[str, Any] = {
    "architecture": "transformer",
    "network": {"depth": 16, "perceptron_depth": 32, "heads": 2, "buckets": None, "dropout": 0.1},
    "optimizer": {"rate": 0.01},
}


def write_table(path: Path, samples: list[Any], header: str = "") -> str:
    lines = [header] if header else []
    path.write_text("\n".join([*lines, *(f"{label}\t{text}" for text, label in samples)]) + "\n", encoding="utf-8")
    return str(path)


def settings(samples: list[Any], name: str, *changes: dict[str, Any], task: str = "classification") -> dict[str, Any]:
    """The settings of a training that takes a second."""
    path = place() / f"{name}.tsv"
    if not path.exists():
        write_table(path, samples)
    found = merged({"task": task, "data": {"files": [str(path)]}}, TINY, *changes)
    found["network"] = {key: value for key, value in found["network"].items() if value is not None}
    return found


@cache
def moods() -> Path:
    """The directory of a classifier of two classes; no test changes it."""
    train_model(settings(MOODS, "moods"), place() / "moods")
    return place() / "moods"


@cache
def topics() -> Path:
    """The directory of a classifier of three classes; no test changes it."""
    train_model(settings(NEWS, "topics"), place() / "topics")
    return place() / "topics"


@cache
def ratings() -> Path:
    """The directory of a regressor; no test changes it."""
    train_model(
        settings(RATED, "ratings", {"optimizer": {"rate": 0.03}, "stopping": {"epochs": 15}}, task="regression"),
        place() / "ratings",
    )
    return place() / "ratings"
