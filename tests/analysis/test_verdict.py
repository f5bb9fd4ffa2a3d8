"""What quality to expect: the weaker of two scores decides, and few sentences are told to say little."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from dragoman.analysis.verdict import LEVELS, verdict


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
    found = verdict(bleu, chrf, 1000)
    assert found.level == level
    assert str(found).startswith("Expect ")
    assert "rule of thumb" in found.caveat
    assert "tested, which says little" not in found.caveat


def test_few_sentences_say_little() -> None:
    assert "Only 99 sentences were tested, which says little." in verdict(50, 75, 99).caveat
    assert "Only 1 sentence was tested" in verdict(50, 75, 1).caveat


def test_bounds_rise() -> None:
    for lower, higher in pairwise(LEVELS):
        assert lower.bleu < higher.bleu
        assert lower.chrf < higher.chrf


def test_the_documentation_has_the_same_bounds() -> None:
    page = (Path(__file__).parents[2] / "docs" / "translating.md").read_text(encoding="utf-8")
    for level in LEVELS:
        expected = level.expect.removeprefix("expect ").partition("; train")[0]
        assert f"| {level.name} | {level.bleu} | {level.chrf} | {expected} |" in page
