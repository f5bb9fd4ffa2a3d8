"""Shared by all tests: one BLAS thread a worker, quiet deterministic hypothesis, and the ledger of statements."""

from __future__ import annotations

import gc
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy loads: workers share two cores
os.environ.setdefault("DRAGOMAN_ENGINE", "numpy")  # the definitions; tests/engines asks for the others by name

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.skips import SkipList, expected_skips

settings.register_profile(
    "dragoman", deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("dragoman")

LEDGER = Path(__file__).parent.parent / "docs" / "ledger.tsv"
SOURCES = {
    "T": "thesis",
    "N": "notes",
    "B": "book, chapter 7",
    "C": "custom-net sheet",
    "L": "lecture",
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "first: runs before all others, which are faster with what it leaves")
    if not hasattr(config, "workerinput"):  # the process that reports
        config.pluginmanager.register(SkipList(expected_skips()))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--ledger",
        action="store_true",
        help="run nothing; show which ledger statements have a test that uses the package",
    )


def ledger_rows() -> dict[str, dict[str, str]]:
    header, *lines = LEDGER.read_text(encoding="utf-8").splitlines()
    names = header.split("\t")
    rows = [dict(zip(names, line.split("\t"), strict=True)) for line in lines]
    return {row["id"]: row for row in rows}


def _marked(items: list[pytest.Item]) -> dict[str, list[str]]:
    """Ledger id -> the tests that carry it."""
    covered: dict[str, list[str]] = defaultdict(list)
    for item in items:
        for mark in item.iter_markers("ledger"):
            for identifier in mark.args:
                covered[identifier].append(item.nodeid)
    return covered


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays to the end: looking for garbage in it takes seconds, now and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
    rows, covered = ledger_rows(), _marked(items)
    unknown = sorted(covered.keys() - rows.keys())
    if unknown:
        raise pytest.UsageError(f"tests carry ledger ids that docs/ledger.tsv does not have: {', '.join(unknown)}")
    if config.getoption("--ledger"):
        config.stash[_REPORT] = ledger_report(items)
        items.clear()


_REPORT: pytest.StashKey[list[str]] = pytest.StashKey()


def ledger_report(items: list[pytest.Item]) -> list[str]:
    """Which statements these tests cover, as far as they use the package."""
    from tests.package_use import uses_package

    marked = [item for item in items if item.get_closest_marker("ledger") and uses_package(item)]
    return list(_report(ledger_rows(), _marked(marked)))


def _report(rows: dict[str, dict[str, str]], covered: dict[str, list[str]]) -> Iterator[str]:
    for letter, source in SOURCES.items():
        ours = {i: row for i, row in rows.items() if i.startswith(f"{letter}-")}
        excused = {i: row["untested"] for i, row in ours.items() if row["untested"] and i not in covered}
        missing = [i for i in ours if i not in covered and i not in excused]
        tested = len(ours) - len(missing) - len(excused)
        yield f"{source}: {tested} of {len(ours)} covered, {len(excused)} not testable, {len(missing)} not covered"
        for i, reason in excused.items():
            yield f"    {i}  {reason}"
        for i in missing:
            yield f"    {i}  not covered: {rows[i]['statement']}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash.get(_REPORT, []):
        terminalreporter.write_line(line)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if session.config.getoption("--ledger") and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK
