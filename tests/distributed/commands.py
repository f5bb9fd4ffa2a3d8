"""One training, as settings and as a command, that writes a checkpoint after every step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.tasks.configuration import merged, read_assignments
from tests.tasks.models import pairs_file, told_history

ASSIGNMENTS = (
    "threads=1",
    "preset=small",
    "network.depth=16",
    "network.perceptron_depth=32",
    "network.heads=2",
    "network.dropout=0.1",
    "optimizer.batch=8",
    "optimizer.averaging=0.9",
    "data.shares=[0.8, 0.1, 0.1]",
    "checkpoints.minutes=0.000001",
    "checkpoints.average=2",
    "stopping.epochs=3",
)


def settings() -> dict[str, Any]:
    return merged({"data": {"files": [pairs_file()]}}, read_assignments(list(ASSIGNMENTS)))


def command(out: Path, *more: str) -> list[str]:
    """The arguments of torchrun."""
    assignments = [word for each in (*ASSIGNMENTS, *more) for word in ("--set", each)]
    return ["-m", "dragoman", "train", pairs_file(), *assignments, "--out", str(out)]


def latest(out: Path) -> int:
    """The step of the last checkpoint; 0 if there is none."""
    try:
        return int((out / "checkpoints" / "latest").read_text().rpartition("-")[2])
    except OSError:
        return 0


def assert_same_model(out: Path, whole: Path) -> None:
    for name in ("weights.safetensors", "golden.jsonl", "source-tokenizer.json"):
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name
    assert told_history(out) == told_history(whole)
