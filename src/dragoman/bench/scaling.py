"""Cost as the work grows: a step's time and memory against one size at a time, the others held."""

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
from dragoman.bench.training import caches, take
from dragoman.bench.workloads import SIZES, Settings, Size, configured

CONTENDERS = (OURS, "torch")
ROWS = 4096  # labels a side in every batch of the curve of lengths
BLOCKS = 3
CORPUS = "corpus"  # the curve that corpora.py measures, of corpus sizes


@dataclass(frozen=True)
class Point:
    """One contender at one place of a curve: the seconds and labels (both sides) of a step, and bytes at most."""

    curve: str
    value: int
    contender: str
    seconds: float
    tokens: int
    memory: int

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Place:
    """A network and a batch shape on a curve."""

    curve: str
    value: int
    size: Size
    length: int = 10


def places() -> Iterator[Place]:
    """batch: sentences   length: labels a sentence, as many labels in all   vocabulary   depth: d   layers"""
    small = SIZES["small"]
    for count in (16, 32, 64, 128, 256, 512):
        yield Place("batch", count, replace(small, sentences=count))
    for length in (16, 32, 64, 128, 256, 512, 1024):
        yield Place("length", length, replace(small, sentences=ROWS // length), length)
    for vocabulary in (1000, 2000, 4000, 8000, 16000, 32000):
        yield Place("vocabulary", vocabulary, replace(small, vocabularies=(vocabulary, vocabulary)))
    for depth in (64, 128, 256, 512):
        shape = {"depth": depth, "perceptron_depth": 2 * depth, "heads": max(4, depth // 32), "layers": 1}
        yield Place("depth", depth, replace(small, network=shape))
    for layers in (1, 2, 4, 8):
        yield Place("layers", layers, replace(small, network={**small.network, "layers": layers}))


def measure_scaling(settings: Settings, work: Path, say: Callable[[str], None]) -> list[Point]:
    points = []
    for place in places():
        say(f"scaling, {place.curve} {place.value:,}")
        points += measure_place(place, settings, work)
    return points


def measure_place(place: Place, settings: Settings, work: Path) -> list[Point]:
    batch = equal_batch(place.size, place.length, seed=0)
    directory = work / "scaling"
    prepare_steps(directory, configured(place.size), [batch], 0.0)
    points = [measure_point(name, place, batch, directory, settings, work) for name in CONTENDERS]
    shutil.rmtree(directory)
    return points


def measure_point(name: str, place: Place, batch: Batch, directory: Path, settings: Settings, work: Path) -> Point:
    """The fastest of some blocks, in a process of its own, so that its memory is that of this point."""
    with Process(name, directory, settings.threads, caches(work, "scaling", settings)) as process:
        take(process, 1)  # kernels are compiled or loaded
        once = take(process, 2) / 2
        steps = max(1, round(settings.block / once))
        seconds = min(take(process, steps) / steps for _ in range(BLOCKS))
        memory = int(process.ask("memory")["bytes"])
    sources = 0 if batch.source is None else len(batch.source.labels)
    return Point(place.curve, place.value, name, seconds, len(batch.labels) + sources, memory)
