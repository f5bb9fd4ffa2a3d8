"""Models of a worker: loaded, with the threads they may use, and checked by their golden answers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.errors import ConfigurationError
from dragoman.server.answers import ANSWERS, details
from dragoman.server.backend import ModelInfo
from dragoman.server.warming import warm_up
from dragoman.tasks import golden
from dragoman.tasks.model import load_metadata
from dragoman.tasks.task import find_task
from dragoman.training.workers import Workers

log = logging.getLogger("dragoman.server")


def load_models(directories: Mapping[str, Path], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Load, check and warm up models.

    The front process is told {"models": [...], "problems": [...], "unchecked": [names without golden answers]}.
    given  threads: of each model; languages: by name, of translators whose training was not told them
    """
    from dragoman.engines import use_fastest

    use_fastest(tell=lambda text: log.info("%s", text))
    models, described, problems, unchecked = {}, [], list[str](), list[str]()
    for name, directory in directories.items():
        model = find_task(load_metadata(directory).task).load(directory)
        if hasattr(model, "workers"):
            model.workers = Workers(given["threads"])
        if not golden.are_in(directory):
            unchecked.append(name)
        problems += _check(name, model, directory)
        models[name] = model
        described.append(describe(name, model, given["languages"].get(name)).as_dict())
    problems += warm_up(models, ANSWERS)
    return models, {"models": described, "problems": problems, "unchecked": unchecked}


def _check(name: str, model: Any, directory: Path) -> list[str]:
    """Let the model answer its golden samples; an error if it does not do what it did after its training."""
    found = golden.check(model, directory)
    if found.failed:
        raise ConfigurationError(
            f"{name} does not answer as it did after its training: {found.differing} of {found.total} golden samples "
            "differ; its files may be damaged or from different trainings"
        )
    return (
        [f"{name}: {found.differing} of {found.total} golden samples differ on this machine"] if found.differing else []
    )


def describe(name: str, model: Any, languages: tuple[str, str] | None) -> ModelInfo:
    """What clients are told of a model."""

    source, target = languages or getattr(model.metadata, "languages", None) or (None, None)
    if model.task == "translation" and source is None:
        raise ConfigurationError(
            f"{name} does not say which languages it translates; name them: --languages {name}=en,es"
        )
    return ModelInfo(name, model.task, source, target, model.metadata.parameters, details=details(model))
