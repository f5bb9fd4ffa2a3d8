"""Recipes: sets of training settings.

thesis  the experiment of the thesis (chapter 6): vocabularies of 4562 and 6134 labels, post-norm with its own
        normalization, no dropout, Adam, batches of 64 in any order, samples split 60/20/20 one by one, until the
        training accuracy is 0.90. The rate rises to 0.001 in 4000 steps (Observation 5.6; in a tenth of a shorter
        training) and falls with the root of the step. As printed its peak is 0.001 / sqrt(4000) = 1.6e-5, with which
        nothing is learnt (E-T18): optimizer.schedule = thesis_as_printed.
modern  what measured best on the validation part of eng-spa (docs/measurements.md): pre-norm, relative positions,
        dropout, label smoothing, a cosine, gradient clipping, and the moving average of the weights. The larger the
        network, the lower its rate and the more is dropped. Pre-norm has two normalizations more than post-norm,
        4 d parameters, and relative positions 33 for each head on either side: 256 and 264 of Small's 1,167,486.

Fine-tuning a trained model by the recipe modern takes a small share of its rate, few epochs, and patience: the rate of
a training from scratch would undo what the model knows (docs/measurements.md, Fine-tuning).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.tasks.task import Task

TRANSLATION: dict[str, dict[str, Any]] = {
    "thesis": {
        "data": {"split": "sample", "shares": (0.6, 0.2, 0.2), "protect": False, "vocabulary": (4562, 6134)},
        "network": {"block": "post", "normalization": "outside", "dropout": 0.0, "tied": "none"},
        "loss": {"smoothing": 0.0},
        "optimizer": {"rate": 0.001, "schedule": "thesis", "beta2": 0.999, "grouped": False},
        "stopping": {"accuracy": 0.90, "epochs": 100},
    },
    "modern": {
        "network": {"block": "pre", "positions": "relative", "dropout": 0.1},
        "loss": {"smoothing": 0.1},
        "optimizer": {"rate": 0.01, "schedule": "cosine", "beta2": 0.98, "clip": 1.0, "averaging": 0.999},
    },
}

TRANSLATION_BY_PRESET: dict[str, dict[str, dict[str, Any]]] = {  # what differs from the recipe at a size
    "modern": {
        "medium": {"network": {"dropout": 0.15}, "optimizer": {"rate": 0.005}},
        "large": {"network": {"dropout": 0.2}, "optimizer": {"rate": 0.0025}},
    }
}


def recipe_for(task: Task, name: str, preset: str | None, chosen: Collection[str], architecture: str) -> dict[str, Any]:
    """The settings of a recipe at a size; of its network's settings those that the architecture knows."""
    settings: dict[str, Any] = {}
    for layer in (
        task.recipes[name],
        task.recipes_by_preset.get(name, {}).get(preset or "", {}),
        task.recipes_by_architecture.get(name, {}).get(architecture, {}),
    ):
        settings = {**settings, **{part: {**settings.get(part, {}), **values} for part, values in layer.items()}}
    network = {key: value for key, value in settings.get("network", {}).items() if key in chosen}
    return {**settings, "network": network}
