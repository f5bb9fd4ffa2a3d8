"""Measure training steps of all contenders."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from dragoman.bench.preparation import prepare_steps
from dragoman.bench.processes import ContenderError, Process, first_step, start_processes
from dragoman.bench.rounds import AGAINST, LINEAR_PRODUCTS, OURS, PRODUCTS, Row, alternate, ratios
from dragoman.bench.sentences import Sentences
from dragoman.bench.workloads import TRAINING, Settings, new_network

TOLERANCE = 1e-4
TIMED_STARTS = (OURS, "torch", "torch.compile", AGAINST)
OPTIONAL = ("torch.compile",)
Say = Callable[[str], None]
T = TypeVar("T")


def measure_training(
    preset: str, name: str, settings: Settings, sentences: Sentences, work: Path, starts: bool, say: Say
) -> list[Row]:
    """Measure one workload. `starts`: also time the first step, with an empty and with a filled kernel cache."""
    workload, size = TRAINING[name], settings.size(preset)
    size = replace(size, vocabularies=sentences.vocabularies or size.vocabularies)
    batches = sentences.batches(workload, size)
    directory = work / f"{preset}-{name}"
    prepare_steps(directory, new_network(workload, size), batches, workload.smoothing)
    variables = cache_variables(work, preset, settings)
    names = [OURS, "torch", PRODUCTS, LINEAR_PRODUCTS, *["torch.compile"] * settings.compile]
    if settings.against is not None:
        names = [OURS, AGAINST]
        variables["PYTHONPATH"] = str(settings.against / "src")
    times = {}
    if starts:
        say(f"{preset}: first step, with an empty and with a filled kernel cache")
        times = start_times(names, directory, settings, variables)
    names = [contender for contender in names if contender not in settings.skipped]
    say(f"{preset}, {name}: {workload.description}")
    with start_processes(names, directory, settings.threads, variables) as processes:
        check_agreement(processes, settings)
        warm_up(processes, len(batches), settings)
        passes = passes_per_block(processes[OURS], len(batches), settings.block)
        steps = passes * len(batches)
        blocks = {name: partial(time_steps, process, steps) for name, process in processes.items()}
        seconds = alternate(blocks, settings.rounds, settings.idle)
        memory = {name: int(process.ask("memory")["bytes"]) for name, process in processes.items()}
    epoch = sentences.batches_in_epoch(size) if workload.in_order else None
    return make_rows(preset, name, seconds, steps, memory, times, epoch)


def cache_variables(work: Path, preset: str, settings: Settings) -> dict[str, str]:
    """Return environment variables for the kernel caches: new ones per preset if starts are timed, else the usual."""
    if not settings.starts:
        return {}
    place = work / f"kernels-{preset}"
    return {"NUMBA_CACHE_DIR": str(place / "numba"), "TORCHINDUCTOR_CACHE_DIR": str(place / "inductor")}


def start_times(
    names: list[str], directory: Path, settings: Settings, variables: Mapping[str, str]
) -> dict[str, tuple[float, float]]:
    times = {}
    for name in names:
        if name in TIMED_STARTS and name not in settings.skipped:
            once = partial(first_step, name, directory, settings.threads, variables)
            cold, cached = (try_optional(name, settings, once) for _ in range(2))
            if cold is not None and cached is not None:
                times[name] = cold, cached
    return times


def try_optional(name: str, settings: Settings, work: Callable[[], T]) -> T | None:
    """Run the work; if an optional contender fails at it, note why in `settings.skipped` and return None."""
    try:
        return work()
    except ContenderError as error:
        if name not in OPTIONAL:
            raise
        settings.skipped[name] = str(error).splitlines()[0]
        return None


def check_agreement(processes: dict[str, Process], settings: Settings) -> None:
    """Raise unless all contenders compute the same error and gradient norm from the same weights."""
    ours = processes[OURS].ask("check")
    for name in [name for name in processes if name not in (OURS, PRODUCTS, LINEAR_PRODUCTS)]:
        theirs = try_optional(name, settings, partial(processes[name].ask, "check"))
        if theirs is None:
            processes.pop(name).close()
            continue
        for what in ("error", "norm"):
            if not math.isclose(ours[what], theirs[what], rel_tol=TOLERANCE):
                raise ContenderError(
                    f"{OURS} and {name} do not compute the same, so their times cannot be compared: "
                    f"the {what} of the first batch is {ours[what]:.7g} and {theirs[what]:.7g}"
                )


def time_steps(process: Process, steps: int) -> float:
    """Time this many steps, after a few that refill the CPU caches."""
    process.ask("steps", count=max(1, steps // 4))
    return float(process.ask("steps", count=steps)["seconds"])


def warm_up(processes: dict[str, Process], steps: int, settings: Settings) -> None:
    """Run every batch shape once, so that compiling is not timed; drop an optional contender that fails."""
    for name in list(processes):
        passes = 2 if name == "torch.compile" else 1  # dynamic shapes are compiled twice
        if try_optional(name, settings, partial(time_steps, processes[name], passes * steps)) is None:
            processes.pop(name).close()


def passes_per_block(process: Process, steps: int, least: float) -> int:
    """Return the number of passes over the batches that take at least this many seconds."""
    return max(1, math.ceil(least / time_steps(process, steps)))


def make_rows(
    preset: str,
    workload: str,
    seconds: Mapping[str, list[float]],
    steps: int,
    memory: Mapping[str, int],
    starts: Mapping[str, tuple[float, float]],
    epoch: int | None,
) -> list[Row]:
    rows = []
    for name, times in seconds.items():
        least, median, spread = ratios(seconds, name)
        cold, cached = starts.get(name, (None, None))
        each = float(np.median(times)) / steps
        rows.append(
            Row(
                "training",
                workload,
                preset,
                name,
                len(times),
                each,
                least,
                median,
                spread,
                memory[name],
                memory[OURS] / memory[name],
                cold,
                cached,
                gemm_share=ratios(seconds, PRODUCTS)[1] if name == OURS and PRODUCTS in seconds else None,
                linear_share=ratios(seconds, LINEAR_PRODUCTS)[1] if name == OURS and PRODUCTS in seconds else None,
                epoch_seconds=None if epoch is None else each * epoch,
            )
        )
    return rows
