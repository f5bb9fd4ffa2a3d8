"""Trainings that are killed and resumed through the command line."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from tests.cli.running import COMMAND, Run
from tests.tasks.models import told_history

LONGEST = 60.0  # seconds to the first checkpoint
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
    process = subprocess.Popen([*COMMAND, *given, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + LONGEST
    while not (killed / "checkpoints/latest").exists() and time.monotonic() < end:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it was still training"
    done = run(*given, killed)
    assert done.code == 0, done.err
    assert "resuming from" in done.out + done.err
    for name in ("weights.safetensors", *files):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    assert told_history(killed) == told_history(whole)
    return whole, killed
