"""What a translator returns: translations with their alternatives, and alignments."""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.graph import Array


@dataclass(frozen=True)
class Alternative:
    """One way to translate a text, and the mean log-probability of its tokens."""

    text: str
    score: float


@dataclass(frozen=True)
class Translation:
    """The alternatives for a text, best first, and in how many segments it was translated.

    unseen_script  that of the text, if most of its letters did not occur in the training data: its translation has
                   nothing to do with it then
    """

    alternatives: tuple[Alternative, ...]
    pieces: int = 1
    unseen_script: str | None = None

    @property
    def text(self) -> str:
        return self.alternatives[0].text

    @property
    def warnings(self) -> list[str]:
        """Reasons not to trust the translation."""
        if self.unseen_script is None:
            return []
        return [
            f"most letters are {self.unseen_script}, which the model was not trained on: this translation is made up"
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
