"""--languages, as a user gives and sees them."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import Run
from tests.tasks.models import pairs_file


def test_languages_are_named_when_training_and_shown_afterwards(run: Run, tmp_path: Path) -> None:
    short = ["--preset", "small", "--set", "stopping.steps=2", "--out", str(tmp_path / "m")]
    assert run("train", pairs_file(), "--languages", "EN,pt_br", *short).code == 0
    assert "en to pt-BR" in run("inspect", tmp_path / "m").out
    assert '"languages": [\n      "en",\n      "pt-BR"\n    ]' in run("inspect", tmp_path / "m", "--json").out


def test_without_languages_inspect_says_how_to_name_them(run: Run, model: Path) -> None:
    assert "not named; see --languages" in run("inspect", model).out


def test_a_wrong_code_is_told_before_anything_is_written(run: Run, tmp_path: Path) -> None:
    done = run("train", pairs_file(), "--languages", "english,es", "--out", tmp_path / "m")
    assert done.code == 2
    assert "'english' is not the code of a language; expected one such as en, pt-BR or zh-Hans" in done.err
    assert not (tmp_path / "m").exists()
