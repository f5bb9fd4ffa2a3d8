"""dragoman plan, as a user types it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from dragoman.tasks import planning
from dragoman.tasks.configuration import TrainingConfiguration
from dragoman.tasks.planning import Speed
from tests.cli.running import Run
from tests.drawn_images import write_folder
from tests.tasks.models import PAIRS, pairs_file, write_pairs

STEP = {64: 0.01, 128: 0.04, 256: 0.2}  # seconds, by depth


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[TrainingConfiguration]:
    """What was measured; nothing is, for it takes seconds."""
    found: list[TrainingConfiguration] = []

    def measure(settings: TrainingConfiguration, dataset: Any) -> Speed:
        found.append(settings)
        depth = settings.network.depth
        return Speed(1000 * depth, STEP.get(depth, 0.01), 5000.0, 100, 1.0, 50 * 2**20)

    monkeypatch.setattr(planning, "measure", measure)
    return found


def test_every_preset_is_measured_and_told(run: Run, measured: list[TrainingConfiguration]) -> None:
    done = run("plan", pairs_file(), "--budget", "10m")
    assert (done.code, done.err) == (0, "")
    assert [settings.preset for settings in measured] == ["small", "medium", "large"]
    assert "within 10 min" in done.out
    rows = {
        line.split()[1]: [cell.strip() for cell in line.strip("│").split("│")] for line in done.lines if "MB │" in line
    }
    assert rows["small"] == ["small", "64,000", "5,000", "50 MB", "2 s", "269.5"]
    assert rows["medium"] == ["medium", "128,000", "5,000", "50 MB", "5 s", "107.8"]
    assert rows["large"] == ["large", "256,000", "5,000", "50 MB", "21 s", "25.7"]
    assert re.search(r"\d+ pairs to train on", done.out)


@pytest.mark.usefixtures("measured")
def test_as_json(run: Run) -> None:
    done = run("plan", pairs_file(), "--budget", "10m", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["budget_seconds"] == 600
    assert found["parts"]["training"] > 0
    assert [row["preset"] for row in found["presets"]] == ["small", "medium", "large"]
    small = found["presets"][0]
    assert (small["parameters"], small["tokens_per_second"], small["memory_bytes"]) == (64000, 5000.0, 50 * 2**20)
    assert small["epochs_in_budget"] == pytest.approx(269.5, abs=0.05)
    assert "pairs to train on" in done.err, "notices leave standard output alone"


@pytest.mark.usefixtures("measured")
def test_the_table_fits_60_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    names = ("preset", "small", "medium", "large")
    rows = [line for line in run("plan", pairs_file()).lines if line.startswith(names)]
    assert len(rows) == 4
    assert max(map(len, rows)) <= 60
    assert "…" not in "".join(rows)


def test_a_configuration_is_planned_as_it_is(run: Run, measured: Any, tmp_path: Path) -> None:
    """Its recipe and its budget hold unless others are given."""
    file = tmp_path / "config.toml"
    file.write_text(
        f'recipe = "thesis"\n[data]\nfiles = ["{pairs_file()}"]\n[stopping]\nbudget = "20m"\n', encoding="utf-8"
    )
    done = run("plan", file)
    assert done.code == 0, done.err
    assert {settings.recipe for settings in measured} == {"thesis"}
    assert "within 20 min" in done.out
    measured.clear()
    done = run("plan", file, "--recipe", "modern", "--budget", "30m")
    assert {settings.recipe for settings in measured} == {"modern"}
    assert "within 30 min" in done.out


def test_the_next_command_is_the_training_that_was_planned(run: Run, measured: Any, tmp_path: Path) -> None:
    files = [write_pairs(tmp_path / f"{name}.tsv", PAIRS[:100]) for name in ("my pairs", "more")]
    done = run("plan", *files, "--budget", "45m", "--recipe", "thesis")
    assert done.code == 0, done.err
    [command] = [line.removeprefix("Next: ") for line in done.lines if line.startswith("Next: ")]
    words = shlex.split(command)
    assert words[:2] == ["dragoman", "train"]
    for expected in (*files, "45m", "thesis"):
        assert expected in words, expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["gone.tsv"], "gone.tsv"),
        ([pairs_file, "--budget", "soon"], "a time is written as"),
        ([pairs_file, "--recipe", "old"], "unknown recipe 'old'"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[Any], expected: str, run: Run) -> None:
    done = run("plan", *(argument() if callable(argument) else argument for argument in arguments))
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert len(done.err.splitlines()) == 1


def test_images_are_counted_as_images(run: Run, measured: list[TrainingConfiguration], tmp_path: Path) -> None:
    """Tokens of an image are patches, which nobody counts."""
    write_folder(tmp_path / "digits", 60)
    done = run("plan", tmp_path / "digits", "--task", "image-classification")
    assert done.code == 0, done.err
    assert "images/s" in done.out
    assert "tokens/s" not in done.out
    count = int(re.search(r"(\d+) images to train on", done.out)[1])  # type: ignore[index]
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in done.lines if "MB │" in line]
    epochs = {row[0]: row[2] for row in rows}
    assert epochs["small"] == f"{count / 2:,.0f}"  # an epoch takes 100 steps of 0.01 s and a second of validation
