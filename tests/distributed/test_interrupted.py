"""Ranks that are killed or told to stop: the run ends as it would have, or leaves a checkpoint that goes on."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from tests.distributed import commands
from tests.distributed.conftest import Together
from tests.distributed.launch import STANDALONE, launched
from tests.tasks.models import told_history
from tests.training.small_trainings import Heard

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="POSIX signals"),
    pytest.mark.filterwarnings("ignore::dragoman.errors.DragomanWarning"),
]


def test_a_killed_rank_is_restarted_and_the_bits_are_the_same(together: Together, tmp_path: Path) -> None:
    """Also where the checkpoint is put together from the moments that every rank keeps."""
    out = tmp_path / "model"
    command = [*commands.command(out), "--sharded-optimizer"]
    with launched(*command, options=(*STANDALONE, "--max-restarts", "1")) as launch:
        launch.wait_until(lambda: commands.latest(out) > 3)
        os.kill(launch.ranks()[1], signal.SIGKILL)
        output = launch.finish()
    assert "resuming from step-" in output
    commands.assert_same_model(out, together.whole)
    assert output.count("Stopped: ") == 1  # only the first rank speaks


def test_sigterm_saves_and_one_process_goes_on(together: Together, tmp_path: Path) -> None:
    out = tmp_path / "model"
    with launched(*commands.command(out)) as launch:
        launch.wait_until(lambda: commands.latest(out) > 3)
        launch.process.send_signal(signal.SIGTERM)
        assert launch.wait() != 0
        output = launch.output
    saved = commands.latest(out)
    assert "Stopped: interrupted (SIGTERM)." in output, output
    assert "Run the same command again to resume." in output
    heard = Heard()
    _, outcome = train_model(merged(commands.settings(), {"out": str(out)}), out, heard)
    assert outcome.finished
    assert any("saved by 2 ranks and goes on with 1" in text for text in heard.notices)
    assert saved < heard.steps[0][0] == saved + 1
    for line, of_whole in zip(told_history(out), told_history(together.whole), strict=True):
        assert line["step"] == of_whole["step"]
        assert line["validation_error"] == pytest.approx(of_whole["validation_error"], rel=1e-3)
