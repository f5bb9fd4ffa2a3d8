"""Tables in a terminal of 60 columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman.tasks import planning
from dragoman.tasks.planning import Speed
from tests.cli.running import Done, Run
from tests.cli.test_reading_options import TINY
from tests.data.test_doctor import SOUND
from tests.tasks.models import pairs_file, write_pairs

COLUMNS = re.compile(r"\S {2,}\S")  # in a pipe sentences, commands and paths are never wrapped


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")


def check_width(done: Done) -> None:
    assert done.code == 0, done.err
    table = [line for line in done.lines if COLUMNS.search(line)]
    assert table
    assert max(map(len, table)) <= 60, max(table, key=len)
    assert "…" not in done.out, "something did not fit"


def test_training(tmp_path: Path, run: Run) -> None:
    done = run("train", pairs_file(), "--out", tmp_path / "m", "--scores", "bleu,chrf", *TINY)
    check_width(done)
    [head] = [line for line in done.lines if line.startswith(" epoch")]
    assert head.split() == ["epoch", "step", "training", "validation", "bleu", "chrf", "time"]
    row = done.lines[done.lines.index(head) + 1]
    assert row.rstrip()[-1] == "s"


def test_plan(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    speed = Speed(123_456_789, 0.5, 123_456.0, 10_000, 1.0, 5000 * 2**20)
    monkeypatch.setattr(planning, "measure", lambda *_: speed)
    done = run("plan", pairs_file())
    check_width(done)
    assert "123,456,789" in done.out


def test_data_check(tmp_path: Path, run: Run) -> None:
    file = write_pairs(tmp_path / "pairs.tsv", [*SOUND, SOUND[3], ("one two three " * 500, "uno dos tres " * 500)])
    done = run("data", "check", file)
    check_width(done)
    assert "1,500" in done.out


def test_vectors(tmp_path: Path, run: Run) -> None:
    words = ["extraordinary", "international", "communication", "understanding", "responsibility", "transportation"]
    rows = "".join(f"{word} {i}.0 1.0 {i * i}.5\n" for i, word in enumerate(words))
    (tmp_path / "v.txt").write_text(f"{len(words)} 3\n{rows}", encoding="utf-8")
    done = run("vectors", "cosine", tmp_path / "v.txt", *words)
    check_width(done)
    joined = done.out.replace("\n", "")
    assert joined.count("1.000") >= 6
