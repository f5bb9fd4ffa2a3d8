"""Damaged models, as a user meets them: every command names the file, and the command it gives repairs the model."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.running import Run


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
