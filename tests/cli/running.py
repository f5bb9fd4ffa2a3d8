"""Commands as a user types them: in a process of their own, or in this one, which is faster."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

COMMAND = [sys.executable, "-c", "from dragoman.cli import main; main()"]
HEARING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # ignored in the background


def dragoman(
    *arguments: str, cwd: Path | None = None, environment: dict[str, str] | None = None, stdin: bytes | None = None
) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own; nothing is typed into it."""
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, cwd=cwd, env=variables, check=False, input=stdin or b""
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def start(*arguments: str | Path, cwd: Path | None = None) -> subprocess.Popen[str]:
    """A command that is talked to while it runs, and that Ctrl-C ends."""
    *python, program = COMMAND
    return subprocess.Popen(
        [*python, HEARING + program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=cwd,
    )


@dataclass(frozen=True)
class Done:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Run = Callable[..., Done]


def text_stream(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="\n")
