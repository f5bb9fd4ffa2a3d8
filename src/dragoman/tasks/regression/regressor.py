"""Regressor: texts in, numbers out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.data.scaler import Scaler
from dragoman.graph import Array
from dragoman.tasks.classification.text_model import Explanation, TextModel, WordEffect
from dragoman.tasks.inputs import takes_texts


@dataclass(frozen=True)
class NumberPrediction:
    """The number of a text."""

    number: float

    def line(self) -> str:
        return f"{self.number:.6g}"

    def as_dict(self) -> dict[str, Any]:
        return {"number": float(f"{self.number:.8g}")}


class Regressor(TextModel):
    """Predicts a number for a text."""

    task = "regression"

    @property
    def scaler(self) -> Scaler:
        found: Scaler = self.encoders["label"]
        return found

    def numbers(self, texts: Iterable[str]) -> Array:
        """[n] the predicted number of each text."""
        return self.scaler.decode(self.logits(texts)[:, 0])

    @takes_texts
    def predict(self, texts: Sequence[str]) -> list[NumberPrediction]:
        return [NumberPrediction(float(number)) for number in self.numbers(texts)]

    def explain(self, text: str) -> Explanation:
        """Which words decided: how much the predicted number falls when a word alone is left out of the text."""
        effects = self._effects(text, lambda z: self.scaler.decode(z[:, 0]))
        return Explanation("the number", tuple(WordEffect(*each) for each in effects))
