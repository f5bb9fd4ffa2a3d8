"""`dragoman train scenes --task captioning`, and every other command on what it makes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.tasks import decisions, planning
from dragoman.tasks.planning import Speed
from tests.cli.killing import assert_killed_and_resumed
from tests.cli.running import Run
from tests.tasks.captioning.captioned import photos, trained

SIZES = ("depth=8", "perceptron_depth=8", "heads=2", "layers=1", "patch=8")
SMALL = [
    *("--task", "captioning", "--threads", "1", "--set", "data.scenes=60", "--set", "optimizer.batch=16"),
    *(part for size in SIZES for part in ("--set", f"network.{size}")),
]


def test_train_caption_evaluate_inspect_plot(run: Run, tmp_path: Path) -> None:
    model, image = tmp_path / "model", photos() / "1.png"
    done = run("train", "scenes", *SMALL, "--epochs", "1", "--out", model)
    assert done.code == 0, done.err
    assert "10 images captioned exactly" in done.out
    assert f"dragoman caption {model}" in done.out
    done = run("caption", model, image)
    assert done.code == 0, done.err
    assert len(done.lines) == 1
    done = run("caption", model, image, photos() / "2.png", "--best", "2")
    assert [line.split("\t")[0] for line in done.lines] == [str(image)] * 2 + [str(photos() / "2.png")] * 2
    done = run("evaluate", model)
    assert done.code == 0, done.err
    assert "colours alone" in done.out
    report = json.loads((model / "evaluation/report.json").read_text(encoding="utf-8"))
    assert "held_out_exact" in report["metrics"]
    assert "Where each word looked" in (model / "evaluation/report.html").read_text(encoding="utf-8")
    done = run("inspect", model)
    assert "captioning: transformer" in done.out
    assert "32 x 32 pixels, colour" in done.out
    done = run("plot", model, "attention", "--image", image)
    assert done.code == 0, done.err
    assert (model / "figures/attention.png").stat().st_size > 1000
    assert run("plot", model, "attention").code == 2, "no image is named"


def test_a_folder_and_json(run: Run) -> None:
    done = run("caption", trained(), photos(), "--json", "--beam", "1")
    assert done.code == 0, done.err
    found = [json.loads(line) for line in done.lines]
    assert len(found) == 40
    assert found[0].keys() == {"image", "caption", "captions"}
    done = run("evaluate", trained(), photos(), "--json")
    assert json.loads(done.out)["facts"]["tested on"] == str(photos())


def test_mistakes(run: Run, tmp_path: Path) -> None:
    for arguments, error in [
        (("caption", trained(), tmp_path / "nothing.png"), "nothing.png does not exist"),
        (("translate", trained(), "a"), "is a model for captioning; use `dragoman caption"),
        (("predict", trained(), photos() / "1.png"), "use `dragoman caption"),
        (("train", tmp_path, *SMALL[:4], "--out", tmp_path / "m"), "no table of captions; expected captions.tsv"),
    ]:
        done = run(*arguments)
        assert done.code == 2
        assert error in done.err


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_and_resumed_to_the_same_bits(run: Run, tmp_path: Path) -> None:
    options = [*SMALL, "--epochs", "12", "--set", "network.dropout=0.1"]
    files = "caption-tokenizer.json", "colours-captions.json", "testing.npz"
    assert_killed_and_resumed(run, ["scenes", *options], tmp_path, files)


def test_plan(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def measure(settings: Any, dataset: Any, seconds: float = 0) -> Speed:
        asked.append((settings.architecture, settings.preset))
        return Speed(1000, 0.01, 100.0, 5, 0.0, 2**20)

    monkeypatch.setattr(planning, "measure", measure)
    monkeypatch.setattr(decisions, "measure", measure)
    done = run("plan", photos(), "--task", "captioning", "--architecture", "convolutional-gru", "--budget", "1m")
    assert done.code == 0, done.err
    assert asked == [("convolutional-gru", name) for name in ("small", "medium", "large")]
