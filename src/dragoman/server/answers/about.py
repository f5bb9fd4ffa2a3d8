"""What a model is and how its training went: for a page that shows curves, scores and the testing analysis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dragoman.data.builtin import NAMES
from dragoman.errors import FileFormatError
from dragoman.server.answers.values import Payload, as_json
from dragoman.server.bounds import HISTORY, REPORT_BYTES
from dragoman.training import History

BUILT_IN = frozenset((*NAMES, "scenes"))
OWN = "its own testing part"
# Facts of a report that name files of the machine it was made on.
PRIVATE = ("model", "trained on", "command")
FIELDS = ("task", "dragoman", "architecture", "network", "parameters", "preset", "recipe", "seed")
TRAINING = ("steps", "epochs", "seconds", "ended", "best_step", "tokens")


def about(model: Any, payload: Payload) -> dict[str, Any]:
    """Metadata, the evaluations of the training, and the report of `dragoman evaluate` or null.

    Nothing in it names a file or a directory, but for the built-in corpora.
    """
    return {
        "metadata": metadata_of(model),
        "history": history_of(model.directory),
        "evaluation": evaluation_of(model.directory),
    }


def metadata_of(model: Any) -> dict[str, Any]:
    """What model.json says of the network and its training."""
    dumped = model.metadata.model_dump(mode="json")
    data, training = dumped["data"], dumped["training"]
    files = [name for name in data["files"] if name in BUILT_IN]
    told = {name: value for name, value in training.items() if name in TRAINING or isinstance(value, int | float)}
    found = {name: dumped[name] for name in FIELDS}
    found["data"] = {
        "corpora": files,
        "files": len(data["files"]) - len(files),
        **{name: data[name] for name in ("parts", "split", "shares")},
    }
    found["training"] = told
    found["summary"] = model.network.configuration.summary()
    if languages := dumped.get("languages"):
        found["languages"] = languages
    return as_json(found, 9)  # type: ignore[no-any-return]


def history_of(directory: Path | None) -> list[dict[str, Any]]:
    """The evaluations of a training; of very many, some at regular distances, the best and the last one."""
    if directory is None:
        return []
    try:
        lines = History(directory / "history.jsonl").lines()
    except FileFormatError:
        return []  # a damaged history must not keep a model from being served
    return [as_json(line, 9) for line in _some(lines)]


def _some(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    if len(lines) <= HISTORY:
        return list(lines)
    step = -(-len(lines) // (HISTORY - 2))
    best = max((i for i, line in enumerate(lines) if line.get("best")), default=0)
    kept = sorted({*range(0, len(lines), step), best, len(lines) - 1})
    return [lines[i] for i in kept]


def evaluation_of(directory: Path | None) -> dict[str, Any] | None:
    """evaluation/report.json without the names of files; None if there is none, or if it is damaged or huge."""
    path = None if directory is None else directory / "evaluation" / "report.json"
    try:
        if path is None or path.stat().st_size > REPORT_BYTES:
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    facts = found.get("facts")
    told = {name: fact for name, fact in facts.items() if name not in PRIVATE} if isinstance(facts, dict) else {}
    if told.get("tested on", OWN) != OWN:
        told["tested on"] = "another file"
    return as_json({**found, "facts": told}, 9)  # type: ignore[no-any-return]
