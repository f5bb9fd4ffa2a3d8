"""Jobs as a worker gets them: JSON in, JSON out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dragoman.server.answers import ANSWERS


def ask(kind: str, model: Any, **payload: Any) -> Any:
    """An answer, which is JSON and nothing else."""
    found = ANSWERS[kind](model, json.loads(json.dumps(payload)))
    if isinstance(found, Iterator):
        found = _finished(found)
    return json.loads(json.dumps(found, allow_nan=False))


def _finished(work: Iterator[Any]) -> Any:
    """What work in slices returns, else the parts that it gives."""
    parts = []
    while True:
        try:
            parts.append(next(work))
        except StopIteration as end:
            return parts if end.value is None else end.value
