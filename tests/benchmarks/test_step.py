"""The benchmark of a step runs, and its contenders compute the same numbers. No time is asserted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "step.py"


@pytest.mark.parametrize("lengths", ["equal", "real"])
def test_contenders_agree_and_a_ratio_is_printed(lengths: str) -> None:
    command = [sys.executable, str(SCRIPT), "--lengths", lengths, "--rounds", "1", "--steps", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # it stops with an error when loss or gradient norm differ
    assert "PyTorch time / NumPy time: median" in done.stdout
