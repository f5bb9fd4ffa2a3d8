"""Model directories and half-done trainings that earlier versions wrote still load and resume (tests/models)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from dragoman.training import History
from tests.cli.running import Run

MODELS = sorted((Path(__file__).parent.parent / "models").iterdir())


@pytest.fixture(params=MODELS, ids=[path.name for path in MODELS])
def written(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a version wrote, where it can be changed."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(request.param, "written"))


def test_a_finished_model_is_used_like_any_other(run: Run, written: Path) -> None:
    model = written / "finished"
    assert run("translate", model, "The plant is green.").out.strip()
    shown = run("inspect", model)
    assert shown.code == 0
    assert "22 validation" in shown.out
    assert History(model / "history.jsonl").lines()[-1]["validation_error"] == pytest.approx(4.12680721282959)
    assert run("evaluate", model, "--beam", "1", "--out", "report").code == 0
    assert json.loads(Path("report/report.json").read_text(encoding="utf-8"))["sentences"] == 27
    assert run("plot", model, "history", "--out", "history.png").code == 0
    assert Path("history.png").stat().st_size > 1000


def test_a_half_done_training_ends_with_the_weights_it_would_have_had(
    run: Run, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`finished` is what the version that began it made of it; processors and libraries differ in the last bits."""
    monkeypatch.chdir(written)
    assert "18 steps" in run("train", "settings.toml", "--out", "half").out
    resumed, expected = (load_file(f"{name}/weights.safetensors") for name in ("half", "finished"))
    assert resumed.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(resumed[name], expected[name], atol=2e-3, err_msg=name)
    assert len(Path("half/history.jsonl").read_text(encoding="utf-8").splitlines()) == 6


def test_a_folder_of_parts_and_a_configuration_keep_their_old_names(run: Run, written: Path) -> None:
    """`data split` wrote selection.tsv, and word vectors of the target side were start.vectors.reference."""
    lines = (written / "pairs.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    parts = {"training": lines[:200], "selection": lines[200:220], "testing": lines[220:]}
    Path("parts").mkdir()
    for name, some in parts.items():
        Path("parts", f"{name}.tsv").write_text("".join(some), encoding="utf-8")
    done = run("train", "parts", "--out", "m", "--preset", "small", "--set", "stopping.steps=1")
    assert "200 pairs to train on, 20 to validate on" in " ".join((done.out + done.err).split())
    Path("old.toml").write_text(
        '[data]\nfiles = ["parts"]\n[start.vectors]\nreference = "gone.bin"\n', encoding="utf-8"
    )
    assert "gone.bin" in run("train", "old.toml", "--out", "n").err
