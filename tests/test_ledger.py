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
from tests.conftest import SOURCES, ledger_rows
from tests.package_use import uses_package

ROOT = Path(__file__).parent.parent
REASONS = ("prose: ", "design: ", "figure: ")


@pytest.fixture(scope="module")
def report() -> str:
    command = [sys.executable, "-m", "pytest", "--ledger", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout


def test_every_statement_is_there_in_a_line_of_its_own() -> None:
    rows = ledger_rows()
    assert Counter(identifier[0] for identifier in rows) == {"T": 163, "N": 48, "B": 125, "C": 35, "L": 65}
    assert len({row["statement"] for row in rows.values()}) == len(rows)
    assert all(not row["untested"] or row["untested"].startswith(REASONS) for row in rows.values())


def test_every_statement_has_a_test_of_the_package_or_a_reason(report: str) -> None:
    assert re.findall(r"^([^:\n]+): \d+ of \d+ covered", report, re.MULTILINE) == list(SOURCES.values())
    missing = set(re.findall(r"^ +(\S+) +not covered", report, re.MULTILINE))
    assert missing <= {"B-7.1-tasks-d"}  # captions


def test_a_test_that_rests_on_code_of_the_tests_alone_settles_nothing() -> None:
    def by_numpy() -> None:
        assert np.exp(0) == 1

    def by_an_operation() -> None:
        assert softmax(np.zeros(2))[0] == 0.5

    def through_a_helper() -> None:
        by_an_operation()

    used = [uses_package(cast(Any, SimpleNamespace(function=f))) for f in (by_numpy, by_an_operation, through_a_helper)]
    assert used == [False, True, True]
