"""Results of a translator: translations with alternatives, and alignments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.graph import Array


@dataclass(frozen=True)
class Alternative:
    """A translation of a text, the mean log-probability of its tokens, and how many were decoded."""

    text: str
    score: float
    tokens: int = 0


def together(text: str, units: Sequence[Alternative]) -> Alternative:
    """A text whose units were translated so."""
    tokens = sum(unit.tokens for unit in units)
    total = sum(unit.score * unit.tokens for unit in units if unit.tokens)
    return Alternative(text, total / tokens if tokens else 0.0, tokens)


def confidence(alternative: Alternative) -> float:
    """Return the geometric mean of the probabilities of its tokens; 1 if nothing was decoded."""
    return math.nan if math.isnan(alternative.score) else min(1.0, math.exp(alternative.score))


SHORT = "the translation is much shorter than its source; something may be missing"


def made_up(script: str) -> str:
    """The warning of a text in a script that the model does not know."""
    return f"most letters are {script}, which the model was not trained on: this translation is made up"


def foreign(language: str, other: str | None) -> str:
    """The warning of a text that is not in the language of the model, but maybe in another that it knows."""
    looks = f"does not look like {language}" if other is None else f"looks like {other} and not like {language}"
    return f"{looks}, which the model reads: this translation may be made up"


@dataclass(frozen=True)
class Translation:
    """The alternatives for a text, best first: each has the next best translation of each of its units.

    units          what went through the network at once, mostly a sentence, and the best translation of each
    cut            how many sentences were too long to go through the network at once
    short          how many units have a translation that is much shorter than those the model was trained on
    confidence     geometric mean of the probabilities that the model gave to the tokens of the best alternative, from 0
                   to 1; NaN if it was not scored, 1 for text that is copied. It ranks translations of one model. It is
                   not calibrated: 0.8 does not mean that 8 in 10 such translations are right
    unseen_script  that of the text, if most of its letters did not occur in the training data: its translation has
                   nothing to do with it then
    foreign        what is said of a text that is not in the language that the model reads
    """

    alternatives: tuple[Alternative, ...]
    units: tuple[tuple[str, str], ...] = ()
    unseen_script: str | None = None
    cut: int = 0
    short: int = 0
    foreign: str | None = None

    @property
    def text(self) -> str:
        return self.alternatives[0].text

    @property
    def pieces(self) -> int:
        """In how many units the text was translated."""
        return len(self.units)

    @property
    def confidence(self) -> float:
        return confidence(self.alternatives[0])

    @property
    def warnings(self) -> list[str]:
        """Reasons not to trust the translation."""
        return [
            *([] if self.unseen_script is None else [made_up(self.unseen_script)]),
            *([] if self.foreign is None else [self.foreign]),
            *([SHORT] if self.short else []),
        ]


@dataclass(frozen=True)
class Alignment:
    """The attention from each token of a translation to the tokens of its source: weights [target, source].

    Rows sum to 1.
    """

    source: list[str]
    reference: list[str]
    weights: Array

    def links(self) -> list[tuple[int, int]]:
        """(source token, target token) for each target token but the end: where its attention is highest."""
        return [(int(row.argmax()), i) for i, row in enumerate(self.weights[: len(self.reference) - 1])]
