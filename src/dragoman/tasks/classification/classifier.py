"""Classifier: texts in, classes with their probabilities out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.data.classes import Classes
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.tasks.classification.text_model import Explanation, TextModel, WordEffect
from dragoman.tasks.inputs import takes_texts


@dataclass(frozen=True)
class ClassPrediction:
    """The class of a text, or its classes where there may be several.

    probability    of the label; where there may be several, the lowest of its labels' (the highest if it has none)
    probabilities  of all classes, in the order of their names; they add up to 1 unless there may be several
    """

    labels: tuple[str, ...]
    probability: float
    probabilities: dict[str, float]
    several: bool = False

    @property
    def label(self) -> str:
        """The class; several are joined by commas."""
        return ", ".join(self.labels)

    def line(self) -> str:
        """Label and probability with a tab between them."""
        if not self.several:
            return f"{self.label}\t{self.probability:.4f}"
        return f"{self.label or '-'}\t{', '.join(f'{self.probabilities[name]:.4f}' for name in self.labels) or '-'}"

    def as_dict(self) -> dict[str, Any]:
        found = {name: round(value, 6) for name, value in self.probabilities.items()}
        if self.several:
            return {"labels": list(self.labels), "probabilities": found}
        return {"label": self.label, "probability": round(self.probability, 6), "probabilities": found}


def class_prediction(row: Array, classes: Classes) -> ClassPrediction:
    """What the probabilities of all classes [classes] say."""
    names, several = classes.names, classes.several
    by_name = {name: float(value) for name, value in zip(names, row, strict=True)}
    chosen = np.flatnonzero(row > 0.5) if several else np.array([row.argmax()])
    sure = float(row[chosen].min() if len(chosen) else row.max())
    return ClassPrediction(tuple(names[i] for i in chosen), sure, by_name, several)


class Classifier(TextModel):
    """Tells the class of a text: one of two, one of many, or any number of them."""

    task = "classification"

    @property
    def classes(self) -> Classes:
        found: Classes = self.encoders["label"]
        return found

    def probabilities(self, texts: Iterable[str]) -> Array:
        """[n, classes] of each class; rows add up to 1 unless a text may have several classes."""
        return self._probabilities(self.logits(texts))

    def _probabilities(self, z: Array) -> Array:
        if self.classes.several:
            return _logistic(z)
        if self.classes.binary:
            return np.concatenate([_logistic(-z), _logistic(z)], axis=1)
        shifted = np.exp(z - z.max(axis=1, keepdims=True))
        share: Array = shifted / shifted.sum(axis=1, keepdims=True)
        return share

    @takes_texts
    def predict(self, texts: Sequence[str]) -> list[ClassPrediction]:
        """The class of each text; the same for a text alone and among others."""
        return [class_prediction(row, self.classes) for row in self.probabilities(texts)]

    def explain(self, text: str, label: str | None = None) -> Explanation:
        """Which words decided for a class, by default the predicted one.

        The effect of a word is how much the log-odds of the class, log(p / (1 - p)), fall when that word alone is left
        out of the text: above 0 it speaks for the class, below 0 against it. Words that only count together get little
        credit each.
        """
        if label is None:
            label = max((p := self.predict([text])[0]).probabilities.items(), key=lambda item: item[1])[0]
            label = p.labels[0] if p.labels else label
        number = self.classes.number(label)
        if number is None:
            raise ConfigurationError(f"there is no class '{label}'; the model knows {self.classes.shown()}")
        effects = self._effects(text, lambda z: self.log_odds(z)[:, number])
        return Explanation(f"log-odds of {label}", tuple(WordEffect(*each) for each in effects))

    def log_odds(self, z: Array) -> Array:
        """[n, classes] log(p / (1 - p)) from logits, also where p rounds to 0 or 1."""
        if self.classes.several:
            return z
        if self.classes.binary:
            return np.concatenate([-z, z], axis=1)
        found = np.empty_like(z)
        for k in range(z.shape[1]):
            others = np.delete(z, k, axis=1)
            top = others.max(axis=1)
            found[:, k] = z[:, k] - top - np.log(np.exp(others - top[:, None]).sum(axis=1))
        return found


def _logistic(z: Array) -> Array:
    small = np.exp(-np.abs(z))
    y: Array = np.where(z > 0, 1.0, small) / (1 + small)
    return y
