"""Run the audit: every claim and every correction, one after the other."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dragoman.analysis.audit.claim import CLAIMS, CORRECTIONS, VISIBLY_WRONG, Claim, Correction, Evidence

SOURCES = {"T": "Thesis", "N": "Notes", "B": "Book", "C": "Custom-net sheet", "L": "Lecture"}
MODULES = (
    *("architecture", "errors", "layers", "attention", "backpropagation"),  # thesis, chapters 1, 3 and 4
    *("loss_index", "optimization", "convergence"),  # thesis, section 4.1 and chapter 5
    *("notes_calculus", "notes_blocks", "notes_descent"),
    *("recurrence", "recurrence_corrections", "vanishing"),  # book, section 7.2
    *("attention_corrections", "transformer_corrections"),  # book, sections 7.2 to 7.5
    *("sheet_two_layer", "sheet_encoder", "sheet_corrections"),
    "lecture",
    "corrections",
)

Equation = Claim | Correction
Verdict = Literal["holds", "FAILS", "corrected"]


@dataclass(frozen=True)
class Finding:
    """What the audit says about one equation."""

    source: str
    ids: tuple[str, ...]
    title: str
    formula: str
    errors: dict[str, float]
    verdict: Verdict
    printed: str | None = None  # corrections: the formula as printed, and how wrong it is
    printed_error: float | None = None
    check: Callable[[], Any] | None = None  # the function that ran it

    @property
    def worst(self) -> float:
        return max(self.errors.values())

    @property
    def passed(self) -> bool:
        return self.verdict != "FAILS"


def _load() -> tuple[list[Claim], list[Correction]]:
    for module in MODULES:
        importlib.import_module(f"dragoman.analysis.audit.{module}")
    order = list(SOURCES)
    return (
        sorted(CLAIMS, key=lambda c: order.index(c.ids[0][0])),
        sorted(CORRECTIONS, key=lambda c: (order.index(c.ids[0][0]), int(c.id[3:]))),
    )


def equations() -> list[Equation]:
    """All that can be audited, in the order of the audit."""
    claims, corrections = _load()
    return [*claims, *corrections]


def audit_size() -> int:
    """How many findings `audit` will yield."""
    return len(equations())


def audit(only: Collection[Equation] | None = None) -> Iterator[Finding]:
    """Check everything, or only these; a claim that raises or warns is a failure, not the end of the audit."""
    claims, corrections = _load()
    for c in claims:
        if only is not None and c not in only:
            continue
        evidence = _guarded(c)
        verdict: Verdict = "holds" if evidence.passed else "FAILS"
        yield Finding(SOURCES[c.ids[0][0]], c.ids, c.title, c.formula, evidence.errors, verdict, check=c.check)
    for fix in corrections:
        if only is not None and fix not in only:
            continue
        wrong, evidence = _guarded_correction(fix)
        verdict = "corrected" if evidence.passed and wrong > VISIBLY_WRONG else "FAILS"
        ids = (fix.id, *fix.ids)
        yield Finding(
            SOURCES[fix.ids[0][0]],
            ids,
            fix.title,
            fix.corrected,
            evidence.errors,
            verdict,
            fix.printed,
            wrong,
            fix.check,
        )


def _broken(error: Exception) -> Evidence:
    return Evidence({f"{type(error).__name__}: {error}": float("inf")}, False)


def _guarded(c: Claim) -> Evidence:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return c.check()
    except Exception as error:
        return _broken(error)


def _guarded_correction(c: Correction) -> tuple[float, Evidence]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return c.check()
    except Exception as error:
        return 0.0, _broken(error)
