"""The form of the audit: a claim is one published equation that runs; a correction is one that fails as printed."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from dragoman.errors import GradientError
from dragoman.graph import Array, GradientReport
from dragoman.graph.gradient_check import compare

VALUE_TOLERANCE = 1e-12
VISIBLY_WRONG = 1e-4  # a printed formula counts as wrong when it is off by more than any rounding could be


@dataclass(frozen=True)
class Evidence:
    """What running a claim showed: its worst error by each method that was used, and what was allowed."""

    errors: dict[str, float]
    passed: bool

    @property
    def worst(self) -> float:
        return max(self.errors.values())

    def __and__(self, other: Evidence) -> Evidence:
        """Both must hold."""
        methods = self.errors.keys() | other.errors.keys()
        worst = {m: max(self.errors.get(m, 0.0), other.errors.get(m, 0.0)) for m in sorted(methods)}
        return Evidence(worst, self.passed and other.passed)


@dataclass(frozen=True)
class Claim:
    """One equation: the ledger ids it settles, its title, and the function that runs it."""

    ids: tuple[str, ...]
    title: str
    formula: str  # LaTeX
    check: Callable[[], Evidence]


@dataclass(frozen=True)
class Correction:
    """One equation that is wrong as printed: both forms run, the printed one must fail and the corrected one hold."""

    id: str  # of the erratum
    ids: tuple[str, ...]  # of the ledger
    title: str
    printed: str  # LaTeX
    corrected: str  # LaTeX
    check: Callable[[], tuple[float, Evidence]]  # error of the printed form, evidence for the corrected one


CLAIMS: list[Claim] = []
CORRECTIONS: list[Correction] = []

Check = Callable[[], Evidence]
Comparison = Callable[[], tuple[float, Evidence]]


def claim(*ids: str, title: str, formula: str) -> Callable[[Check], Check]:
    """Decorator: the function proves an equation and returns the evidence."""

    def register(check: Check) -> Check:
        CLAIMS.append(Claim(ids, title, formula, check))
        return check

    return register


def correction(erratum: str, *ids: str, title: str, printed: str, corrected: str) -> Callable[[Comparison], Comparison]:
    """Decorator: the function returns the error of the printed form and the evidence for the corrected one.

    A printed form that does not even fit together (shapes that cannot be multiplied) has error infinity.
    """

    def register(check: Comparison) -> Comparison:
        CORRECTIONS.append(Correction(erratum, ids, title, printed, corrected, check))
        return check

    return register


def proved(report: GradientReport, *names: str) -> Evidence:
    """Evidence of a gradient check; with names, of the derivatives by those inputs alone."""
    chosen = [c for c in report.comparisons if not names or c.name in names]
    if not chosen:
        raise GradientError(f"the gradient check has no derivative by {', '.join(names)}")
    errors: dict[str, float] = {}
    for c in chosen:
        if c.not_applicable:
            continue
        errors[c.method] = max(errors.get(c.method, 0.0), c.error)
    return Evidence(errors, all(c.passed for c in chosen))


def agreement(method: str, found: Array, expected: Array, tolerance: float) -> Evidence:
    """Evidence of one comparison: largest difference over largest expected value (1e-12 always passes)."""
    comparison = compare(method, method, found, expected, tolerance)
    return Evidence({method: comparison.error}, comparison.passed)


def equal(found: Array | float, expected: Array | float, tolerance: float = VALUE_TOLERANCE) -> Evidence:
    """Evidence that two values agree."""
    method = "value" if tolerance <= VALUE_TOLERANCE else "rounded value"  # a reference given with few digits
    return agreement(method, np.asarray(found, np.float64), np.asarray(expected, np.float64), tolerance)


def holds(condition: bool) -> Evidence:
    """Evidence for a statement that is either so or not."""
    return Evidence({"statement": 0.0 if condition else float("inf")}, bool(condition))


def all_hold(parts: Iterable[Evidence]) -> Evidence:
    """Evidence that all of it holds; there has to be some."""
    return functools.reduce(operator.and_, parts)


def disagreement(found: Array, expected: Array) -> float:
    """How wrong a printed formula is: largest difference over largest expected value; infinite if the shapes differ."""
    if np.shape(found) != np.shape(expected):
        return float("inf")
    return float(np.abs(found - expected).max() / np.abs(expected).max())
