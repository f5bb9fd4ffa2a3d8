"""Damaged models, as a user meets them: every command names the file, and the command it gives repairs the model."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Run
from tests.tasks.models import PAIRS


@pytest.mark.parametrize("name", ["weights.safetensors", "source-tokenizer.json", "target-tokenizer.json"])
def test_the_command_that_an_error_gives_repairs_the_model(name: str, model: Path, run: Run) -> None:
    whole = (model / name).read_bytes()
    (model / name).write_bytes(whole[:-20] + bytes([whole[-20] ^ 4]) + whole[-19:])
    for arguments in (["translate", model, "The man sees bread."], ["evaluate", model], ["inspect", model]):
        done = run(*arguments)
        assert done.code == 2
        assert str(model / name) in done.err
        assert "damaged" in done.err
    [command] = re.findall(r"run `dragoman (train .*?)` to restore it", done.err)
    done = run(*shlex.split(command))
    assert done.code == 0, done.err
    assert "restored from" in " ".join(done.out.split())
    assert (model / name).read_bytes() == whole
    assert run("translate", model, "The man sees bread.").code == 0


DAMAGED_METADATA = {
    "missing": None,
    "empty": b"",
    "cut": b'{"format": 1, "task": "transl',
    "a list": b"[]",
    "without a format": b"{}",
    "without a network": b'{"format": 1}',
    "zeros": bytes(300),
}


@pytest.mark.parametrize("damage", DAMAGED_METADATA)
def test_a_damaged_model_json_is_restored_by_the_command_that_an_error_gives(
    damage: str, model: Path, run: Run
) -> None:
    path, data = model / "model.json", DAMAGED_METADATA[damage]
    whole, before = path.read_bytes(), {file: file.read_bytes() for file in model.glob("*.*") if file.is_file()}
    path.unlink() if data is None else path.write_bytes(data)
    for arguments in (["translate", model, "The man sees bread."], ["evaluate", model], ["inspect", model]):
        done = run(*arguments)
        assert (done.code, done.out) == (2, "")
        assert str(path) in done.err
        [command] = re.findall(r"run `dragoman (train .*?)` to restore it", done.err)
    done = run(*shlex.split(command))
    assert done.code == 0, done.err
    assert "restored from the configuration and the data" in " ".join(done.out.split())
    seconds = {"training": {"seconds": 0}}
    told, expected = (json.loads(text) for text in (path.read_bytes(), whole))
    assert told | seconds == expected | seconds
    assert {**told["training"], "seconds": 0} == {**expected["training"], "seconds": 0}
    for file, content in before.items():
        if file not in (path, model / "configuration.toml"):  # which names where the copy is
            assert file.read_bytes() == content, file
    assert run("translate", model, "The man sees bread.").code == 0


def test_model_json_is_not_restored_from_other_data(model: Path, run: Run, tmp_path: Path) -> None:
    (model / "model.json").unlink()
    other = tmp_path / "other.tsv"
    other.write_text("".join(f"{source} now\t{reference} ya\n" for source, reference in PAIRS), encoding="utf-8")
    done = run("train", model / "configuration.toml", "--out", model, "--set", f"data.files=['{other}']")
    assert done.code == 2
    assert "was trained on other data than" in done.err
    assert not (model / "model.json").exists()


def test_a_model_json_that_may_not_be_read_is_left_alone(
    model: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, before = Path.read_text, (model / "model.json").read_bytes()

    def refuse(path: Path, *given: Any, **options: Any) -> str:
        if path.name == "model.json":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path, *given, **options)

    monkeypatch.setattr(Path, "read_text", refuse)
    done = run("train", model / "configuration.toml", "--out", model)
    assert done.code == 2
    assert f"{model / 'model.json'} cannot be read" in done.err
    assert "Permission denied" in done.err
    assert (model / "model.json").read_bytes() == before


def test_a_model_json_of_a_later_version_is_left_alone(model: Path, run: Run) -> None:
    told = json.loads((model / "model.json").read_text(encoding="utf-8"))
    (model / "model.json").write_text(json.dumps({**told, "format": 2}), encoding="utf-8")
    before = (model / "model.json").read_bytes()
    done = run("train", model / "configuration.toml", "--out", model)
    assert done.code == 2
    assert "was it written by a later one?" in done.err
    assert (model / "model.json").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"network": []}, "model.json: network is a list, expected an object"),
        ({"network": 3}, "model.json: network is a number, expected an object"),
        ({"task": "foo"}, "model.json: there is no task 'foo'; expected one of translation"),
        ({"task": []}, "model.json: there is no task []; expected one of translation"),
    ],
)
def test_a_wrong_value_in_model_json_is_told_and_mended(
    change: dict[str, object], expected: str, model: Path, run: Run
) -> None:
    told = json.loads((model / "model.json").read_text(encoding="utf-8"))
    (model / "model.json").write_text(json.dumps({**told, **change}), encoding="utf-8")
    done = run("translate", model, "The man sees bread.")
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert "to restore it" in done.err
    assert run("train", model / "configuration.toml", "--out", model).code == 0
    assert run("translate", model, "The man sees bread.").code == 0


def test_a_model_that_has_no_weights_yet_can_be_inspected(model: Path, run: Run) -> None:
    told = json.loads((model / "model.json").read_text(encoding="utf-8"))
    (model / "model.json").write_text(json.dumps({**told, "training": {}}), encoding="utf-8")
    for path in (model / "weights.safetensors", model / "checkpoints" / "best"):
        path.unlink()
    assert run("inspect", model).code == 0
    done = run("translate", model, "The man sees bread.")
    assert done.code == 2
    assert "has no weights yet" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--preset", "small", "--source-vocabulary", "1000000000", "--target-vocabulary", "9"],
        ["--preset", "small", "--source-vocabulary", "-1", "--target-vocabulary", "9"],
    ],
)
def test_a_preset_with_an_impossible_vocabulary_is_told(arguments: list[str], run: Run) -> None:
    done = run("inspect", *arguments)
    assert done.code == 2
    assert "source_vocabulary" in done.err
