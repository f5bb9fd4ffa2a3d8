"""What a configuration leaves open is decided from the data, once, and written down."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dragoman.data.batching import BatchStream
from dragoman.data.dataset import Dataset
from dragoman.errors import ConfigurationError
from dragoman.tasks.components import batching
from dragoman.tasks.configuration import Settings, TranslationConfiguration, configuration, merged
from dragoman.tasks.model import ModelFacts
from dragoman.tasks.planning import measure
from dragoman.training.stopping import told_time
from dragoman.training.workers import physical_cores

LONGEST_WARM_UP = 1000
MAY_CHANGE = ("out", "threads", "stopping", "checkpoints", "progress")  # when a training is taken up again


def preset_for(pairs: int) -> str:
    """A size that so many training pairs can fill, and that a laptop trains overnight."""
    return "small" if pairs < 30_000 else "medium" if pairs < 300_000 else "large"


def epochs_for(pairs: int) -> int:
    """About 12 for 70,000 pairs; few pairs need more passes, many pairs fewer."""
    return max(3, min(100, round(12 * math.sqrt(71_378 / pairs))))


def sized(given: Mapping[str, Any], pairs: int, base: ModelFacts | None) -> TranslationConfiguration:
    """The configuration with a network: that of the model it starts from, or a preset."""
    asked = configuration(given)
    if base is None:
        decided: Settings = {} if asked.preset else {"preset": preset_for(pairs)}
        return configuration(merged(decided, given))
    if given.get("architecture", base.architecture) != base.architecture:
        raise ConfigurationError(f"{asked.start.model} is a {base.architecture}; leave the architecture out")
    if asked.preset not in (None, base.preset):
        raise ConfigurationError(f"{asked.start.model} is not of the preset '{asked.preset}'; leave the preset out")
    shape = base.network.model_dump(exclude={"source_vocabulary", "reference_vocabulary", "dropout"})
    for name, value in given.get("network", {}).items():
        if name in shape and value != shape[name]:
            raise ConfigurationError(f"network.{name} is {shape[name]!r} in {asked.start.model}; it cannot change")
    decided = {"architecture": base.architecture, "network": shape} | ({"preset": base.preset} if base.preset else {})
    return configuration(merged(decided, given))


def paced(
    settings: TranslationConfiguration, dataset: Dataset, tell: Callable[[str], None]
) -> TranslationConfiguration:
    """How many epochs or steps, and over how many of them the rate falls."""
    optimizer, stopping = settings.optimizer, settings.stopping
    training = dataset.part("training")
    steps, epochs = stopping.steps, stopping.epochs
    if steps is None and epochs is None:
        if stopping.budget is None:
            epochs = epochs_for(len(training))
        else:
            tell(f"measuring this machine for a few seconds, to plan {told_time(stopping.budget)}")
            steps = measure(settings, dataset).steps_within(stopping.budget)
    settings = settings.model_copy(update={"stopping": stopping.model_copy(update={"steps": steps, "epochs": epochs})})
    whole = optimizer.schedule_steps or int(planned_steps(settings, dataset))
    warm_up = min(LONGEST_WARM_UP, whole // 10) if optimizer.warm_up is None else optimizer.warm_up
    return settings.model_copy(
        update={
            "threads": settings.threads or physical_cores(),
            "optimizer": optimizer.model_copy(update={"schedule_steps": whole, "warm_up": warm_up}),
        }
    )


def planned_steps(settings: TranslationConfiguration, dataset: Dataset) -> float:
    optimizer, stopping = settings.optimizer, settings.stopping
    batches = BatchStream(dataset.part("training"), batching(optimizer), settings.seed).batches_in_epoch
    steps = math.ceil(batches / optimizer.accumulate)
    return min(stopping.steps or math.inf, (stopping.epochs or math.inf) * steps)


def continued(asked: TranslationConfiguration, saved: TranslationConfiguration, place: str) -> TranslationConfiguration:
    """The saved configuration with this time's stopping rules; an error when it is that of another training."""
    changed = [
        f"{name} = {then!r} then, {now!r} now"
        for name, now, then in _compared(asked, saved)
        if now != then and now is not None
    ]
    if changed:
        raise ConfigurationError(
            f"{place} holds a training with other settings: {'; '.join(changed)}. "
            "Give the same settings to go on with it, or another --out"
        )
    stopping = asked.stopping
    if stopping.epochs is None and stopping.steps is None:  # decided by the data then, and still
        limits = {name: getattr(saved.stopping, name) for name in ("epochs", "steps")}
        stopping = stopping.model_copy(update=limits)
    kept = {name: getattr(asked, name) for name in MAY_CHANGE}
    return saved.model_copy(update=kept | {"stopping": stopping, "threads": asked.threads or saved.threads})


def _compared(asked: Any, saved: Any, prefix: str = "") -> list[tuple[str, Any, Any]]:
    """(name, value now, value then) of every setting that makes a training what it is."""
    compared = []
    for name in type(asked).model_fields:
        if not prefix and name in MAY_CHANGE:
            continue
        now, then = getattr(asked, name), getattr(saved, name)
        nested = hasattr(type(now), "model_fields")
        compared += _compared(now, then, f"{prefix}{name}.") if nested else [(f"{prefix}{name}", now, then)]
    return compared
