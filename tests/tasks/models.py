"""Translators that train in a second or two, once in every test process, and are shared by many tests."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model

WHO = {
    "The man": "El hombre",
    "The woman": "La mujer",
    "A friend": "Un amigo",
    "My sister": "Mi hermana",
    "Our teacher": "Nuestro maestro",
    "The boy": "El niño",
}
DOES = {
    "sees": "ve",
    "buys": "compra",
    "wants": "quiere",
    "paints": "pinta",
    "finds": "encuentra",
    "sells": "vende",
}
WHAT = {
    "the house": "la casa",
    "the garden": "el jardín",
    "a red car": "un coche rojo",
    "the old book": "el libro viejo",
    "bread": "pan",
    "the green plant": "la planta verde",
    "an apple": "una manzana",
    "the window": "la ventana",
    "two tickets": "dos entradas",
    "the small boat": "el barco pequeño",
}
# 360 pairs without a digit, a bracket or any other character of a protected span.
PAIRS = [
    (f"{who} {does} {what}.", f"{quien} {hace} {que}.")
    for who, quien in WHO.items()
    for does, hace in DOES.items()
    for what, que in WHAT.items()
]
WORDS = [
    ("red", "rojo"),
    ("blue", "azul"),
    ("green", "verde"),
    ("house", "casa"),
    ("dog", "perro"),
    ("cat", "gato"),
    ("tree", "árbol"),
    ("sun", "sol"),
    ("moon", "luna"),
    ("water", "agua"),
    ("fire", "fuego"),
    ("stone", "piedra"),
    ("bread", "pan"),
    ("milk", "leche"),
    ("book", "libro"),
]
WORD_PAIRS = WORDS + [(f"{a} {c}", f"{b} {d}") for a, b in WORDS for c, d in WORDS]
TINY: dict[str, Any] = {
    "preset": "small",
    "threads": 1,
    "data": {"shares": [0.8, 0.1, 0.1]},
    "network": {"depth": 16, "perceptron_depth": 32, "heads": 2, "dropout": 0.1},
    "optimizer": {"batch": 32, "rate": 0.01},
    "stopping": {"epochs": 2},
}
TIME_FIELDS = ("seconds", "tokens_per_second")


@cache
def place() -> Path:
    """A directory for as long as the tests run."""
    found = Path(tempfile.mkdtemp(prefix="dragoman-tests-"))
    atexit.register(shutil.rmtree, found, ignore_errors=True)
    return found


def write_pairs(path: Path, pairs: list[tuple[str, str]]) -> str:
    path.write_text("".join(f"{source}\t{reference}\n" for source, reference in pairs), encoding="utf-8")
    return str(path)


@cache
def pairs_file() -> str:
    return write_pairs(place() / "pairs.tsv", PAIRS)


def tiny(*changes: dict[str, Any]) -> dict[str, Any]:
    """The settings of a training that takes a second."""
    return merged({"data": {"files": [pairs_file()]}}, TINY, *changes)


@cache
def undertrained() -> Path:
    """The directory of a model that has seen its pairs twice: it writes Spanish words, hardly ever the right ones."""
    train_model(tiny(), place() / "undertrained")
    return place() / "undertrained"


@cache
def taught() -> Path:
    """The directory of a model that translates one or two words, one for one, and is right most of the time."""
    settings: dict[str, Any] = {
        "preset": "small",
        "threads": 1,
        "data": {
            "files": [write_pairs(place() / "words.tsv", WORD_PAIRS)],
            "tokenizer": "words",
            "shares": [0.8, 0.1, 0.1],
        },
        "network": {
            "depth": 32,
            "perceptron_depth": 32,
            "heads": 2,
            "dropout": 0.0,
            "positions": "half_sinusoid",
        },
        "loss": {"smoothing": 0.0},
        "optimizer": {"batch": 16, "rate": 0.01, "averaging": 0.9},
        "stopping": {"epochs": 12},
    }
    train_model(settings, place() / "taught")
    return place() / "taught"


@cache
def fluent() -> Path:
    """The directory of a model that translates each of its sentences as it was taught, and knows nothing else."""
    settings: dict[str, Any] = {
        "preset": "small",
        "threads": 1,
        "data": {"files": [pairs_file()], "tokenizer": "words", "shares": [0.8, 0.1, 0.1]},
        "network": {"depth": 32, "perceptron_depth": 32, "heads": 2, "dropout": 0.0, "positions": "half_sinusoid"},
        "loss": {"smoothing": 0.0},
        "optimizer": {"batch": 16, "rate": 0.01, "averaging": 0.9},
        "stopping": {"epochs": 8},
    }
    train_model(settings, place() / "fluent")
    return place() / "fluent"


def told_history(directory: Path) -> list[dict[str, Any]]:
    """history.jsonl without what a clock tells."""
    path = directory / "history.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [{k: v for k, v in json.loads(line).items() if k not in TIME_FIELDS} for line in lines]
