"""dragoman plan --nodes, as a user types it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.tasks import planning
from dragoman.tasks.configuration import TrainingConfiguration
from dragoman.tasks.planning import Speed, measure
from tests.cli.running import Run
from tests.tasks.models import pairs_file

SECONDS = {64: 0.0005, 128: 0.2, 256: 10.0}  # of a step, by depth: links are too slow for one, fast for another


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Speeds; nothing is measured. The number of steps of an epoch may be changed."""
    found = {"steps": 1000}

    def stand_in(settings: TrainingConfiguration, dataset: Any) -> Speed:
        depth = settings.network.depth
        step = SECONDS[depth] * settings.optimizer.accumulate
        return Speed(20_000 * depth, step, 5000.0, found["steps"], 1.0, 2**20, 2, 10)

    monkeypatch.setattr(planning, "measure", stand_in)
    return found


def nodes_of(run: Run, *arguments: str) -> dict[str, Any]:
    done = run("plan", pairs_file(), "--json", *arguments)
    assert done.code == 0, done.err
    return {row["preset"]: row["nodes"] for row in json.loads(done.out)["presets"]}


def test_a_table_and_advice_for_every_preset(run: Run) -> None:
    done = run("plan", pairs_file(), "--nodes", "4", "--bandwidth", "1G")
    assert (done.code, done.err) == (0, "")
    assert "On 4 machines like this one, joined by 1 Gbit/s" in done.out
    rows = {line.split()[1]: [cell.strip() for cell in line.split("│")[2:-1]] for line in done.lines if "% │" in line}
    assert list(rows) == ["small", "medium", "large"]
    step, speed_up, efficiency, communication, _ = rows["large"]
    assert step.endswith(" ms")
    assert 3.5 < float(speed_up) < 4
    assert int(efficiency.removesuffix("%")) == pytest.approx(25 * float(speed_up), abs=1)
    assert int(communication.removesuffix("%")) < 15
    assert "small: does not pay: " in done.out
    assert "medium: use a larger batch, --set optimizer.batch=" in done.out
    assert "large: pays with the same batch: " in done.out
    assert "torchrun --nnodes 4 --node-rank RANK --master-addr FIRST_MACHINE -m dragoman train" in done.out


def test_the_advice_is_the_batch_that_pays(run: Run) -> None:
    found = nodes_of(run, "--nodes", "4", "--bandwidth", "1G")
    assert [found[name]["pays"] for name in ("small", "medium", "large")] == [False, True, True]
    medium = found["medium"]
    assert medium["same_batch"]["efficiency"] < 0.7
    assert medium["batch_per_node"]["speed_up"] > medium["same_batch"]["speed_up"]
    assert medium["gradient_bytes"] == 4 * 20_000 * 128
    batch = int(medium["advice"].partition("optimizer.batch=")[2].partition(":")[0])
    assert batch % (4 * 64) == 0


def test_few_samples_fill_no_large_batch(run: Run, measured: dict[str, int]) -> None:
    measured["steps"] = 50
    found = nodes_of(run, "--nodes", "4", "--bandwidth", "1G")
    assert "so few samples" in found["medium"]["advice"]
    assert not found["medium"]["pays"]
    assert found["large"]["pays"]


def test_nothing_pays_over_a_slow_link(run: Run) -> None:
    done = run("plan", pairs_file(), "--nodes", "2", "--bandwidth", "1M")
    assert done.code == 0, done.err
    assert done.out.count("does not pay") == 3
    assert "torchrun" not in done.out
    assert "Next: dragoman train" in done.out


def test_without_nodes_nothing_is_said_of_them(run: Run) -> None:
    done = run("plan", pairs_file(), "--json")
    assert done.code == 0, done.err
    assert "nodes" not in done.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--nodes", "4"], "--bandwidth 10G"),
        (["--bandwidth", "10G"], "--nodes 4"),
        (["--nodes", "4", "--bandwidth", "10"], "100M, 1G or 10G"),
        (["--nodes", "1", "--bandwidth", "10G"], "--nodes"),
    ],
)
def test_mistakes_are_explained(arguments: list[str], expected: str, run: Run) -> None:
    done = run("plan", pairs_file(), *arguments)
    assert (done.code, done.out) == (2, "")
    assert expected in done.err


def test_what_is_measured_is_what_the_model_needs(run: Run) -> None:
    """The real measurement tells threads and collectives."""
    from dragoman.tasks.configuration import configuration
    from dragoman.tasks.task import find_task

    small = {"depth": 16, "perceptron_depth": 16, "heads": 2, "layers": 1}
    settings = configuration({"data": {"files": [pairs_file()]}, "network": small, "threads": 2})
    task = find_task(settings.task)
    speed = measure(settings, task.prepare(task.open_corpus(settings.data, None), settings), seconds=0.01)
    assert (speed.threads, speed.collectives) == (2, 1)
