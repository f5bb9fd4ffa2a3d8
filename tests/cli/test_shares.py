"""The shares of training, validation and testing: one default, written alike for `train` and `data split`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.tasks.configuration import configuration, read_toml
from dragoman.tasks.model import load_metadata
from tests.cli.running import Run
from tests.cli.test_reading_options import TINY
from tests.tasks.models import PAIRS, pairs_file

ALIKE = ["80,10,10", "0.8,0.1,0.1"]


def sizes(folder: Path) -> list[int]:
    names = ("training", "validation", "testing")
    return [len((folder / f"{name}.tsv").read_text(encoding="utf-8").splitlines()) for name in names]


def test_both_commands_split_90_5_5_by_default(tmp_path: Path, run: Run) -> None:
    assert run("data", "split", pairs_file(), "--out", tmp_path / "parts").code == 0
    assert run("train", pairs_file(), "--out", tmp_path / "model", *TINY).code == 0
    assert load_metadata(tmp_path / "model").data.shares == (0.9, 0.05, 0.05)
    total, deviation = len(PAIRS), (0.9 * 0.1 * len(PAIRS)) ** 0.5
    assert sum(sizes(tmp_path / "parts")) == total
    assert sizes(tmp_path / "parts")[0] == pytest.approx(0.9 * total, abs=4 * deviation)


@pytest.mark.parametrize("command", [("train",), ("data", "split")], ids=" ".join)
def test_the_help_shows_the_default(command: tuple[str, ...], run: Run) -> None:
    done = run(*command, "--help")
    assert "--shares" in done.out
    assert "90,5,5" in done.out


@pytest.mark.parametrize("shares", ALIKE)
def test_shares_are_written_the_same_way_for_both(shares: str, tmp_path: Path, run: Run) -> None:
    assert run("data", "split", pairs_file(), "--by", "sample", "--out", tmp_path / "p", "--shares", shares).code == 0
    whole = len(PAIRS)
    assert sizes(tmp_path / "p")[:2] == [whole * 8 // 10, whole // 10]
    assert run("train", pairs_file(), "--out", tmp_path / "m", "--shares", shares, *TINY).code == 0
    assert load_metadata(tmp_path / "m").data.shares == (0.8, 0.1, 0.1)


@pytest.mark.parametrize("shares", ["[80, 10, 10]", "[0.8, 0.1, 0.1]"])
def test_a_configuration_takes_them_in_per_cent_too(shares: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f"[data]\nshares = {shares}\n", encoding="utf-8")
    assert configuration(read_toml(file)).data.shares == (0.8, 0.1, 0.1)


@pytest.mark.parametrize("command", [("train",), ("data", "split")], ids=" ".join)
@pytest.mark.parametrize("shares", ["60,40", "60,30,20", "many", "90,5,nan", "-10,60,50", "0,50,50"])
def test_mistakes_are_told_in_one_line(shares: str, command: tuple[str, ...], tmp_path: Path, run: Run) -> None:
    done = run(*command, pairs_file(), "--out", tmp_path / "x", "--shares", shares)
    assert done.code == 2
    assert "three numbers that add up to 100, such as 90,5,5" in done.err
    assert len(done.err.splitlines()) == 1
    assert not (tmp_path / "x").exists()
