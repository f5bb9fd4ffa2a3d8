"""No skipped test goes unseen: with CI=true the skipped ones must be those of tests/expected-skips.txt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXPECTED = Path(__file__).parent / "expected-skips.txt"


class SkipList:
    """Collects what is skipped, and says in what it differs from what is expected."""

    def __init__(self, expected: set[str]) -> None:
        self.expected = expected
        self.seen: set[str] = set()
        self.skipped: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seen.add(report.nodeid)
        if report.skipped:
            self.skipped.add(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.skipped:  # a whole file
            self.seen.add(report.nodeid)
            self.skipped.add(report.nodeid)

    def differences(self) -> Iterator[str]:
        for name in sorted(self.skipped - self.expected):
            yield f"skipped, but not in {EXPECTED.name}: {name}"
        for name in sorted(self.expected & self.seen - self.skipped):
            yield f"in {EXPECTED.name}, but not skipped: {name}"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if os.environ.get("CI") == "true" and any(self.differences()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in sorted(self.skipped):
            terminalreporter.write_line(f"skipped: {name}")
        if os.environ.get("CI") == "true":
            for line in self.differences():
                terminalreporter.write_line(line, red=True)


def expected_skips() -> set[str]:
    lines = EXPECTED.read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}
