"""Small language models that no test changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.tasks.language_model.generator import TextGenerator
from dragoman.tasks.training import train_model
from tests.tasks.conftest import own_cache, undertrained

__all__ = ["own_cache", "undertrained"]

SONG = "bad cog hum\nfix jet\n"  # no letter twice: easy to learn by heart
TEXT = SONG * 70


def settings(place: Path, text: str = TEXT, **more: Any) -> dict[str, Any]:
    """A training of seconds on the NumPy engine."""
    (place / "book.txt").write_text(text, encoding="utf-8")
    given: dict[str, Any] = {"task": "language-model", "preset": "small", "threads": 1, "seed": 1}
    data = {"files": [str(place / "book.txt")], "context": 32, **more.pop("data", {})}
    optimizer = {"batch": 8, "rate": 0.01, "averaging": 0.0, **more.pop("optimizer", {})}
    size = {"depth": 32, "dropout": 0.0}
    return {**given, "data": data, "optimizer": optimizer, **more, "network": {**size, **more.get("network", {})}}


@pytest.fixture(scope="session")
def singer(own_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows a song by heart."""
    place = tmp_path_factory.mktemp("singer")
    train_model(settings(place, stopping={"epochs": 20}), place / "model")
    return place / "model"


@pytest.fixture(scope="session")
def recurrent(own_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GRU with carried state."""
    place = tmp_path_factory.mktemp("recurrent")
    given = settings(place, architecture="gru", stopping={"epochs": 6}, network={"units": 48})
    train_model(given, place / "model")
    return place / "model"


@pytest.fixture(scope="session")
def generator(singer: Path) -> TextGenerator:
    return TextGenerator.load(singer)
