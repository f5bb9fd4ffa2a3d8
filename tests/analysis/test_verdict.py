"""What quality to expect: the weaker of two scores decides, and few sentences are told to say little."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from dragoman.analysis.testing import Judged, Score
from dragoman.analysis.verdict import LEVELS, verdict


def judged(
    bleu: float, chrf: float, sentences: int = 400, exact: float = 0.0, short: float = 0.0, off: float = 0.0
) -> Judged:
    """Scores with intervals of `off` to either side."""
    scores = [Score(value, value - off, value + off, "") for value in (bleu, chrf)]
    return Judged(sentences, exact, short, *scores)


@pytest.mark.parametrize(
    ("bleu", "chrf", "level"),
    [
        (0.0, 0.0, "unusable"),
        (9.9, 80.0, "unusable"),
        (10.0, 30.0, "gist"),
        (20.0, 45.0, "heavy"),
        (60.0, 59.9, "heavy"),
        (35.0, 60.0, "moderate"),
        (50.0, 75.0, "light"),
        (100.0, 100.0, "light"),
    ],
)
def test_the_weaker_score_decides(bleu: float, chrf: float, level: str) -> None:
    found = verdict(judged(bleu, chrf, exact=1.0))
    assert (found.level, found.lowest, found.highest) == (level, level, level)
    assert str(found).startswith("Expect ")
    assert found.caveat == "A rule of thumb from BLEU and chrF of 400 sentences. Read some translations yourself."


@pytest.mark.parametrize(
    ("chrf", "exact", "level"),
    [(76.0, 0.7, "light"), (50.0, 0.7, "light"), (62.0, 0.0, "moderate"), (20.0, 0.05, "unusable")],
)
def test_without_sequences_of_four_words_bleu_does_not_count(chrf: float, exact: float, level: str) -> None:
    found = verdict(judged(0.0, chrf, exact=exact, short=0.8))
    assert found.level == level
    assert "from chrF and exact matches (BLEU needs longer texts)" in found.caveat


def test_what_the_intervals_allow_is_said() -> None:
    found = verdict(judged(21, 46, off=3))
    assert (found.level, found.lowest, found.highest) == ("heavy", "gist", "heavy")
    assert "whose 95 % intervals reach from 'gist' to 'heavy'" in found.caveat


def test_few_sentences_say_little() -> None:
    assert "of 99 sentences. So few say little." in verdict(judged(50, 75, 99)).caveat
    assert "of 1 sentence. So few say little." in verdict(judged(50, 75, 1)).caveat


def test_bounds_rise() -> None:
    for lower, higher in pairwise(LEVELS):
        assert lower.bleu < higher.bleu
        assert lower.chrf < higher.chrf
        assert lower.exact < higher.exact


def test_the_documentation_has_the_same_bounds() -> None:
    page = (Path(__file__).parents[2] / "docs" / "translating.md").read_text(encoding="utf-8")
    for level in LEVELS:
        expected = level.expect.removeprefix("expect ").partition("; train")[0]
        assert f"| {level.name} | {level.bleu} | {level.chrf} | {level.exact} | {expected} |" in page
