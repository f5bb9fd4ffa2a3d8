"""`dragoman train words.conll --task tagging`, and every other command on what it makes."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from dragoman.tasks import decisions, planning
from dragoman.tasks.configuration import read_toml
from dragoman.tasks.model import load_metadata
from dragoman.tasks.planning import Speed
from tests.cli.killing import assert_killed_and_resumed
from tests.cli.running import Run
from tests.tasks.tagging.tagged import SENTENCES, tagged_file, trained, write_conll

SMALL = [
    *("--task", "tagging", "--threads", "1", "--shares", "80,10,10"),
    *("--set", "network.depth=8", "--set", "network.units=8", "--set", "optimizer.batch=8"),
]


def test_train_evaluate_inspect(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "model"
    done = run("train", tagged_file(), *SMALL, "--epochs", "2", "--out", model)
    assert done.code == 0, done.err
    assert "words tagged right (the most frequent tag of each word:" in done.out
    assert "dragoman predict" in done.out
    done = run("evaluate", model)
    assert done.code == 0, done.err
    assert "most frequent tag" in done.out
    report = json.loads((model / "evaluation/report.json").read_text(encoding="utf-8"))
    assert {"accuracy", "macro_f1", "unseen_accuracy"} <= report["metrics"].keys()
    assert "<svg" in (model / "evaluation/report.html").read_text(encoding="utf-8")
    done = run("inspect", model)
    assert done.code == 0, done.err
    assert "recurrent" in done.out
    assert "tagging: lstm" in done.out


def test_a_transformer(run: Run, tmp_path: Path) -> None:
    sizes = ["depth=8", "perceptron_depth=8", "heads=2"]
    options = [part for size in sizes for part in ("--set", f"network.{size}")]
    common = ["--task", "tagging", "--threads", "1", "--shares", "80,10,10", "--epochs", "1"]
    done = run("train", tagged_file(), *common, "--architecture", "transformer", *options, "--out", tmp_path / "model")
    assert done.code == 0, done.err
    done = run("inspect", tmp_path / "model")
    assert done.code == 0, done.err
    assert "pre-norm, dropout" in done.out


def test_evaluate_on_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "more.conll"
    path.write_text("Anna\tPROPN\nplays\tVRB\n\nAnna\n", encoding="utf-8")
    done = run("evaluate", trained(), path, "--out", tmp_path / "report")
    assert done.code == 2
    assert f"{path}, line 4: wrong number of columns" in done.err
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = run("evaluate", trained(), path, "--out", tmp_path / "report", "--on-bad-line", "skip")
    assert done.code == 0, done.err
    assert "1 line skipped: wrong number of columns" in done.err
    assert "1 word with tags that training never saw (VRB)" in done.err


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_and_resumed_to_the_same_bits(run: Run, tmp_path: Path) -> None:
    files = "tags-classes.json", "testing.jsonl.gz"
    assert_killed_and_resumed(run, [tagged_file(), *SMALL, "--epochs", "12"], tmp_path, files)


def test_fine_tune(run: Run, tmp_path: Path) -> None:
    path = write_conll(tmp_path / "more.conll", SENTENCES[::2])
    options = ["--task", "tagging", "--threads", "1", "--epochs", "1", "--shares", "80,10,10"]
    done = run("train", path, *options, "--from", trained(), "--out", tmp_path / "tuned")
    assert done.code == 0, done.err
    assert run("evaluate", tmp_path / "tuned").code == 0


def test_plan_and_budget(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speed = Speed(1000, 0.01, 100.0, 5, 0.0, 2**20)
    asked: list[Any] = []

    def measure(settings: Any, dataset: Any, seconds: float = 0) -> Speed:
        asked.append((settings.architecture, settings.preset))
        return speed

    monkeypatch.setattr(planning, "measure", measure)
    monkeypatch.setattr(decisions, "measure", measure)
    done = run("plan", tagged_file(), "--task", "tagging", "--budget", "1m")
    assert done.code == 0, done.err
    assert asked == [("lstm", name) for name in ("small", "medium", "large")]
    assert "--task tagging --budget 1m" in done.out
    done = run("train", tagged_file(), *SMALL, "--budget", "1s", "--out", tmp_path / "model")
    assert done.code == 0, done.err


def test_a_speed_that_is_measured(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning.measure, "__defaults__", (0.02,))
    done = run("plan", tagged_file(), "--task", "tagging", "--budget", "1m", "--json")
    assert done.code == 0, done.err
    presets = json.loads(done.out)["presets"]
    assert [preset["preset"] for preset in presets] == ["small", "medium", "large"]
    assert all(preset["tokens_per_second"] > 0 for preset in presets)
    done = run("train", tagged_file(), *SMALL, "--budget", "1s", "--out", tmp_path / "model")
    assert done.code == 0, done.err
    assert read_toml(tmp_path / "model" / "configuration.toml")["optimizer"]["schedule_steps"] >= 1
    assert load_metadata(tmp_path / "model").training["steps"] >= 1  # more than planned if the machine becomes faster


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Anna\tPROPN\nplays\n", "line 2: wrong number of columns (1, but the first line has 2)"),
        ("Anna\nplays\n", "line 1: wrong number of columns (1, expected a word and its tag)"),
        ("# nothing\n\n\n", "there are no sentences to learn from"),
        ("", "is empty"),
    ],
)
def test_files_that_cannot_be_used(run: Run, tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "words.conll"
    path.write_text(text, encoding="utf-8")
    done = run("train", path, *SMALL, "--out", tmp_path / "model")
    assert done.code == 2
    assert error in done.err
    assert not (tmp_path / "model").exists()
