"""dragoman pack, unpack and train --private: models that leave the house without the texts they learnt from."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.tasks.task import find_task
from tests.cli.running import Run
from tests.cli.test_train import SMALL
from tests.tasks.classification.models import moods, topics
from tests.tasks.models import PAIRS, undertrained, write_pairs

KEPT = {"model.json", "weights.safetensors", "source-tokenizer.json", "target-tokenizer.json"}


def holding_texts(place: Path, texts: list[str]) -> list[str]:
    """The files below a directory that hold one of the texts, also compressed."""
    found = []
    for path in place.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            if any(text.encode() in data or json.dumps(text).strip('"').encode() in data for text in texts):
                found.append(path.name)
    return sorted(found)


def test_a_packed_model_has_no_texts_and_translates_the_same(run: Run, tmp_path: Path) -> None:
    model, texts = undertrained(), [text for pair in PAIRS for text in pair]
    assert {"testing.tsv.gz", "golden.jsonl"} <= set(holding_texts(model, texts)), "or nothing is tested"
    done = run("pack", model, "--out", tmp_path / "model.zip")
    assert (done.code, done.err) == (0, "")
    assert all(name in done.out for name in KEPT)
    assert "Left out: checkpoints, configuration.toml, golden.jsonl, history.jsonl, testing.tsv.gz." in done.out
    again = run("pack", model, "--out", tmp_path / "again.zip")
    assert again.code == 0
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "model.zip").read_bytes()
    assert run("unpack", tmp_path / "model.zip", "--out", tmp_path / "served").code == 0
    assert {path.name for path in (tmp_path / "served").iterdir()} == KEPT
    assert holding_texts(tmp_path / "served", texts) == []
    assert json.loads((tmp_path / "served" / "model.json").read_text())["data"]["files"] == []
    sentence = PAIRS[0][0]
    assert run("translate", tmp_path / "served", sentence).out == run("translate", model, sentence).out


@pytest.mark.parametrize("model", [moods, topics])
def test_models_of_other_tasks_come_back_whole(model: Callable[[], Path], run: Run, tmp_path: Path) -> None:
    assert run("pack", model(), "--out", tmp_path / "m.zip").code == 0
    assert run("unpack", tmp_path / "m.zip", "--out", tmp_path / "m").code == 0
    first, second = (find_task("classification").load(place) for place in (model(), tmp_path / "m"))
    assert first.predict(["a wonderful film"]) == second.predict(["a wonderful film"])


@pytest.mark.parametrize("command", [["translate", "FILE", "text"], ["serve", "FILE"], ["inspect", "FILE"]])
def test_a_packed_model_is_unpacked_before_it_is_used(command: list[str], run: Run, tmp_path: Path) -> None:
    run("pack", undertrained(), "--out", tmp_path / "model.zip")
    done = run(*(tmp_path / "model.zip" if word == "FILE" else word for word in command))
    assert (done.code, done.out) == (2, "")
    assert f"`dragoman unpack {tmp_path / 'model.zip'} --out MODEL` makes a model of it" in done.err


def _leading_out(archive: zipfile.ZipFile) -> None:
    archive.writestr("../evil", "x")


def _compressed(archive: zipfile.ZipFile) -> None:
    archive.writestr("bomb.json", "0" * 10**6, zipfile.ZIP_DEFLATED)


def _many(archive: zipfile.ZipFile) -> None:
    for i in range(100):
        archive.writestr(f"f{i}", "x")


def _nothing(archive: zipfile.ZipFile) -> None:
    archive.writestr("other.json", "{}")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (_leading_out, "entries that `dragoman pack` does not write ('../evil')"),
        (_compressed, "bomb.json is compressed"),
        (_many, "entries that `dragoman pack` does not write"),
        (_nothing, "it has no model.json"),
        (None, "cannot be read as what `dragoman pack` writes"),
    ],
)
def test_a_strangers_file_writes_nothing(written: Any, expected: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "model.zip"
    if written is None:
        file.write_bytes(b"PK no archive")
    else:
        with zipfile.ZipFile(file, "w") as archive:
            written(archive)
    done = run("unpack", file, "--out", tmp_path / "place" / "model")
    assert done.code == 2
    assert expected in done.err
    assert list((tmp_path / "place").iterdir()) == []
    assert not (tmp_path / "evil").exists()


def test_a_damaged_file_is_refused(run: Run, tmp_path: Path) -> None:
    run("pack", undertrained(), "--out", tmp_path / "model.zip")
    data = bytearray((tmp_path / "model.zip").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "model.zip").write_bytes(data)
    done = run("unpack", tmp_path / "model.zip", "--out", tmp_path / "model")
    assert done.code == 2
    assert not (tmp_path / "model").exists()
    assert run("unpack", tmp_path / "gone.zip", "--out", tmp_path / "model").code == 2
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert "exists; choose another --out" in run("unpack", tmp_path / "model.zip", "--out", tmp_path / "full").err


def test_a_private_training_keeps_no_texts(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, out = tmp_path / "cache", tmp_path / "m"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    pairs = [(f"{source} {i}x", f"{target} {i}x") for i, (source, target) in enumerate(PAIRS[:60])]
    file = write_pairs(tmp_path / "customers.tsv", pairs)
    done = run("train", file, "--out", out, "--private", "--epochs", "1", "--samples", "2", *SMALL)
    assert (done.code, done.err) == (0, "")
    assert "keeps no texts" in done.out
    texts = [text for pair in pairs for text in pair]
    for place in (out, cache, tmp_path / "temporary"):
        assert holding_texts(place, texts) == [], place
    assert list((tmp_path / "temporary").iterdir()) == []
    again = run("train", file, "--out", out, "--private", "--epochs", "2", "--samples", "2", *SMALL)
    assert again.code == 0, again.err
    assert holding_texts(out, texts) == []
    assert "has no testing pairs; give a file" in run("evaluate", out).err
