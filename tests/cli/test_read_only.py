"""A read-only package and a read-only home: commands run, and one line says what is lost."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from dragoman.data.cache import cache_directory
from tests.cli.running import Run, dragoman
from tests.engines.test_read_only import python
from tests.tasks.models import pairs_file

COMMAND = """
from dragoman.cli import main

main()
"""


def test_many_sentences_are_translated_without_compiling(undertrained: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The man sees bread.\n" * 300, encoding="utf-8")
    done = python(COMMAND, "translate", str(undertrained), str(text), "--beam", "1")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 300
    [line] = done.stderr.splitlines()
    assert line.startswith("dragoman: ")
    assert "the slower NumPy engine runs; set NUMBA_CACHE_DIR" in line


TRAIN = ["--preset", "small", "--set", "network.depth=16", "--set", "stopping.steps=2", "--threads", "1"]


@pytest.mark.parametrize("home", ["/dev/null", "/dev/null/deeper"])
def test_a_training_without_a_cache_prepares_its_dataset_for_itself(home: str, tmp_path: Path) -> None:
    """What is below a file can be made by nobody, not even by root."""
    variables = {"HOME": home, "XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    out = tmp_path / "model"
    for _ in range(2):  # and resumes: the dataset is prepared again
        done = dragoman("train", pairs_file(), "--out", str(out), *TRAIN, environment=variables)
        assert done.returncode == 0, done.stderr
        [line] = done.stderr.splitlines()
        assert line.startswith("dragoman: ")
        assert f"{home}/.cache/dragoman" in line
        assert "set XDG_CACHE_HOME to a writable directory" in line
    assert list((tmp_path / "temporary").iterdir()) == [], "nothing is left"
    assert (out / "weights.safetensors").exists()


def test_a_home_that_nobody_knows_is_like_one_that_cannot_be_written(
    undertrained: Path, monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path
) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_directory() is None
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # shown, not raised as in other tests
        done = run("train", pairs_file(), "--out", tmp_path / "model", *TRAIN)
    assert done.code == 0, done.err
    assert done.err.startswith(
        "dragoman: there is no home directory for the cache, so the dataset is prepared for this"
    )
