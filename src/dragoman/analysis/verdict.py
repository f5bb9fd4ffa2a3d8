"""The quality to expect of a translator: a rule of thumb from BLEU and chrF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.analysis.testing import Judged

FEW = 100  # with fewer sentences the scores are unreliable
MOSTLY = 0.5  # share of references too short for BLEU, above which it is left out


@dataclass(frozen=True)
class Level:
    """A class of quality: both scores must reach its bounds. Of short texts, the share that is exactly right may do."""

    name: str
    bleu: float
    chrf: float
    exact: float
    expect: str


LEVELS = (
    Level("unusable", 0, 0, 0, "expect unusable translations; train longer or on more pairs"),
    Level("gist", 10, 30, 0.1, "expect the gist at best; most sentences have to be translated anew"),
    Level("heavy", 20, 45, 0.2, "expect heavy post-editing: most sentences need several corrections"),
    Level("moderate", 35, 60, 0.4, "expect moderate post-editing: many sentences need a correction or two"),
    Level("light", 50, 75, 0.6, "expect light post-editing: most sentences are right or nearly right"),
)


@dataclass(frozen=True)
class Verdict:
    """The quality to expect, and how far to trust that.

    lowest, highest  the levels that the 95 % intervals of the scores allow
    """

    level: str
    lowest: str
    highest: str
    expect: str
    caveat: str

    def __str__(self) -> str:
        return f"{self.expect[0].upper()}{self.expect[1:]}."


def verdict(judged: Judged) -> Verdict:
    """The highest level whose bounds the scores reach: the weaker of BLEU and chrF decides.

    BLEU counts sequences of four words, and is near 0 where texts have fewer: then chrF decides, or the share of texts
    that are exactly right, whichever is higher.
    """
    short = judged.short > MOSTLY
    low, level, high = (
        _level(bleu, chrf, judged.exact, short)
        for bleu, chrf in (
            (judged.bleu.low, judged.chrf.low),
            (judged.bleu.value, judged.chrf.value),
            (judged.bleu.high, judged.chrf.high),
        )
    )
    return Verdict(level.name, low.name, high.name, level.expect, _caveat(judged, short, low, high))


def _level(bleu: float, chrf: float, exact: float, short: bool) -> Level:
    def reached(level: Level) -> bool:
        if short:
            return chrf >= level.chrf or exact >= level.exact
        return bleu >= level.bleu and chrf >= level.chrf

    return [level for level in LEVELS if reached(level)][-1]


def _caveat(judged: Judged, short: bool, low: Level, high: Level) -> str:
    scores = "chrF and exact matches (BLEU needs longer texts)" if short else "BLEU and chrF"
    count = f"{judged.sentences:,} {'sentence' if judged.sentences == 1 else 'sentences'}"
    parts = [f"A rule of thumb from {scores} of {count}"]
    if low is not high:
        parts[0] += f", whose 95 % intervals reach from '{low.name}' to '{high.name}'"
    if judged.sentences < FEW:
        parts.append("So few say little")
    return ". ".join([*parts, "Read some translations yourself."])
