"""The evaluation of a language model: how well it predicts a text, beside models that anyone can make."""

from __future__ import annotations

from typing import Any

from dragoman.analysis.task_report import TaskReport
from dragoman.tasks.language_model.scoring import score_of


def evaluate(model: Any, text: str) -> TaskReport:
    labels = model.tokenizer.encode([text])[0]
    (measured,) = model.measure([labels])
    found = score_of(text, labels, measured)
    metrics = {
        "error": -found.log_probability / max(1, found.tokens),
        "perplexity": found.perplexity,
        "bits_per_character": found.bits_per_character,
        "accuracy": float(measured.right[measured.counted].mean()),
    }
    return TaskReport(f"{found.bits_per_character:.3f} bits per character", metrics)
