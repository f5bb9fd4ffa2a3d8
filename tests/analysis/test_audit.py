"""The audit itself: every claim holds, every printed mistake fails, and a wrong equation would be noticed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from latex2mathml.converter import convert

from dragoman.analysis.audit import claim as forms
from dragoman.analysis.audit import run
from dragoman.analysis.audit.claim import (
    CLAIMS,
    CORRECTIONS,
    VISIBLY_WRONG,
    Claim,
    Correction,
    disagreement,
    equal,
    holds,
    proved,
)
from dragoman.analysis.audit.page import audit_page
from dragoman.errors import GradientError
from dragoman.graph import gradient_check, operation
from dragoman.operations import cross_entropy

run._load()
ERRATA = Path(__file__).parents[2] / "docs" / "errata.md"
PROVED = [pytest.param(c, id=f"{c.ids[0]} {c.title}", marks=pytest.mark.ledger(*c.ids)) for c in CLAIMS]
FIXED = [pytest.param(c, id=f"{c.id} {c.title}", marks=pytest.mark.ledger(*c.ids)) for c in CORRECTIONS]


@pytest.mark.parametrize("claim", PROVED)
def test_every_claim_holds(claim: Claim) -> None:
    evidence = claim.check()
    assert evidence.passed, evidence.errors


@pytest.mark.parametrize("correction", FIXED)
def test_printed_mistakes_fail_and_their_corrections_hold(correction: Correction) -> None:
    printed, evidence = correction.check()
    assert printed > VISIBLY_WRONG
    assert evidence.passed, evidence.errors


# What was found wrong in thesis, notes, book, sheet and lecture. E-N5 is wrong in prose alone: see below.
WRONG = [
    "E-T1",
    "E-T3",
    "E-T4",
    "E-T5",
    "E-T6",
    "E-N1",
    "E-B1",
    "E-B2",
    "E-B4",
    "E-C1",
    "E-C2",
    "E-C3",
    "E-C4",
    "E-C5",
    "E-C6",
    "E-C7",
    "E-C8",
    "E-C10",
    "E-L2",
]
CONDITIONAL = ["E-T9", "E-T10", "E-N2", "E-B5"]  # right elsewhere, wrong where the source applies them


def test_every_wrong_verdict_has_its_correction_and_its_row_in_the_errata_document() -> None:
    table = ERRATA.read_text(encoding="utf-8").split("## Right under a condition")[0]
    assert {c.id for c in CORRECTIONS} == {*WRONG, *CONDITIONAL}
    assert set(re.findall(r"^\| (E-\w+) ", table, re.MULTILINE)) == {*WRONG, *CONDITIONAL}
    assert "E-N5" in table


def test_the_cross_entropy_of_the_notes_is_to_be_made_small_not_large() -> None:
    """E-N5: with its minus sign, the loss falls as the true class becomes more probable."""
    logits = np.array([[0.0, 0.0], [2.0, 0.0]])
    losses = [float(cross_entropy(row[None], targets=np.array([0]))[0]) for row in logits]
    assert losses[1] < losses[0]


@pytest.mark.parametrize(
    "formula", [c.formula for c in CLAIMS] + [f for c in CORRECTIONS for f in (c.printed, c.corrected)]
)
def test_formulas_render_without_leftover_commands(formula: str) -> None:
    assert "\\" not in re.sub(r"<annotation.*?</annotation>", "", convert(formula))


@operation
def square_with_wrong_derivative(x):
    return x * x, lambda dy: x * dy


def test_a_wrong_derivative_is_a_failure() -> None:
    evidence = proved(gradient_check(square_with_wrong_derivative, np.array([1.0, 2.0])))
    assert not evidence.passed
    assert evidence.errors["central differences"] == pytest.approx(0.5, rel=1e-6)


def test_evidence_of_both_needs_both() -> None:
    both = equal(1.0, 1.0) & holds(False)
    assert not both.passed
    assert both.worst == np.inf


def test_a_name_the_check_does_not_have_is_an_error() -> None:
    with pytest.raises(GradientError, match="no derivative by weights"):
        proved(gradient_check(square_with_wrong_derivative, np.ones(2)), "weights")


@pytest.fixture
def two_broken_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises() -> forms.Evidence:
        raise ValueError("no such <thing>")

    claims = [
        Claim(("T-1.4-softmax",), "broken", "x", raises),
        Claim(("N-2.1-jac",), "wrong", "y", lambda: holds(False)),
    ]
    harmless = Correction("E-X", ("T-1.4-softmax",), "not a mistake", "x", "x", lambda: (0.0, holds(True)))
    monkeypatch.setattr(run, "_load", lambda: (claims, [harmless]))


@pytest.mark.usefixtures("two_broken_claims")
def test_the_audit_reports_failures_and_goes_on() -> None:
    broken, wrong, harmless = run.audit()
    assert [f.verdict for f in (broken, wrong, harmless)] == ["FAILS"] * 3
    assert "ValueError: no such <thing>" in broken.errors
    assert not harmless.passed, "a printed form that is right must not be listed as wrong"


def test_values_agree_to_rounding_and_no_further() -> None:
    """What float64 may lose passes; a slip in the ninth digit, which no reader of a table would see, does not."""
    assert equal(1.0, 1.0 + 1e-13).passed
    assert not equal(1.0, 1.0 + 1e-9).passed
    assert not equal(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-11])).passed


@pytest.mark.parametrize(("off", "verdict"), [(1e-15, "FAILS"), (1e-6, "FAILS"), (1e-3, "corrected")])
def test_a_printed_form_counts_as_wrong_only_where_rounding_cannot_explain_it(
    monkeypatch: pytest.MonkeyPatch, off: float, verdict: str
) -> None:
    compared = disagreement(np.array([1.0, 1.0 + off]), np.ones(2))
    fix = Correction("E-X", ("T-1.4-softmax",), "a digit", "x", "x", lambda: (compared, holds(True)))
    monkeypatch.setattr(run, "_load", lambda: ([], [fix]))
    assert [finding.verdict for finding in run.audit()] == [verdict]


@pytest.mark.usefixtures("two_broken_claims")
def test_the_page_escapes_what_it_shows() -> None:
    page = audit_page(list(run.audit()), "0")
    assert "no such &lt;thing&gt;" in page
    assert "<thing>" not in page
