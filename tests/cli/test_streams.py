"""Standard streams that are closed, full or no longer read: one line, an exit code, never a traceback."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import COMMAND
from tests.tasks.models import pairs_file

FULL = Path("/dev/full")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="redirections are those of a Unix shell")


def redirected(redirection: str, *arguments: str, unbuffered: bool = False) -> subprocess.CompletedProcess[str]:
    """A command with one stream redirected by the shell; what it prints to standard output is not kept."""
    return subprocess.run(
        ["/bin/sh", "-c", f'"$@" {redirection}', "sh", *COMMAND, *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": "1" if unbuffered else ""},
    )


def one_line(done: subprocess.CompletedProcess[str], expected: str) -> None:
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("dragoman: ")


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_a_closed_standard_input_holds_no_text(arguments: list[str], undertrained: Path) -> None:
    one_line(redirected("<&-", "translate", str(undertrained), *arguments), "standard input is closed")


def test_a_standard_input_that_cannot_be_read(undertrained: Path) -> None:
    one_line(redirected("0> /dev/null", "translate", str(undertrained)), "standard input cannot be read")


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        (["--help"], True),
        (["inspect", "MODEL"], False),
        (["translate", "MODEL", "The man sees bread."], False),
        (["translate", "MODEL", "The man sees bread.", "--json"], True),
        (["data", "check", "PAIRS", "--json"], False),
    ],
    ids=lambda told: " ".join(told[:2]) if isinstance(told, list) else "",
)
def test_a_full_device_is_told(arguments: list[str], unbuffered: bool, undertrained: Path) -> None:
    named = {"MODEL": str(undertrained), "PAIRS": pairs_file()}
    done = redirected("> /dev/full", *(named.get(argument, argument) for argument in arguments), unbuffered=unbuffered)
    one_line(done, "standard output could not be written, so it is incomplete: No space left on device")


@pytest.mark.parametrize("arguments", [["inspect", "MODEL"], ["translate", "MODEL", "bread"]], ids=" ".join)
def test_a_closed_standard_output_is_told(arguments: list[str], undertrained: Path) -> None:
    """What is printed would vanish, and the caller would take it for a success."""
    done = redirected(">&-", *(str(undertrained) if argument == "MODEL" else argument for argument in arguments))
    one_line(done, "standard output is closed")


@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_reader_that_left_is_no_mistake(unbuffered: bool, undertrained: Path) -> None:
    done = redirected("| true", "translate", str(undertrained), "bread", unbuffered=unbuffered)
    assert (done.returncode, done.stderr) == (0, "")  # the code is that of `true`
