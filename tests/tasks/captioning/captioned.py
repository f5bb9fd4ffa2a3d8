"""A captioner that is trained once, on a few drawn scenes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image

from dragoman.data import scenes
from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from tests.tasks.models import place

TINY: dict[str, Any] = {
    "task": "captioning",
    "threads": 1,
    "data": {"files": ["scenes"], "scenes": 60},
    "network": {"depth": 8, "perceptron_depth": 8, "heads": 2, "layers": 1, "patch": 8},
    "optimizer": {"batch": 16, "rate": 0.01, "averaging": 0.0},
    "stopping": {"epochs": 2},
}
RECURRENT: dict[str, Any] = {
    "architecture": "convolutional-gru",
    "network": {"depth": 8, "units": 16, "filters": [4, 4, 4]},
}


def tiny(*changes: dict[str, Any]) -> dict[str, Any]:
    """The settings of a training that takes a second."""
    return merged(TINY, *changes)


def recurrent(*changes: dict[str, Any]) -> dict[str, Any]:
    without = {name: value for name, value in TINY.items() if name != "network"}
    return merged(without, RECURRENT, *changes)


@cache
def trained() -> Path:
    """A model directory that no test changes."""
    train_model(tiny(), place() / "captioner")
    return place() / "captioner"


@cache
def photos() -> Path:
    """A folder of 40 images with captions, of which every fourth has two."""
    folder = place() / "photos"
    folder.mkdir()
    lines = []
    for i, scene in enumerate(scenes.training_scenes(40, seed=7)):
        Image.fromarray(scenes.draw(scene)).save(folder / f"{i}.png")
        lines += [f"{i}.png\t{scene.caption}"] + ([f"{i}.png\tthere is {scene.caption}"] if i % 4 == 0 else [])
    (folder / "captions.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
