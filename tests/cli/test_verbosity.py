"""--quiet and --verbose: results alone, or what is decided on the way; and the library's loggers."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import Run, dragoman
from tests.cli.test_help_and_start import COMMANDS, GROUPS
from tests.cli.test_reading_options import TINY
from tests.data.test_doctor import SOUND
from tests.tasks.models import pairs_file, write_pairs


def test_verbose_says_what_runs_on_standard_error(tmp_path: Path, run: Run) -> None:
    command = ["train", pairs_file(), "--out", tmp_path / "a", "--seed", "11", *TINY]
    done = run("--verbose", *command)
    assert done.code == 0
    for expected in ("prepared the dataset", "engine", "step", f"wrote checkpoint {tmp_path / 'a'}"):
        assert expected in done.err, expected
    assert run(*command[:3], tmp_path / "b", *command[4:]).err == ""
    again = run("--verbose", *command[:3], tmp_path / "c", *command[4:])
    assert "using the cached dataset" in again.err
    assert all(line.startswith("dragoman.") for line in again.err.splitlines())


def test_verbose_says_how_a_text_is_decoded(undertrained: Path, run: Run) -> None:
    done = run("--verbose", "translate", undertrained, "The plant is green.")
    assert len(done.lines) == 1
    assert "decoding 1 sentence" in done.err
    assert "engine" in done.err
    assert run("translate", undertrained, "The plant is green.").err == ""


def test_quiet_training_prints_results_and_warnings_alone(tmp_path: Path, run: Run) -> None:
    done = run("--quiet", "train", pairs_file(), "--out", tmp_path / "m", *TINY)
    assert (done.code, done.err) == (0, "")
    assert [line.split(":")[0].split(" (")[0] for line in done.lines] == [
        "warning",
        "Stopped",
        f"The model is in {tmp_path / 'm'}",
        "20 testing pairs, beam of 4",
        "Quality",
        "A rule of thumb from BLEU and chrF of 20 sentences. So few say little. Read some translations yourself.",
    ]


def test_quiet_commands_give_no_hints(tmp_path: Path, run: Run) -> None:
    file = write_pairs(tmp_path / "in.tsv", SOUND)
    assert "Next:" in run("data", "split", file, "--out", tmp_path / "parts").out
    done = run("--quiet", "data", "split", file, "--out", tmp_path / "parts")
    assert "pairs in" in done.out
    assert "Next:" not in done.out
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the dog sat on the cat\n" * 40, encoding="utf-8")
    vectors = ["vectors", "train", text, "--out", tmp_path / "v.txt", "--epochs", "1", "--depth", "4"]
    assert "epoch 1" in run(*vectors).out
    done = run("--quiet", *vectors)
    assert done.code == 0, done.err
    assert len(done.lines) == 1
    assert "v.txt" in done.out


class Terminal(io.StringIO):
    """Standard error as a terminal has it: progress is drawn on it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("command", ["check", "evaluate"])
def test_quiet_commands_draw_no_progress_in_a_terminal(
    command: str, undertrained: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["check", "T-1.4-softmax"]
    if command == "evaluate":
        arguments = ["evaluate", str(undertrained), "--most", "2", "--out", str(tmp_path / "report")]
    monkeypatch.setenv("TERM", "xterm")
    drawn = []
    for options in ([], ["--quiet"]):
        monkeypatch.setattr(sys, "stderr", Terminal())
        assert run(*options, *arguments).code == 0
        assert isinstance(sys.stderr, Terminal)
        drawn.append(sys.stderr.getvalue())
    assert "━" in drawn[0]
    assert drawn[1] == ""


def test_errors_are_still_told_when_quiet(run: Run) -> None:
    done = run("--quiet", "data", "check", "gone.tsv")
    assert (done.code, done.out) == (2, "")
    assert "gone.tsv does not exist" in done.err


def test_both_at_once_are_refused(run: Run) -> None:
    done = run("--quiet", "--verbose", "data", "check", "gone.tsv")
    assert done.code == 2
    assert "--quiet and --verbose" in done.err


def test_a_program_that_uses_the_library_decides_about_its_log() -> None:
    code = (
        "import logging, dragoman\n"
        "assert not logging.getLogger().handlers\n"
        "(handler,) = logging.getLogger('dragoman').handlers\n"
        "assert isinstance(handler, logging.NullHandler)\n"
        "assert logging.getLogger('dragoman').level == logging.NOTSET\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_command_leaves_no_handler_behind(undertrained: Path, run: Run) -> None:
    before = list(logging.getLogger("dragoman").handlers)
    run("--verbose", "translate", undertrained, "The plant is green.")
    assert logging.getLogger("dragoman").handlers == before
    assert logging.getLogger("dragoman").level == logging.NOTSET


# Shell completion and -h


def test_completion_can_be_shown_and_installed(run: Run) -> None:
    shown = run("--help").out
    assert "--install-completion" in shown
    assert "--show-completion" in shown
    done = dragoman("--show-completion", "bash", environment={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert done.returncode == 0, done.stderr
    assert "_DRAGOMAN_COMPLETE=complete_bash" in done.stdout or "COMPLETE" in done.stdout


@pytest.mark.parametrize(
    "command",
    [[], *([name] for name in [*COMMANDS, *GROUPS]), *([g, name] for g, names in GROUPS.items() for name in names)],
    ids=" ".join,
)
def test_h_is_help_everywhere(command: list[str], run: Run) -> None:
    done = run(*command, "-h")
    assert (done.code, done.err) == (0, "")
    assert "Usage:" in done.out
