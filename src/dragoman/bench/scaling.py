"""Measure time and memory of a step as one size grows and the others stay fixed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.batch import Batch
from dragoman.bench.preparation import prepare_steps
from dragoman.bench.processes import Process
from dragoman.bench.rounds import OURS
from dragoman.bench.sentences import equal_batch
from dragoman.bench.training import cache_variables, time_steps
from dragoman.bench.workloads import SIZES, Settings, Size, network_configuration
from dragoman.networks import Transformer

CONTENDERS = (OURS, "torch")
ROWS = 4096  # tokens per side and batch in the curve of lengths
BLOCKS = 3
CORPUS = "corpus"  # the curve of corpus sizes, which corpora.py measures


@dataclass(frozen=True)
class Point:
    """One contender at one point of a curve: seconds and tokens (both sides) of a step, and peak memory in bytes."""

    curve: str
    value: int
    contender: str
    seconds: float
    tokens: int
    memory: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Setup:
    """A network and a batch shape on a curve."""

    curve: str
    value: int
    size: Size
    length: int = 10


def setups() -> Iterator[Setup]:
    """Yield the points of all curves; `length` is tokens per sentence, with the same total in each batch."""
    small = SIZES["small"]
    for count in (16, 32, 64, 128, 256, 512):
        yield Setup("batch", count, replace(small, sentences=count))
    for length in (16, 32, 64, 128, 256, 512, 1024):
        yield Setup("length", length, replace(small, sentences=ROWS // length), length)
    for vocabulary in (1000, 2000, 4000, 8000, 16000, 32000):
        yield Setup("vocabulary", vocabulary, replace(small, vocabularies=(vocabulary, vocabulary)))
    for depth in (64, 128, 256, 512):
        shape = {"depth": depth, "perceptron_depth": 2 * depth, "heads": max(4, depth // 32), "layers": 1}
        yield Setup("depth", depth, replace(small, network=shape))
    for layers in (1, 2, 4, 8):
        yield Setup("layers", layers, replace(small, network={**small.network, "layers": layers}))


def measure_scaling(settings: Settings, work: Path, say: Callable[[str], None]) -> list[Point]:
    points = []
    for setup in setups():
        say(f"scaling, {setup.curve} {setup.value:,}")
        points += measure_setup(setup, settings, work)
    return points


def measure_setup(setup: Setup, settings: Settings, work: Path) -> list[Point]:
    batch = equal_batch(setup.size, setup.length, seed=0)
    directory = work / "scaling"
    prepare_steps(directory, Transformer(network_configuration(setup.size)), [batch], 0.0)
    points = [measure_point(name, setup, batch, directory, settings, work) for name in CONTENDERS]
    shutil.rmtree(directory)
    return points


def measure_point(name: str, setup: Setup, batch: Batch, directory: Path, settings: Settings, work: Path) -> Point:
    """Measure the fastest of some blocks, in a new process, so that the memory is that of this point."""
    with Process(name, directory, settings.threads, cache_variables(work, "scaling", settings)) as process:
        time_steps(process, 1)  # compile or load the kernels
        once = time_steps(process, 2) / 2
        steps = max(1, round(settings.block / once))
        seconds = min(time_steps(process, steps) / steps for _ in range(BLOCKS))
        memory = int(process.ask("memory")["bytes"])
    sources = 0 if batch.source is None else len(batch.source.labels)
    return Point(setup.curve, setup.value, name, seconds, len(batch.labels) + sources, memory)
