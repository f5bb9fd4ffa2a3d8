"""An image classifier that trains in seconds, once in every test process, and is shared by many tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from tests.drawn_images import write_folder
from tests.tasks.models import place

COUNT = 300


@cache
def folder() -> Path:
    """Squares, discs and crosses, a sub-folder each."""
    return write_folder(place() / "shapes", COUNT)


def tiny(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "task": "image-classification",
        "threads": 2,
        "data": {"files": [str(folder())], "shares": (0.7, 0.15, 0.15)},
        "network": {"depth": 16, "perceptron_depth": 16, "heads": 2, "layers": 1, "dropout": 0.0, "patch": 2},
        "optimizer": {"batch": 16, "rate": 0.01, "averaging": 0.9},
        "stopping": {"epochs": 20},
    }
    return merged(settings, changes or {})


@cache
def shapes() -> Path:
    train_model(tiny(), place() / "shapes-model")
    return place() / "shapes-model"
