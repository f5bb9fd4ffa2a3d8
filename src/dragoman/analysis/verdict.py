"""The quality to expect of a translator: a rule of thumb from BLEU and chrF."""

from __future__ import annotations

from dataclasses import dataclass

FEW = 100  # with fewer sentences the scores are unreliable
CAVEAT = "A rule of thumb from BLEU and chrF, for sentences like those tested; read some translations yourself."


@dataclass(frozen=True)
class Level:
    """A class of quality: both scores must reach its bounds."""

    name: str
    bleu: float
    chrf: float
    expect: str


LEVELS = (
    Level("unusable", 0, 0, "expect unusable translations; train longer or on more pairs"),
    Level("gist", 10, 30, "expect the gist at best; most sentences have to be translated anew"),
    Level("heavy", 20, 45, "expect heavy post-editing: most sentences need several corrections"),
    Level("moderate", 35, 60, "expect moderate post-editing: many sentences need a correction or two"),
    Level("light", 50, 75, "expect light post-editing: most sentences are right or nearly right"),
)


@dataclass(frozen=True)
class Verdict:
    """The quality to expect, and how far to trust that."""

    level: str
    expect: str
    caveat: str

    def __str__(self) -> str:
        return f"{self.expect[0].upper()}{self.expect[1:]}."


def verdict(bleu: float, chrf: float, sentences: int) -> Verdict:
    """The highest level whose bounds both scores reach: the weaker of the two decides."""
    level = [level for level in LEVELS if bleu >= level.bleu and chrf >= level.chrf][-1]
    few = f" Only {sentences} {'sentence was' if sentences == 1 else 'sentences were'} tested, which says little."
    return Verdict(level.name, level.expect, CAVEAT + (few if sentences < FEW else ""))
