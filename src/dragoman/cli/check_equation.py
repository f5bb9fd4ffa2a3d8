"""One equation of the audit as `dragoman check WORD` shows it: formula, result, tests and code."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.syntax import Syntax

from dragoman.analysis.audit import Finding
from dragoman.analysis.audit.ledger import Ledger
from dragoman.analysis.audit.sources import code_of
from dragoman.cli.fields import print_field

NO_TESTS = "known only where the source code of Dragoman is checked out"


def as_dict(finding: Finding) -> dict[str, Any]:
    """Convert a finding to JSON; an infinite error (shapes that do not fit, a check that failed) is null."""
    described: dict[str, Any] = {
        "ids": finding.ids,
        "source": finding.source,
        "title": finding.title,
        "formula": finding.formula,
        "verdict": finding.verdict,
        "worst_error": _finite(finding.worst),
        "errors": {method: _finite(value) for method, value in finding.errors.items()},
    }
    if finding.printed is not None:
        described |= {"printed": finding.printed, "printed_error": _finite(finding.printed_error)}
    return described


def with_details(finding: Finding, ledger: Ledger) -> dict[str, Any]:
    """Convert a finding to JSON with its ledger entries, tests (null if unknown) and code."""
    known = [i for i in finding.ids if ledger.statement(i)]
    return as_dict(finding) | {
        "statements": {i: {"place": ledger.place(i), "statement": ledger.statement(i)} for i in known},
        "tests": ledger.tests(*finding.ids),
        "code": [vars(code) for code in code_of(finding.check)],
    }


def print_equation(finding: Finding, ledger: Ledger, screen: Console, shown: set[str]) -> None:
    """Print one equation. Code that was shown before is only named."""
    described = with_details(finding, ledger)
    screen.rule(style="dim")
    screen.print(f"{finding.title}: {finding.verdict}", style="bold", highlight=False, markup=False)
    last = ""
    for name, text in _lines(finding, described):
        print_field(name if name != last else "", text, 13, screen)
        last = name
    again = []
    for code in described["code"]:
        name = f"{code['file']}: {code['name']}"
        if name in shown:
            again.append(code["name"])
            continue
        print_field("code", name, 13, screen)
        _print_code(code["source"], screen)
        shown.add(name)
    if again:
        print_field("code above", ", ".join(again), 13, screen)


def _lines(finding: Finding, described: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "source", finding.source
    yield "ids", ", ".join(finding.ids)
    for identifier, row in described["statements"].items():
        yield "place", f"{identifier} {row['place']}: {row['statement']}"
    if finding.printed is not None:
        yield "printed", finding.printed
    yield "formula", finding.formula
    yield "worst error", _errors(finding)
    for name in described["tests"] or [NO_TESTS]:
        yield "test", name


def _print_code(source: str, screen: Console) -> None:
    """Print code, in colours on a terminal."""
    if screen.is_terminal:
        screen.print(Syntax(source, "python", background_color="default", word_wrap=True, padding=(0, 2)))
    else:
        screen.print(textwrap.indent(source, "    "), highlight=False, markup=False)


def _errors(finding: Finding) -> str:
    described = [f"{value:.1e} {method}" for method, value in finding.errors.items()]
    if finding.printed_error is not None:
        wrong = "shapes do not fit" if math.isinf(finding.printed_error) else f"{finding.printed_error:.1e}"
        described.append(f"{wrong} as printed")
    return ", ".join(described)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
