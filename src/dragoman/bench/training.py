"""Training steps, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from dragoman.bench.preparation import prepare_steps
from dragoman.bench.processes import ContenderError, Process, first_step, started
from dragoman.bench.rounds import OURS, Row, alternate, ratios
from dragoman.bench.sentences import Sentences
from dragoman.bench.workloads import TRAINING, Settings, configured

TOLERANCE = 1e-4
TIMED_STARTS = (OURS, "torch", "torch.compile")
OPTIONAL = ("torch.compile",)
Say = Callable[[str], None]
T = TypeVar("T")


def measure_training(
    preset: str, name: str, settings: Settings, sentences: Sentences, work: Path, starts: bool, say: Say
) -> list[Row]:
    """The rows of one workload. `starts`: also how long a first step takes, cold and cached."""
    workload, size = TRAINING[name], settings.size(preset)
    size = replace(size, vocabularies=sentences.vocabularies or size.vocabularies)
    batches = sentences.batches(workload, size)
    directory = work / f"{preset}-{name}"
    configuration = configured(size, block=workload.block, dropout=workload.dropout, positions=workload.positions)
    prepare_steps(directory, configuration, batches, workload.smoothing)
    variables = caches(work, preset, settings)
    names = [OURS, "torch", "gemm", *["torch.compile"] * settings.compile]
    times = {}
    if starts:
        say(f"{preset}: the first step, with kernels to compile and without")
        times = start_times(names, directory, settings, variables)
    names = [contender for contender in names if contender not in settings.skipped]
    say(f"{preset}, {name}: {workload.told}")
    with started(names, directory, settings.threads, variables) as processes:
        check_agreement(processes, settings)
        warm_up(processes, len(batches), settings)
        passes = calibrated(processes[OURS], len(batches), settings.block)
        steps = passes * len(batches)
        blocks = {name: partial(take, process, steps) for name, process in processes.items()}
        seconds = alternate(blocks, settings.rounds, settings.idle)
        memory = {name: int(process.ask("memory")["bytes"]) for name, process in processes.items()}
    epoch = sentences.batches_in_epoch(size) if workload.in_order else None
    return rows_of(preset, name, seconds, steps, memory, times, epoch)


def caches(work: Path, preset: str, settings: Settings) -> dict[str, str]:
    """Where compiled kernels are kept: empty when a preset begins, or where they always are if no start is timed."""
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
            cold, cached = (attempted(name, settings, once) for _ in range(2))
            if cold is not None and cached is not None:
                times[name] = cold, cached
    return times


def attempted(name: str, settings: Settings, work: Callable[[], T]) -> T | None:
    """What the work gives; None when an optional contender fails at it, which is kept to be told."""
    try:
        return work()
    except ContenderError as error:
        if name not in OPTIONAL:
            raise
        settings.skipped[name] = str(error).splitlines()[0]
        return None


def check_agreement(processes: dict[str, Process], settings: Settings) -> None:
    """Nothing is timed before all compute the same error and gradient norm from the same weights."""
    ours = processes[OURS].ask("check")
    for name in [name for name in processes if name not in (OURS, "gemm")]:
        theirs = attempted(name, settings, partial(processes[name].ask, "check"))
        if theirs is None:
            processes.pop(name).close()
            continue
        for what in ("error", "norm"):
            if not math.isclose(ours[what], theirs[what], rel_tol=TOLERANCE):
                raise ContenderError(
                    f"{OURS} and {name} do not compute the same thing, so their times cannot be compared: "
                    f"the {what} of the first batch is {ours[what]:.7g} and {theirs[what]:.7g}"
                )


def take(process: Process, steps: int) -> float:
    """Seconds of so many steps; a few before them bring back to the cache what others drove out of it."""
    process.ask("steps", count=max(1, steps // 4))
    return float(process.ask("steps", count=steps)["seconds"])


def warm_up(processes: dict[str, Process], steps: int, settings: Settings) -> None:
    """Every shape once, or what compiles while it runs would be timed; an optional contender that fails leaves."""
    for name in list(processes):
        passes = 2 if name == "torch.compile" else 1  # shapes that vary are compiled twice
        if attempted(name, settings, partial(take, processes[name], passes * steps)) is None:
            processes.pop(name).close()


def calibrated(process: Process, steps: int, least: float) -> int:
    """How many passes over the batches make a block long enough to be timed."""
    return max(1, math.ceil(least / take(process, steps)))


def rows_of(
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
                gemm_share=ratios(seconds, "gemm")[1] if name == OURS else None,
                epoch_seconds=None if epoch is None else each * epoch,
            )
        )
    return rows
