"""--languages, as a user gives and sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.errors import DragomanWarning
from dragoman.tasks.training import train_model
from tests.cli.running import Run
from tests.tasks.models import pairs_file, tiny


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


def test_text_in_another_language_is_warned_of(run: Run, tmp_path: Path) -> None:
    """Once with a count on the terminal, of each text in JSON and in Python; never of a few letters."""
    train_model(tiny({"data": {"languages": ["en", "es"]}, "stopping": {"epochs": None, "steps": 2}}), tmp_path / "m")
    spanish = ["El hombre ve la planta verde.", "Mi hermana quiere el libro viejo."]
    lines = ["The man sees the house.", *spanish, "pan", "sí", "My sister wants bread and 25 {apples}."]
    (tmp_path / "in.txt").write_text("\n".join(lines), encoding="utf-8")
    done = run("translate", tmp_path / "m", tmp_path / "in.txt", "--beam", "1")
    told = [
        line
        for line in done.err.splitlines()
        if line.startswith("warning: ") and "looks like es and not like en" in line
    ]
    assert [line.split(":")[1] for line in told] == [" line 2", " 2 lines in all"]
    done = run("translate", tmp_path / "m", tmp_path / "in.txt", "--beam", "1", "--json")
    warned = [any("looks like es" in reason for reason in json.loads(line)["warnings"]) for line in done.lines]
    assert warned == [line in spanish for line in lines]
    with pytest.warns(DragomanWarning, match="2 of 6 texts: looks like es and not like en, which the model reads"):
        Translator.load(tmp_path / "m").translate(lines, beam=1)
