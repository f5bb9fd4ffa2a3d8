"""benchmarks/thesis.py prints the thesis's tables with ours beside them."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dragoman.tasks.configuration import configuration
from tests.tasks.models import pairs_file

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "thesis.py"


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    specification = importlib.util.spec_from_file_location("thesis_benchmark", BENCHMARK)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["thesis_benchmark"] = module
    specification.loader.exec_module(module)
    yield module
    del sys.modules["thesis_benchmark"]


def row(preset: str, **changes: Any) -> dict[str, Any]:
    return {
        "preset": preset,
        "parameters": 1_167_222,
        "epochs": 12.0,
        "seconds": 600.0,
        "epochs_to_090": None,
        "seconds_to_090": None,
        "training_accuracy": 0.765,
        "error": 1.234,
        "accuracy": 0.7654,
        "exact": 0.25,
        "bleu": [33.333, 32.0, 34.0, "nrefs:1|bleu"],
        "chrf": [55.555, 54.0, 56.0, "nrefs:1|chrf"],
        "peak_memory": 300 * 2**20,
        "example": "La planta es verde.",
        **changes,
    }


def cells(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


@pytest.mark.ledger("T-6.2-time", "T-6.2-params", "T-6.2-test")
def test_the_three_tables_of_the_thesis(benchmark: ModuleType) -> None:
    reached = row("large", epochs_to_090=9.0, seconds_to_090=1234.0, seconds=1800.0)
    table = cells(benchmark.tables([row("small"), row("medium"), reached]))
    sizes, times, tests = table[0:5], table[5:10], table[10:15]
    assert [line[:3] for line in sizes[2:]] == [
        ["small", "64, 128, 4, 1", "1,166,966"],
        ["medium", "128, 256, 4, 2", "2,822,902"],
        ["large", "256, 512, 8, 2", "6,950,390"],
    ]
    assert [line[1] for line in times[2:]] == [
        "43 epochs, 12,043 s, 280.1 s an epoch",
        "16 epochs, 22,360 s, 1,397.5 s an epoch",
        "12 epochs, 69,652 s, 5,804.3 s an epoch",
    ]
    assert [line[2] for line in times[2:]] == ["not reached (0.765)"] * 2 + ["9 epochs, 1,234 s"]
    assert times[2][3] == "12 epochs, 600 s, 50.0 s an epoch"
    assert times[4][3] == "12 epochs, 1,800 s, 150.0 s an epoch"
    assert [line[1] for line in tests[2:]] == ["3.14 / 0.55", "2.18 / 0.60", "1.77 / 0.66"]
    assert tests[2][2:] == ["1.234 / 0.7654", "33.33 (32.0 to 34.0)", "55.55 (54.0 to 56.0)", "25.0%"]


@pytest.mark.ledger("T-6.2-time")
@pytest.mark.parametrize(("preset", "average"), [("small", 280.07), ("medium", 1397.5), ("large", 5804.33)])
def test_seconds_an_epoch_are_all_seconds_over_all_epochs(preset: str, average: float, benchmark: ModuleType) -> None:
    thesis = benchmark.THESIS[preset]
    assert thesis["seconds"] / thesis["epochs"] == pytest.approx(average, abs=0.005)


@pytest.fixture(scope="module")
def measured(benchmark: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A real run: Small by the thesis's recipe, two epochs on 360 pairs."""
    arguments = ["thesis.py", pairs_file(), "--recipe", "thesis", "--epochs", "2", "--beam", "1", "--threads", "1"]
    arguments += ["--work", str(tmp_path_factory.mktemp("thesis")), "--one", "small"]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as printed:
        patch.setattr(sys, "argv", arguments)
        assert benchmark.main() == 0
    row: dict[str, Any] = json.loads(printed.getvalue())
    return row


@pytest.mark.ledger("T-6.2-time", "T-6.2-test")
def test_a_real_run_fills_the_tables(measured: dict[str, Any], benchmark: ModuleType) -> None:
    """Its own seconds over its own epochs; error and accuracy of its own testing part, a fifth of the pairs."""
    _, times, tests = (table.splitlines()[2:] for table in benchmark.tables([measured]).split("\n\n")[:3])
    assert (measured["preset"], measured["epochs"], measured["sentences"]) == ("small", 2, 72)
    average = measured["seconds"] / 2
    assert cells(times[0])[0][3] == f"2 epochs, {measured['seconds']:,.0f} s, {average:,.1f} s an epoch"
    assert cells(times[0])[0][2] == f"not reached ({measured['training_accuracy']:.3f})"
    assert cells(tests[0])[0][2] == f"{measured['error']:.3f} / {measured['accuracy']:.4f}"
    assert 0 < measured["training_accuracy"] < 0.9
    assert 0 <= measured["accuracy"] < 1
    assert measured["error"] == pytest.approx(math.log(measured["perplexity"]))


@pytest.mark.ledger("T-6.2-test")
def test_the_recorded_runs_are_beside_the_figures_of_the_thesis(benchmark: ModuleType) -> None:
    """docs/measurements.md: its figures are the thesis's, and of ours too the larger network has the lower error."""
    page = (BENCHMARK.parents[1] / "docs" / "measurements.md").read_text(encoding="utf-8")
    table = cells(page.partition("## The thesis's experiment")[2].partition("\n\n`python benchmarks/thesis.py")[0])
    names = table[0]
    accuracy, error = names.index("testing accuracy, thesis"), names.index("testing error, thesis")
    ours = []
    for line in table[2:5]:
        thesis = benchmark.THESIS[line[0].lower()]
        assert (float(line[accuracy]), float(line[error])) == (thesis["accuracy"], thesis["error"])
        ours.append(float(line[error + 1]))
    assert [line[0] for line in table[2:5]] == ["Small", "Medium", "Large"]
    assert ours == sorted(ours, reverse=True)


@pytest.mark.ledger("T-6.1-values", "T-6.1-split")
def test_the_conditions_are_those_of_the_thesis(benchmark: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(benchmark, "run", lambda arguments, preset: asked.append((arguments, preset)) or {})
    monkeypatch.setattr(sys, "argv", ["thesis.py", "eng-spa.tsv.gz", "--recipe", "thesis", "--one", "medium"])
    assert benchmark.main() == 0
    [(arguments, preset)] = asked
    settings = configuration(benchmark.settings(arguments, preset))
    assert (settings.preset, settings.recipe) == ("medium", "thesis")
    assert settings.data.vocabulary == (4562, 6134)
    assert (settings.data.split, settings.data.shares, settings.data.protect) == ("sample", (0.6, 0.2, 0.2), False)
