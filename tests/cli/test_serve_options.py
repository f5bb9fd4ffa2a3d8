"""dragoman serve: mistakes that are told before anything is served."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.serve import name_models
from tests.cli.running import Run
from tests.tasks import models


@pytest.fixture(scope="module")
def place(own_cache: None) -> Path:
    return models.undertrained()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere is not a directory; a model is what `dragoman train --out` writes"),
        (["{model}", "--languages", "en"], "--languages takes MODEL=en,es with one of undertrained; got 'en'"),
        (["{model}", "--languages", "other=en,es"], "got 'other=en,es'"),
        (["{model}", "--host", "256.1.1.1"], "cannot listen on 256.1.1.1"),
        (["{model}", "--keys", "nowhere"], "the keys in nowhere cannot be read"),
        (["{model}", "--timeout", "0"], "a number of seconds above 0, got 0"),
        (["{model}", "--timeout", "nan"], "a number of seconds above 0, got nan"),
        (["{model}", "--timeout", "inf"], "a number of seconds above 0, got inf"),
    ],
)
def test_mistakes_are_told_in_one_line(run: Run, place: Path, arguments: list[str], message: str) -> None:
    done = run("serve", *(argument.format(model=place) for argument in arguments), "--port", "0")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_directories_with_one_name_are_numbered(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent / "model").mkdir(parents=True)
        (tmp_path / parent / "model" / "model.json").touch()
    assert list(name_models([tmp_path / "a" / "model", tmp_path / "b" / "model"])) == ["model", "model-2"]
