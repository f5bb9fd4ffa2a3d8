"""Decide what a configuration leaves open, from the data; the decisions are saved."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dragoman.data.batching import BatchStream
from dragoman.data.dataset import Dataset
from dragoman.errors import ConfigurationError
from dragoman.networks import Configuration
from dragoman.tasks.components import batching
from dragoman.tasks.configuration import Settings, TranslationConfiguration, configuration, merged
from dragoman.tasks.model import ModelMetadata
from dragoman.tasks.planning import Speed, measure
from dragoman.tasks.recipes import FINE_TUNING_EPOCHS, fine_tuning_for
from dragoman.training.stopping import format_time
from dragoman.training.workers import physical_cores

LONGEST_WARM_UP = 1000
SMALLER = {"large": "medium", "medium": "small"}
PATHS = ("start.model", "start.vectors.source", "start.vectors.target")
MAY_CHANGE = ("out", "threads", "stopping", "checkpoints", "progress")  # when a training is resumed


def preset_for(pairs: int, architecture: str = "transformer") -> str:
    """Return the preset that translates best after this many training pairs (docs/measurements.md, Sizes).

    Transformers were measured; recurrent networks train more slowly and stay small for longer.
    """
    if architecture != "transformer" and pairs < 30_000:
        return "small"
    return "medium" if pairs < 300_000 else "large"


def dropout_for(pairs: int, preset: str) -> float | None:
    """Return the best dropout for a Transformer and this many training pairs; None: that of the recipe."""
    if preset == "small":
        return 0.2 if pairs < 10_000 else None
    return 0.3 if pairs < 10_000 else 0.2 if pairs < 80_000 else None


def epochs_for(pairs: int) -> int:
    """Return the number of epochs: 20 for 70,000 pairs, more for fewer pairs."""
    return max(3, min(100, round(20 * math.sqrt(71_378 / pairs))))


def enough_epochs(pairs: int) -> float:
    """Return the number of epochs below which a smaller network is better in the same time."""
    return epochs_for(pairs) * (0.5 if pairs < 10_000 else 0.25)


def choose_size(
    given: Mapping[str, Any], pairs: int, base: ModelMetadata | None, judged: bool = True
) -> TranslationConfiguration:
    """Complete the configuration with a network: that of the model to fine-tune, or a preset.

    judged  whether there is a validation part, which patience needs
    """
    recipe, preset, model = given.get("recipe", "modern"), given.get("preset"), given.get("start", {}).get("model")
    if base is None:
        return configuration(merged(_decided_size(given, pairs), given))
    if given.get("architecture", base.architecture) != base.architecture:
        raise ConfigurationError(f"{model} is a {base.architecture}; leave the architecture out")
    if preset not in (None, base.preset):
        raise ConfigurationError(f"{model} is not of the preset '{preset}'; leave the preset out")
    shape = base.network.model_dump(exclude={"source_vocabulary", "target_vocabulary", "dropout"})
    for name, value in given.get("network", {}).items():
        if name in shape and value != shape[name]:
            raise ConfigurationError(f"network.{name} is {shape[name]!r} in {model}; it cannot change")
    decided = {"architecture": base.architecture, "network": shape} | ({"preset": base.preset} if base.preset else {})
    tuning = fine_tuning_for(recipe, base.preset)
    if not judged:
        tuning = {name: section for name, section in tuning.items() if name != "stopping"}
    return configuration(merged(decided, tuning, given))


def _decided_size(given: Mapping[str, Any], pairs: int) -> Settings:
    """Decide preset and dropout where they are left open; the recipe `thesis` has no dropout."""
    architecture = given.get("architecture", "transformer")
    preset = given.get("preset") or preset_for(pairs, architecture)
    decided: Settings = {"preset": preset}
    dropout = dropout_for(pairs, preset)
    if dropout is not None and given.get("recipe", "modern") == "modern" and architecture == "transformer":
        decided["network"] = {"dropout": dropout}
    return decided


def plan_schedule(
    settings: TranslationConfiguration,
    dataset: Dataset,
    tell: Callable[[str], None],
    smaller: Callable[[str], TranslationConfiguration] | None = None,
) -> tuple[TranslationConfiguration, Speed | None]:
    """Decide the number of epochs or steps and the length of the schedule; also return the speed if it was measured.

    A budget alone plans the steps of the schedule and leaves `stopping.steps` open: they are planned again when the
    pace changes. A schedule whose steps are given is kept, and then the budget plans a limit.

    smaller  returns the settings with another preset, if the preset is free: with a short budget a smaller network is
             better
    """
    optimizer, stopping = settings.optimizer, settings.stopping
    steps, epochs, whole, speed = stopping.steps, stopping.epochs, optimizer.schedule_steps, None
    if steps is None and epochs is None:
        if stopping.budget is None:
            tuned = settings.start.model is not None and settings.recipe == "modern"
            epochs = FINE_TUNING_EPOCHS if tuned else epochs_for(len(dataset.part("training")))
        else:
            tell(f"measuring this machine for a few seconds, to plan {format_time(stopping.budget)}")
            settings, speed = _fitting_size(settings, dataset, stopping.budget, smaller)
            optimizer = settings.optimizer
            fitting = speed.steps_within(stopping.budget)
            steps, whole = (None, fitting) if whole is None else (fitting, whole)
    settings = settings.model_copy(update={"stopping": stopping.model_copy(update={"steps": steps, "epochs": epochs})})
    whole = whole or int(planned_steps(settings, dataset))
    warm_up = min(LONGEST_WARM_UP, whole // 10) if optimizer.warm_up is None else optimizer.warm_up
    decided = settings.model_copy(
        update={
            "threads": settings.threads or physical_cores(),
            "optimizer": optimizer.model_copy(update={"schedule_steps": whole, "warm_up": warm_up}),
        }
    )
    return decided, speed


def _fitting_size(
    settings: TranslationConfiguration,
    dataset: Dataset,
    budget: float,
    smaller: Callable[[str], TranslationConfiguration] | None,
) -> tuple[TranslationConfiguration, Speed]:
    """Return the largest network that completes enough epochs within a budget, or the smallest; and its speed."""
    enough = enough_epochs(len(dataset.part("training")))
    speed = measure(settings, dataset)
    while smaller is not None and speed.steps_within(budget) < enough * speed.steps_per_epoch:
        preset = SMALLER.get(settings.preset or "")
        if preset is None:
            break
        settings = smaller(preset)
        speed = measure(settings, dataset)
    return settings, speed


def planned_by_budget(settings: TranslationConfiguration) -> bool:
    """Return whether only a time budget limits the number of steps."""
    return settings.stopping.steps is None and settings.stopping.epochs is None


def planned_steps(settings: TranslationConfiguration, dataset: Dataset) -> float:
    optimizer, stopping = settings.optimizer, settings.stopping
    if planned_by_budget(settings):
        return optimizer.schedule_steps or math.inf
    batches = BatchStream(dataset.part("training"), batching(optimizer), settings.seed).batches_in_epoch
    steps = math.ceil(batches / optimizer.accumulate)
    return min(stopping.steps or math.inf, (stopping.epochs or math.inf) * steps)


def decided_before(saved: TranslationConfiguration) -> Settings:
    """Return the decisions of a resumed training, which stay even if this version would decide differently."""
    decided: Settings = {} if saved.preset is None else {"preset": saved.preset}
    dropout = getattr(saved.network, "dropout", None)
    return decided if dropout is None else {**decided, "network": {"dropout": dropout}}


def check_resume(
    asked: TranslationConfiguration, saved: TranslationConfiguration, place: str
) -> TranslationConfiguration:
    """Return the saved configuration with the new stopping rules; raise an error if other settings differ.

    Files may have new names: the caller has compared their contents.
    """
    changed = [
        f"{name} = {then!r} then, {now!r} now"
        for name, now, then in _compared(asked, saved)
        if now is not None and not _same(name, now, then)
    ]
    if changed:
        raise ConfigurationError(
            f"{place} holds a training with other settings: {'; '.join(changed)}. "
            "Give the same settings to resume it, or another --out"
        )
    stopping = asked.stopping
    if stopping.epochs is None and stopping.steps is None:  # decided from the data then, and kept
        limits = {name: getattr(saved.stopping, name) for name in ("epochs", "steps")}
        stopping = stopping.model_copy(update=limits)
    kept = {name: getattr(asked, name) for name in MAY_CHANGE}
    data = saved.data.model_copy(update={"files": asked.data.files})
    threads = asked.threads or saved.threads
    return saved.model_copy(update=kept | {"stopping": stopping, "threads": threads, "data": data})


def _same(name: str, now: Any, then: Any) -> bool:
    if name == "data.files":
        return True
    if name in PATHS and then is not None:
        return Path(now).resolve() == Path(then).resolve()
    return bool(now == then)


def _compared(asked: Any, saved: Any, prefix: str = "") -> list[tuple[str, Any, Any]]:
    """List (name, value now, value then) of every setting that must not change."""
    compared = []
    for name in type(asked).model_fields:
        if not prefix and name in MAY_CHANGE:
            continue
        now, then = getattr(asked, name), getattr(saved, name)
        nested = isinstance(now, Configuration)
        compared += _compared(now, then, f"{prefix}{name}.") if nested else [(f"{prefix}{name}", now, then)]
    return compared
