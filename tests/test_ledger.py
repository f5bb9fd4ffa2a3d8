"""The ledger: all statements of the sources, and which of them the tests settle."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from dragoman.operations import softmax
from tests.conftest import SOURCES, ledger_report, ledger_rows
from tests.package_use import uses_package

ROOT = Path(__file__).parent.parent
REASONS = ("prose: ", "design: ", "figure: ")
EXCUSED = {"B-7.1-tasks-d"}  # captions


def report(*paths: str) -> str:
    """What `pytest --ledger` prints."""
    command = [sys.executable, "-m", "pytest", "--ledger", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *paths]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout


def uncovered(printed: str) -> set[str]:
    return set(re.findall(r"^ +(\S+) +not covered", printed, re.MULTILINE))


def test_every_statement_is_there_in_a_line_of_its_own() -> None:
    rows = ledger_rows()
    assert Counter(identifier[0] for identifier in rows) == {"T": 163, "N": 48, "B": 125, "C": 35, "L": 65}
    assert len({row["statement"] for row in rows.values()}) == len(rows)
    assert all(not row["untested"] or row["untested"].startswith(REASONS) for row in rows.values())


def test_every_statement_has_a_test_of_the_package_or_a_reason(request: pytest.FixtureRequest) -> None:
    """Judged by the tests that were collected; where those are a selection, by all that there are."""
    missing = uncovered("\n".join(ledger_report(request.session.items)))
    if not missing <= EXCUSED:
        missing = uncovered(report())
    assert missing <= EXCUSED


def test_the_report_counts_the_statements_of_every_source() -> None:
    printed = report("tests/notes")
    assert re.findall(r"^([^:\n]+): \d+ of \d+ covered", printed, re.MULTILINE) == list(SOURCES.values())
    assert re.search(r"^notes: [1-9]\d* of 48 covered", printed, re.MULTILINE)
    assert "T-1.4-softmax" in uncovered(printed)  # its tests are elsewhere


def test_a_test_that_rests_on_code_of_the_tests_alone_settles_nothing() -> None:
    def by_numpy() -> None:
        assert np.exp(0) == 1

    def by_an_operation() -> None:
        assert softmax(np.zeros(2))[0] == 0.5

    def through_a_helper() -> None:
        by_an_operation()

    used = [uses_package(cast(Any, SimpleNamespace(function=f))) for f in (by_numpy, by_an_operation, through_a_helper)]
    assert used == [False, True, True]
