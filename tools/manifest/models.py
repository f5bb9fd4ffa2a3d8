"""One training of every task: its data, its sizes, and the models that are trained once and shared by the sections."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.manifest import commands

BLOCKS = ("network.depth=16", "network.perceptron_depth=32", "network.heads=2", "network.layers=1")
CELLS = ("network.depth=8", "network.units=16")
SPLIT = ("data.shares=[0.8, 0.1, 0.1]",)
STEPS = 10
TIMES = re.compile(r'("(?:seconds|tokens_per_second)":) [\d.e+-]+')


@dataclass(frozen=True)
class Kind:
    """How small models of a task are trained.

    files    below data/                   options  assignments of every training
    sizes    by the beginning of an architecture's name, the longest that fits
    answers  assignments of the model that answers, which learns a little more
    """

    files: tuple[str, ...]
    options: tuple[str, ...] = ()
    sizes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    answers: tuple[str, ...] = ()

    def network(self, architecture: str) -> tuple[str, ...]:
        known = {"transformer": BLOCKS, "bag": ("network.buckets=512",), "": CELLS, **self.sizes}
        return known[max((name for name in known if architecture.startswith(name)), key=len)]


KINDS = {
    "translation": Kind(
        ("pairs.tsv",), (*SPLIT, 'data.languages=["en", "es"]', "optimizer.batch=16"), answers=("stopping.epochs=20",)
    ),
    "language-model": Kind(
        ("book.txt",), ("data.context=32", "optimizer.batch=8"), answers=("stopping.epochs=4", "optimizer.rate=0.01")
    ),
    "classification": Kind(("moods.tsv",), (*SPLIT, "optimizer.batch=16"), answers=("stopping.epochs=6",)),
    "regression": Kind(("ratings.tsv",), (*SPLIT, "optimizer.batch=16"), answers=("stopping.epochs=6",)),
    "tagging": Kind(("words.conll",), (*SPLIT, "optimizer.batch=8"), answers=("stopping.epochs=8",)),
    "image-classification": Kind(
        ("shapes",),
        (*SPLIT, "optimizer.batch=16"),
        {
            "transformer": (*BLOCKS, "network.patch=2"),
            "convolutional": ("network.filters=4", "network.units=8"),
            "two-layer": ("network.depth=8",),
            "class-token": ("network.depth=8",),
        },
        ("stopping.epochs=6",),
    ),
    "captioning": Kind(
        ("captioned",),
        (*SPLIT, "optimizer.batch=16"),
        {
            "transformer": (*BLOCKS, "network.patch=4"),
            "convolutional": ("network.depth=8", "network.units=16", "network.filters=[4, 4, 4]"),
        },
        ("stopping.epochs=20", "optimizer.rate=0.01"),
    ),
    "forecasting": Kind(("series.csv",), ("optimizer.batch=16", "data.horizon=7"), answers=("stopping.epochs=4",)),
}


def arguments(task: str, architecture: str | None, *more: str, threads: int = 1) -> list[str]:
    """What follows `dragoman train`, without --out."""
    kind = KINDS[task]
    options = [*kind.options, *(kind.network(architecture) if architecture else ()), *more]
    files = [f"data/{name}" for name in kind.files]
    chosen = ["--architecture", architecture] if architecture else []
    sets = [part for each in options for part in ("--set", each)]
    return [*files, "--task", task, "--preset", "small", *chosen, "--threads", str(threads), *sets]


def settings(task: str, architecture: str, *more: str) -> dict[str, Any]:
    """The same as nested settings."""
    from tools.manifest import inner

    kind = KINDS[task]
    given = inner.nested([*kind.options, *kind.network(architecture), *more])
    given["data"] = {"files": [f"data/{name}" for name in kind.files], **given.get("data", {})}
    return {"task": task, "preset": "small", "architecture": architecture, "threads": 1, **given}


def answering(task: str) -> str:
    """The directory of the model that answers for a task; trained if it is not there yet."""
    from tools.manifest import inner

    place = Path("models") / task
    if not (place / "model.json").exists():
        architecture = inner.tasks()[task].architecture
        commands.must("train", *arguments(task, architecture, *KINDS[task].answers), "--out", place)
        for name in ("model.json", "history.jsonl"):  # the digest of a model and the length of an answer have them
            text = (place / name).read_text(encoding="utf-8")
            (place / name).write_text(TIMES.sub(r"\1 0.0", text), encoding="utf-8")
    return str(place)


def answering_all() -> dict[str, str]:
    return {task: answering(task) for task in KINDS}
