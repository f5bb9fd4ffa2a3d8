"""Trainings of every task, small enough to be done by one process and by several, in double precision."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from dragoman.graph import Array
from dragoman.networks.architectures import Architecture
from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model

STEPS = {"stopping": {"epochs": None, "steps": 6}, "progress": {"every": 3}}


def cases(place: Path) -> dict[str, dict[str, Any]]:
    """Settings by name; data files are written into a place that is kept."""
    from tests.tasks import models, test_architectures
    from tests.tasks.captioning import captioned
    from tests.tasks.classification import models as texts
    from tests.tasks.forecasting import series
    from tests.tasks.image_classification import models as images
    from tests.tasks.language_model import conftest as language
    from tests.tasks.tagging import tagged

    optimizers: dict[str, dict[str, Any]] = {
        "learned rate": {"schedule": "learned", "algorithm": "adamw"},
        "plateau": {"schedule": "plateau", "algorithm": "rmsprop"},
        "accumulated and averaged": {"accumulate": 3, "averaging": 0.8, "clip": 0.5, "batch": 16},
        "batches of one": {"batch": 1},
        "by tokens": {"tokens": 200},
    }
    sampled = {"optimizer": {"scheduled_sampling": 0.4}, "network": {"dropout": 0.2}}
    found = {
        "translation": models.tiny({"network": {"dropout": 0.2}, "loss": {"smoothing": 0.1}}),
        **{name: models.tiny({"optimizer": given}) for name, given in optimizers.items()},
        "threads": models.tiny({"threads": 2}),
        "few to validate": models.tiny({"data": {"shares": [0.99, 0.003, 0.007]}}),
        "fine-tuned": {
            "data": {"files": [models.pairs_file()]},
            "start": {"model": str(models.undertrained()), "replay": 0},
            "optimizer": {"batch": 32, "rate": 0.01},
            "threads": 1,
        },
        "recurrent translation": test_architectures.settings("gru-attention", sampled),
        "scheduled sampling": models.tiny(sampled),
        "language model": language.settings(place),
        "carried state": language.settings(place, architecture="lstm", network={"units": 8, "dropout": 0.2}),
        "classification": texts.settings(texts.MOODS, "moods", {"loss": {"class_weights": "balanced"}}),
        "transformer of texts": texts.settings(texts.MOODS, "moods", texts.TRANSFORMER),
        "regression": texts.settings(texts.RATED, "ratings", task="regression"),
        "tagging": tagged.tiny(),
        "images": images.tiny({"threads": 1, "data": {"shift": 1}, "network": {"dropout": 0.1}}),
        "captions": captioned.tiny(),
        "recurrent captions": captioned.recurrent(),
        "forecasting": series.tiny(),
    }
    return {name: merged(given, STEPS) for name, given in found.items()}


@contextmanager
def double_precision() -> Iterator[None]:
    """Let every network that is trained be of float64."""
    single = Architecture.build

    def build(self: Any, configuration: Any, seed: int = 0, dtype: Any = np.float64) -> Any:
        return single(self, configuration, seed, dtype)

    with patch.object(Architecture, "build", build):
        yield


def trained(given: dict[str, Any], out: Path | None = None) -> dict[str, Array]:
    """Train; return theta and the errors of all evaluations."""
    model, outcome = train_model(given, out)
    validated = [record.validation.error for record in outcome.records if record.validation is not None]
    errors = [record.training.error for record in outcome.records]
    return {"theta": model.network.theta.values.copy(), "errors": np.array([*errors, *validated])}


def save(path: Path, results: dict[str, dict[str, Array]]) -> None:
    np.savez(path, **{f"{name}/{part}": array for name, found in results.items() for part, array in found.items()})


def load(path: Path) -> dict[str, dict[str, Array]]:
    found: dict[str, dict[str, Array]] = {}
    with np.load(path) as arrays:
        for key in arrays.files:
            name, _, part = key.partition("/")
            found.setdefault(name, {})[part] = arrays[key]
    return found


def write(path: Path, given: dict[str, dict[str, Any]]) -> None:
    path.write_text(json.dumps(given), encoding="utf-8")
