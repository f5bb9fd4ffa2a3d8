"""Trainings that are killed and resumed through the command line."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cli.running import COMMAND, Run
from tests.tasks.models import told_history
from tests.waiting import wait_for

MINUTES = 0.0001  # between checkpoints


def assert_killed_and_resumed(
    run: Run, arguments: Sequence[str], place: Path, files: Sequence[str]
) -> tuple[Path, Path]:
    """Train once as a whole and once killed after a checkpoint: the weights, history and these files are the same.

    Returns both model directories.
    """
    whole, killed = place / "whole", place / "killed"
    given = ["train", *arguments, "--set", f"checkpoints.minutes={MINUTES}", "--out"]
    assert run(*given, whole).code == 0
    wait_for(lambda: _is_killed([*COMMAND, *given, str(killed)], killed))
    done = run(*given, killed)
    assert done.code == 0, done.err
    assert "resuming from" in done.out + done.err
    for name in ("weights.safetensors", *files):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    assert told_history(killed) == told_history(whole)
    return whole, killed


def _is_killed(command: Sequence[str], place: Path) -> bool:
    """Kill a training that has written a checkpoint, unless it has ended by then; if so, it must be started again."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (place / "checkpoints/latest").exists():
        time.sleep(0.005)
    process.kill()
    if process.wait() == -signal.SIGKILL:
        return True
    shutil.rmtree(place)
    return False
