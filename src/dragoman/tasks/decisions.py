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
from dragoman.tasks.configuration import Settings, TrainingConfiguration, configuration, merged
from dragoman.tasks.model import ModelMetadata
from dragoman.tasks.planning import Speed, measure
from dragoman.tasks.recipes import recipe_for
from dragoman.tasks.task import DEFAULT, find_task
from dragoman.training.stopping import format_time
from dragoman.training.workers import threads_per_rank

LONGEST_WARM_UP = 1000
THESIS_WARM_UP = 4000
SMALLER = {"large": "medium", "medium": "small"}
PATHS = ("start.model", "start.vectors.source", "start.vectors.target")
RENAMED = ("files", "languages")  # of the data: names of what stays the same
MAY_CHANGE = (
    "out",
    "threads",
    "sharded_optimizer",
    "stopping",
    "checkpoints",
    "progress",
)  # when a training is resumed


def choose_size(given: Mapping[str, Any], dataset: Dataset, base: ModelMetadata | None) -> TrainingConfiguration:
    """The configuration with a network: that of the model it starts from, whose fine-tuning it is, or a preset."""
    task, judged = find_task(given.get("task", DEFAULT)), dataset.about["parts"]["validation"] > 0
    recipe, preset, model = given.get("recipe", "modern"), given.get("preset"), given.get("start", {}).get("model")
    if base is None:
        return configuration(merged(task.decide(given, dataset), given))
    if given.get("architecture", base.architecture) != base.architecture:
        raise ConfigurationError(f"{model} is a {base.architecture}; leave the architecture out")
    if preset not in (None, base.preset):
        raise ConfigurationError(f"{model} is not of the preset '{preset}'; leave the preset out")
    chosen = task.architectures[base.architecture].settings.model_fields.keys() - {"dropout"}
    shape = base.network.model_dump(include=set(chosen))
    for name, value in given.get("network", {}).items():
        if name in shape and value != shape[name]:
            raise ConfigurationError(f"network.{name} is {shape[name]!r} in {model}; it cannot change")
    decided = {"architecture": base.architecture, "network": shape} | ({"preset": base.preset} if base.preset else {})
    tuning: Settings = {}
    if recipe == "modern":
        whole = recipe_for(task, recipe, base.preset, (), base.architecture)
        tuning = task.fine_tuning(dataset, whole["optimizer"]["rate"])
    if not judged:
        tuning = {name: section for name, section in tuning.items() if name != "stopping"}
    return configuration(merged(decided, tuning, given))


def plan_schedule(
    settings: TrainingConfiguration,
    dataset: Dataset,
    tell: Callable[[str], None],
    smaller: Callable[[str], TrainingConfiguration] | None = None,
) -> tuple[TrainingConfiguration, Speed | None]:
    """How many epochs or steps, and over how many of them the rate falls; and the speed that a plan was made by.

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
            task = find_task(settings.task)
            epochs = task.fine_tuning_epochs(dataset) if tuned else task.epochs(dataset)
        else:
            tell(f"measuring this machine for a few seconds, to plan {format_time(stopping.budget)}")
            settings, speed = _fitting_size(settings, dataset, stopping.budget, smaller)
            optimizer = settings.optimizer
            fitting = speed.steps_within(stopping.budget)
            steps, whole = (None, fitting) if whole is None else (fitting, whole)
    settings = settings.model_copy(update={"stopping": stopping.model_copy(update={"steps": steps, "epochs": epochs})})
    whole = whole or int(planned_steps(settings, dataset))
    warm_up = _warm_up(optimizer.schedule, whole) if optimizer.warm_up is None else optimizer.warm_up
    decided = settings.model_copy(
        update={
            "threads": settings.threads or threads_per_rank(),
            "optimizer": optimizer.model_copy(update={"schedule_steps": whole, "warm_up": warm_up}),
        }
    )
    return decided, speed


def _warm_up(schedule: str, whole: int) -> int:
    """A tenth of all steps, up to a number; as printed, the thesis's warm-up does not depend on the other steps."""
    if schedule == "thesis_as_printed":
        return THESIS_WARM_UP
    return min(THESIS_WARM_UP if schedule == "thesis" else LONGEST_WARM_UP, whole // 10)


def _fitting_size(
    settings: TrainingConfiguration,
    dataset: Dataset,
    budget: float,
    smaller: Callable[[str], TrainingConfiguration] | None,
) -> tuple[TrainingConfiguration, Speed]:
    """The largest network that gets through enough epochs within a budget, and its speed; else the smallest."""
    enough = find_task(settings.task).enough_epochs(dataset)
    speed = measure(settings, dataset)
    while smaller is not None and speed.steps_within(budget) < enough * speed.steps_per_epoch:
        preset = SMALLER.get(settings.preset or "")
        if preset is None:
            break
        settings = smaller(preset)
        speed = measure(settings, dataset)
    return settings, speed


def planned_by_budget(settings: TrainingConfiguration) -> bool:
    """Whether the number of steps is planned by the clock: nothing else limits it."""
    return settings.stopping.steps is None and settings.stopping.epochs is None


def planned_steps(settings: TrainingConfiguration, dataset: Dataset) -> float:
    optimizer, stopping = settings.optimizer, settings.stopping
    if planned_by_budget(settings):
        return optimizer.schedule_steps or math.inf
    stream = find_task(settings.task).batches(settings, dataset)
    return min(stopping.steps or math.inf, _steps_of_epochs(stream, stopping.epochs or math.inf, optimizer.accumulate))


def _steps_of_epochs(stream: BatchStream, epochs: float, accumulate: int) -> float:
    """Count the steps of these epochs; growing batches make later epochs shorter."""
    first = [0, *(epoch for epoch, _ in stream.batching.growth if epoch < epochs)]
    steps = 0.0
    for start, end in zip(first, [*first[1:], epochs], strict=True):
        if start != stream.epoch:
            stream.seek(stream.seed, start, 0)
        steps += (end - start) * math.ceil(stream.batches_in_epoch / accumulate)
    return steps


def decided_before(saved: TrainingConfiguration) -> Settings:
    """What a training that is resumed decided by itself: it stays, whatever this version would decide."""
    decided: Settings = {} if saved.preset is None else {"preset": saved.preset}
    dropout = getattr(saved.network, "dropout", None)
    return decided if dropout is None else {**decided, "network": {"dropout": dropout}}


def check_resume(asked: TrainingConfiguration, saved: TrainingConfiguration, place: str) -> TrainingConfiguration:
    """The saved configuration with this time's stopping rules; an error when it is that of another training.

    Files and languages may have new names: the caller has compared what is read.
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
    renamed = {name: getattr(asked.data, name) for name in RENAMED if getattr(asked.data, name, None) is not None}
    data = saved.data.model_copy(update=renamed)
    threads = asked.threads or saved.threads
    return saved.model_copy(update=kept | {"stopping": stopping, "threads": threads, "data": data})


def _same(name: str, now: Any, then: Any) -> bool:
    if name.removeprefix("data.") in RENAMED:
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
