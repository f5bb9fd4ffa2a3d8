"""What a worker answers to jobs other than translation: pure functions of a model and a payload, JSON in and out.

`generate` gives an iterator of parts, `explain` one of slices of work that returns the answer at its end (None while it
works), the others give one answer. Mistakes in a payload raise a DragomanError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dragoman.server.answers.about import about
from dragoman.server.answers.details import details
from dragoman.server.answers.explain import explain
from dragoman.server.answers.features import features
from dragoman.server.answers.generate import generate
from dragoman.server.answers.predict import predict
from dragoman.server.answers.score import score

__all__ = ["ANSWERS", "details"]

ANSWERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "explain": explain,
    "score": score,
    "generate": generate,
    "predict": predict,
    "features": features,
    "about": about,
}
