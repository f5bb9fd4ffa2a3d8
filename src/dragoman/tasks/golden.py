"""Golden answers: some inputs with what the finished model answered, kept in its directory.

A server lets a model answer them again before it serves it, and so finds damaged files and files of different models.
On another processor a few may differ: scores that are nearly equal change their order.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.data.cache import file_digest
from dragoman.errors import FileFormatError
from dragoman.training.checkpoints import replace_file

if TYPE_CHECKING:
    from dragoman.data.dataset import Dataset
    from dragoman.tasks.task import Task

NAME = "golden.jsonl"
WEIGHTS = "weights.safetensors"
COUNT = 16
LOOKED_AT = 1_000  # texts to choose from
SHORT = (10, 80)  # characters
TOLERATED = 1 / 5  # share of answers that may differ


@dataclass(frozen=True)
class GoldenResult:
    """How many golden answers there are, and how many differ now."""

    total: int
    differing: int

    @property
    def failed(self) -> bool:
        """Whether so many differ that it is not the model that was trained."""
        return self.differing > TOLERATED * self.total


def are_in(directory: Path) -> bool:
    return (directory / NAME).exists()


def remove(directory: Path) -> None:
    (directory / NAME).unlink(missing_ok=True)


def write(task: Task, model: Any, dataset: Dataset, directory: Path) -> None:
    """Let the model answer, and write it down; tasks without golden inputs have no file."""
    inputs = task.golden_inputs(dataset)
    answers = task.golden_answers(model, inputs) if inputs else []
    if not answers:
        return
    lines = [
        json.dumps({"input": each, "output": answer}, ensure_ascii=False)
        for each, answer in zip(inputs, answers, strict=True)
    ]
    replace_file(directory / NAME, "\n".join(lines) + "\n")


def load(directory: Path) -> list[tuple[Any, Any]]:
    """The inputs and answers of a directory; none if it has none."""
    path = directory / NAME
    if not path.exists():
        return []
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [(line["input"], line["output"]) for line in lines]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}; delete it to do without golden answers") from None


def check(model: Any, directory: str | Path) -> GoldenResult:
    """Let a model answer the golden inputs of a directory again."""
    from dragoman.engines.compute import fast_compute
    from dragoman.tasks.task import find_task

    kept = load(Path(directory))
    if not kept:
        return GoldenResult(0, 0)
    with fast_compute():
        answers = find_task(model.task).golden_answers(model, [given for given, _ in kept])
    same = sum(answer == expected for answer, (_, expected) in zip(answers, kept, strict=True))
    return GoldenResult(len(kept), len(kept) - same)


def some_texts(dataset: Dataset, field: str) -> list[str]:
    """Short texts of the testing part, else of the validation part, else of the training part."""
    for part in ("testing", "validation", "training"):
        texts = dict.fromkeys(islice(dataset.part(part).texts(field), LOOKED_AT))
        if texts:
            return short_ones(list(texts))
    return []


def short_ones(texts: list[str]) -> list[str]:
    """Some of the texts, from everywhere among them; short ones if there are enough."""
    least, most = SHORT
    short = [text for text in texts if least <= len(text) <= most]
    chosen = short if len(short) >= COUNT else sorted(texts, key=len)[:COUNT]
    return chosen[:: max(1, len(chosen) // COUNT)][:COUNT]


@contextmanager
def kept_answers(before: Path | None, place: Path) -> Iterator[None]:
    """Where weights are written: golden answers come along if the weights are those that gave them, else they go."""
    weights = None if before is None else _digest(before / WEIGHTS)
    yield
    if before is None or weights is None or _digest(place / WEIGHTS) != weights:
        remove(place)
    elif before.resolve() != place.resolve():
        remove(place)
        if are_in(before):
            shutil.copyfile(before / NAME, place / NAME)


def _digest(path: Path) -> str | None:
    return file_digest(path) if path.exists() else None
