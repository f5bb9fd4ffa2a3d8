"""How files are read: the same options for every command, and columns that count from 1 everywhere."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from dragoman.tasks import planning
from dragoman.tasks.configuration import read_toml
from dragoman.tasks.model import load_metadata
from dragoman.tasks.planning import Speed
from dragoman.tasks.translation.testing import load_testing
from tests.cli.running import Run
from tests.tasks.models import PAIRS

READING = ["--format", "--columns", "--header", "--languages", "--encoding", "--on-bad-line"]
COMMANDS = [("train",), ("plan",), ("evaluate",), ("data", "check"), ("data", "clean"), ("data", "split")]
TINY = [
    *("--threads", "1", "--set", "stopping.steps=2", "--set", "network.depth=16"),
    *("--set", "network.perceptron_depth=16", "--set", "network.heads=2", "--set", "optimizer.batch=16"),
]


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table with a number, the target and the source, in Latin-1."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{number}\t{target}\t{source}\n" for number, (source, target) in enumerate(PAIRS[:120])]
    Path("table.dat").write_text("".join(rows), encoding="latin-1")
    return "table.dat"


@pytest.fixture
def instant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "measure", lambda *_: Speed(1000, 0.01, 5000.0, 100, 1.0, 50 * 2**20))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_that_reads_pairs_has_the_same_options(command: tuple[str, ...], run: Run) -> None:
    shown = run(*command, "--help").out
    for option in READING:
        assert option in shown, option
    assert run(*command, "x", "y", "--out", "z", "--on-bad-line", "ignore").code == 2


def test_plan_reads_what_train_reads(table: str, run: Run, instant: None) -> None:
    options = ["--format", "tsv", "--columns", "3,2", "--encoding", "latin-1"]
    done = run("plan", table, *options)
    assert (done.code, done.err) == (0, "")
    [command] = [line.removeprefix("Next: ") for line in done.lines if line.startswith("Next: ")]
    assert shlex.split(command) == ["dragoman", "train", table, "--budget", "1h", *options, "--out", "model"]
    assert run(*shlex.split(command)[1:], *TINY).code == 0
    assert set(load_testing(Path("model"))) <= {(source.strip(), target.strip()) for source, target in PAIRS}


def test_plan_counts_what_it_skipped(tmp_path: Path, run: Run, instant: None) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS[:100]) + "only one column\n", encoding="utf-8")
    done = run("plan", file)
    assert done.code == 2
    assert "--on-bad-line skip" in done.err
    done = run("plan", file, "--on-bad-line", "skip")
    assert done.code == 0, done.err
    assert "1 line skipped: wrong number of columns" in done.out


@pytest.mark.filterwarnings("always::dragoman.errors.DragomanWarning")
def test_evaluate_counts_what_it_skipped(model: Path, tmp_path: Path, run: Run) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS[:5]) + "only one column\n", encoding="utf-8")
    done = run("evaluate", model, file, "--beam", "1", "--on-bad-line", "skip")
    assert done.code == 0, done.err
    assert "1 line skipped: wrong number of columns" in done.err


# Columns


def configuration_of(columns: str) -> Path:
    path = Path("mine.toml")
    text = f'[data]\nfiles = ["table.dat"]\nformat = "tsv"\nencoding = "latin-1"\ncolumns = {columns}\n'
    path.write_text(text, encoding="utf-8")
    return path


def test_a_configuration_counts_columns_as_the_command_line_does(table: str, run: Run) -> None:
    assert run("train", configuration_of("[3, 2]"), "--out", "a", *TINY).code == 0
    options = ["--format", "tsv", "--encoding", "latin-1", "--columns", "3,2"]
    assert run("train", table, "--out", "b", *options, *TINY).code == 0
    assert load_testing(Path("a")) == load_testing(Path("b"))
    assert load_metadata(Path("a")).data.digest == load_metadata(Path("b")).data.digest
    assert read_toml(Path("a/configuration.toml"))["data"]["columns"] == [3, 2]


def test_there_is_no_column_0(table: str, run: Run) -> None:
    done = run("train", configuration_of("[0, 1]"), "--out", "a")
    assert done.code == 2
    assert "mine.toml: data.columns: columns count from 1, got [0, 1]" in done.err


def test_the_digest_of_the_data_is_that_of_earlier_versions(table: str, run: Run) -> None:
    """Or their trainings could not be resumed."""
    options = ["--format", "tsv", "--encoding", "latin-1", "--columns", "3,2", "--out", "m"]
    assert run("train", table, *options, *TINY).code == 0
    how: dict[str, Any] = {"format": "tsv", "columns": [2, 1], "header": None, "languages": None}
    how |= {"encoding": "latin-1", "on_bad_line": "error"}
    content = hashlib.sha256(Path(table).read_bytes()).hexdigest()
    expected = hashlib.sha256(f"{content}\n{json.dumps(how, separators=(',', ':'))}".encode()).hexdigest()
    assert load_metadata(Path("m")).data.digest == expected


def test_a_configuration_of_a_later_version_is_refused(table: str, run: Run) -> None:
    path = configuration_of("[3, 2]")
    path.write_text("configuration_format = 3\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    done = run("train", path, "--out", "m")
    assert done.code == 2
    assert "mine.toml: its configuration_format is 3" in done.err
