"""The list of skipped tests is compared where CI=true."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
import sys
sys.path.insert(0, {root!r})
from tests.skips import SkipList

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipList({expected!r}))
"""
TESTS = """
import pytest

def test_that_runs():
    pass

@pytest.mark.skip(reason="never")
def test_that_is_skipped():
    pass
"""
SKIPPED, RUN = "test_some.py::test_that_is_skipped", "test_some.py::test_that_runs"


@pytest.mark.parametrize(
    ("expected", "ci", "processes", "code", "said"),
    [
        ({SKIPPED, "test_other.py::test_elsewhere"}, "true", 0, 0, f"skipped: {SKIPPED}"),
        (set(), "true", 1, 1, f"not in expected-skips.txt: {SKIPPED}"),
        ({SKIPPED, RUN}, "true", 0, 1, f"but not skipped: {RUN}"),
        (set(), "", 0, 0, f"skipped: {SKIPPED}"),
    ],
)
def test_skips_are_compared(tmp_path: Path, expected: set[str], ci: str, processes: int, code: int, said: str) -> None:
    root = str(Path(__file__).parents[1])
    (tmp_path / "conftest.py").write_text(CONFTEST.format(root=root, expected=expected))
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", str(processes), "-p", "no:cacheprovider"]
    environment = {**os.environ, "CI": ci, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert said in done.stdout
