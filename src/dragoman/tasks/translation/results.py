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


def joint_confidence(pieces: Sequence[Alternative]) -> float:
    """Return the geometric mean of the probabilities of all tokens; 1 if nothing was decoded."""
    tokens = sum(piece.tokens for piece in pieces)
    if not tokens:
        return 1.0
    mean = sum(piece.score * piece.tokens for piece in pieces if piece.tokens) / tokens
    return math.nan if math.isnan(mean) else min(1.0, math.exp(mean))


def made_up(script: str) -> str:
    """The warning of a text in a script that the model does not know."""
    return f"most letters are {script}, which the model was not trained on: this translation is made up"


@dataclass(frozen=True)
class Translation:
    """The alternatives for a text, best first, and in how many segments it was translated.

    confidence     geometric mean of the probabilities that the model gave to the tokens of the best alternative, from 0
                   to 1; NaN if it was not scored, 1 for text that is copied. It ranks translations of one model. It is
                   not calibrated: 0.8 does not mean that 8 in 10 such translations are right
    unseen_script  that of the text, if most of its letters did not occur in the training data: its translation has
                   nothing to do with it then
    """

    alternatives: tuple[Alternative, ...]
    pieces: int = 1
    unseen_script: str | None = None
    confidence: float = 1.0

    @property
    def text(self) -> str:
        return self.alternatives[0].text

    @property
    def warnings(self) -> list[str]:
        """Reasons not to trust the translation."""
        return [] if self.unseen_script is None else [made_up(self.unseen_script)]


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
