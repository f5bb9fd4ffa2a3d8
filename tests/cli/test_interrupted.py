"""Ctrl-C in a command: one line, exit code 130, and what was there before is left as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.errors import DataError
from tests.cli.running import Run, start
from tests.tasks.models import PAIRS
from tests.waiting import LONGEST, wait_for

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are those of Unix")
TOLD = "dragoman: interrupted\n"


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LONGEST)
    return process.returncode, err


def begun(path: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a command has made a file or a directory."""
    wait_for(lambda: path.exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()


def many_texts(place: Path) -> Path:
    place.write_text("".join(f"{source}\n" for source, _ in PAIRS * 500), encoding="utf-8")
    return place


def test_translate_leaves_the_old_file(undertrained: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("before", encoding="utf-8")
    process = start("translate", undertrained, many_texts(tmp_path / "in.txt"), "--out", out)
    part = tmp_path / ".out.txt.part"
    begun(part, process)
    wait_for(lambda: part.stat().st_size)  # it translates by now
    assert interrupt(process) == (130, TOLD)
    assert out.read_text(encoding="utf-8") == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]


def test_translate_while_it_waits_for_a_text(undertrained: Path) -> None:
    process = start("translate", undertrained)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("bread\n")
    process.stdin.flush()
    process.stdout.readline()
    assert interrupt(process) == (130, TOLD)


def test_evaluate_writes_no_report(undertrained: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{source}\t{reference}\n" for source, reference in PAIRS * 100), encoding="utf-8")
    process = start("evaluate", undertrained, pairs, "--out", tmp_path / "report")
    begun(tmp_path / "report", process)
    time.sleep(0.5)
    assert interrupt(process) == (130, TOLD)
    assert list((tmp_path / "report").iterdir()) == []


def raise_caused() -> None:
    """What Numba makes of an interrupt inside a kernel."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise SystemError("CPUDispatcher(<function>) returned a result with an exception set") from error


def raise_in_context() -> None:
    """What Numba makes of an interrupt while it compiles."""
    try:
        raise_caused()
    finally:
        raise RuntimeError("no compiled object yet")


def raise_as_ours() -> None:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise DataError("no kernel") from None


@pytest.mark.parametrize("cause", [raise_caused, raise_in_context, raise_as_ours])
def test_what_an_interrupt_was_turned_into_is_an_interrupt(
    cause: Any, run: Run, monkeypatch: pytest.MonkeyPatch, undertrained: Path
) -> None:
    monkeypatch.setattr(Translator, "load", lambda directory: cause())
    for arguments in (["translate", undertrained, "bread"], ["evaluate", undertrained]):
        done = run(*arguments)
        assert (done.code, done.out, done.err) == (130, "", TOLD)


def test_a_bug_is_no_interrupt(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def bug(directory: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Translator, "load", bug)
    with pytest.raises(RuntimeError, match="a bug"):
        run("translate", tmp_path, "bread")
