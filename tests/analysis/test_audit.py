"""The audit itself: every claim holds, every printed mistake fails, and a wrong equation would be noticed."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from latex2mathml.converter import convert

from dragoman.analysis.audit import Finding, run
from dragoman.analysis.audit import claim as forms
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
    "E-B6",
    "E-B7",
    "E-B8",
    "E-B9",
    "E-B10",
    "E-B11",
    "E-B12",
    "E-B13",
    "E-B15",
    "E-B16",
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


# The page


@pytest.fixture(scope="module")
def page() -> str:
    formula = "x = " + " + ".join(f"y_{{{i}}}" for i in range(200))
    findings = [
        Finding("Thesis", ("T-1.4-softmax",), "Softmax & Co", formula, {"value": 0.0}, "holds"),
        Finding("Notes", ("N-2.1-jac", "N-2.2"), "A Jacobian", "y", {"complex step": 1e-16}, "holds"),
        Finding("Thesis", ("E-T5", "T-1.3-simplex"), "Wrong", "z", {"value": 2e-16}, "corrected", "w", float("inf")),
    ]
    return audit_page(findings, "0")


def test_the_page_has_contents_that_lead_to_every_equation(page: str) -> None:
    linked, names = re.findall(r'href="#([^"]+)"', page), re.findall(r'\bid="([^"]+)"', page)
    assert len(names) == len(set(names)) == 6, "three documents, three equations"
    assert sorted(linked) == sorted(names)
    contents = page[page.index("<nav") : page.index("</nav>")]
    assert all(title in contents for title in ("Thesis", "Notes", "Wrong as printed", "Softmax &amp; Co", "A Jacobian"))


def test_the_page_cuts_nothing(page: str) -> None:
    """Wide formulas scroll in a box of their own; there is no table that the rest could leave on the right."""
    assert page.count("<math") == page.count('<div class="formula') == 4
    assert "y</mi><mrow><mn>199" in page
    assert ".formula { overflow-x: auto;" in page
    assert "<table" not in page
    assert "worst error: 0 value" in page
    assert "worst error: shapes do not fit as printed; 2e-16 value" in page


def test_the_page_can_be_filtered_by_words_ids_and_verdicts(page: str) -> None:
    assert 'data-words="softmax &amp; co t-1.4-softmax holds thesis"' in page
    assert 'type="search"' in page
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page
    assert "split(/\\s+/)" in script
