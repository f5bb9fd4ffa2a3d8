"""Corpora that are too small: a handful of pairs is refused, a few hundred are warned of."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.tasks import planning
from dragoman.tasks.planning import Speed
from tests.cli.running import Run
from tests.cli.test_reading_options import TINY
from tests.tasks.models import PAIRS, write_pairs

WARNING = "warning: only {} pairs to train on: expect a model that memorizes them and fails on new sentences"


@pytest.fixture(autouse=True)
def instant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "measure", lambda *_: Speed(1000, 0.01, 5000.0, 100, 1.0, 50 * 2**20))


@pytest.mark.parametrize("command", [["train", "--epochs", "1"], ["train"], ["plan"]], ids=" ".join)
def test_fewer_than_10_pairs_are_refused(command: list[str], tmp_path: Path, run: Run) -> None:
    file = write_pairs(tmp_path / "pairs.tsv", PAIRS[:9])
    shares = f'[data]\nfiles = ["{file}"]\nshares = [100, 0, 0]\nsplit = "sample"\n'
    (tmp_path / "mine.toml").write_text(shares, encoding="utf-8")
    out = [] if command == ["plan"] else ["--out", tmp_path / "model"]
    done = run(command[0], tmp_path / "mine.toml", *command[1:], *out)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "9 pairs to train on" in done.err
    assert "at least 10" in done.err
    assert "dragoman train phrases" in done.err
    assert not (tmp_path / "model").exists()


def test_10_pairs_are_trained_on_with_a_warning(tmp_path: Path, run: Run) -> None:
    file = write_pairs(tmp_path / "pairs.tsv", PAIRS[:10])
    options = ["--shares", "100,0,0", "--set", "data.split=sample", "--out", tmp_path / "model", *TINY]
    done = run("train", file, *options)
    assert done.code == 0, done.err
    assert WARNING.format(10) in done.out
    assert "only 10 pairs" not in run("train", file, *options).out, "a training that is resumed was warned of before"


def test_plan_warns_too(tmp_path: Path, run: Run) -> None:
    done = run("plan", write_pairs(tmp_path / "pairs.tsv", PAIRS[:100]))
    assert done.code == 0, done.err
    assert "warning: only " in done.out


@pytest.mark.parametrize(("count", "warned"), [(999, True), (1000, False)])
def test_from_1000_pairs_on_nothing_is_said(count: int, warned: bool, tmp_path: Path, run: Run) -> None:
    pairs = [(f"The number is {number}.", f"El número es {number}.") for number in range(count)]
    file = write_pairs(tmp_path / "pairs.tsv", pairs)
    done = run("train", file, "--shares", "100,0,0", "--set", "data.split=sample", "--out", tmp_path / "m", *TINY)
    assert done.code == 0, done.err
    assert (WARNING.format(count) in done.out) == warned


def test_a_trained_model_may_be_fine_tuned_on_a_few_pairs(model: Path, tmp_path: Path, run: Run) -> None:
    file = write_pairs(tmp_path / "pairs.tsv", PAIRS[:8])
    done = run("train", file, "--from", model, "--shares", "100,0,0", "--epochs", "1", "--out", tmp_path / "tuned")
    assert done.code == 0, done.err
    assert "warning: only" not in done.out


def test_quiet_plans_warn_too(tmp_path: Path, run: Run) -> None:
    (tmp_path / "mine.toml").write_text(
        f'[data]\nfiles = ["{write_pairs(tmp_path / "pairs.tsv", PAIRS[:10])}"]\nshares = [100, 0, 0]\n',
        encoding="utf-8",
    )
    done = run("--quiet", "plan", tmp_path / "mine.toml", "--json")
    assert done.code == 0, done.err
    [warning] = done.err.splitlines()
    assert warning.startswith(WARNING.format(10))
