"""A run in separate processes, and what is made of it. No time is asserted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from dragoman.bench import decoding, machine, processes, run, scaling, training
from dragoman.bench.corpora import measure_corpora
from dragoman.bench.decoding import agreement, translators_for
from dragoman.bench.figures import COLOURS, ratios_figure, scaling_figure
from dragoman.bench.processes import ContenderError, Process, check_installed
from dragoman.bench.report import remarks
from dragoman.bench.rounds import Row, alternate, ratios
from dragoman.bench.run import Results
from dragoman.bench.scaling import Point, Setup, measure_point, setups
from dragoman.bench.sentences import equal_batch
from dragoman.bench.workloads import HIDDEN, KNOWN, SIZES, Settings
from dragoman.cli.bench import bench
from dragoman.errors import ConfigurationError, DataError
from tests.bench.materials import QUICK, steps_material

PROMISED = {
    *("workload", "preset", "contender", "min_ratio", "median_ratio", "spread", "seconds", "rounds"),
    *(
        "memory",
        "memory_ratio",
        "cold_start",
        "cached_start",
        "sentences_per_second",
        "identical",
        "gemm_share",
        "linear_share",
    ),
}


@pytest.fixture(scope="module")
def results() -> Results:
    """Fails when contenders do not agree: losses and norms before steps are timed, labels before decoding is."""
    return run.run(QUICK)


def test_every_contender_has_a_row_with_all_fields(results: Results) -> None:
    rows = [row.as_dict() for row in results.rows]
    assert all(row.keys() >= PROMISED for row in rows)
    assert {row["contender"] for row in rows if row["kind"] == "training"} == {
        *("dragoman", "torch", "gemm", "gemm linear")
    }
    assert {row["workload"] for row in rows if row["kind"] == "decoding"} == {
        *("greedy-1", "greedy-64", "beam-1", "beam-64")
    }
    for row in rows:
        low, high = row["spread"]
        assert 0 < row["min_ratio"] <= low <= row["median_ratio"] <= high
        assert row["memory"] > 2**20
    ours = [row for row in rows if row["contender"] == "dragoman"]
    assert all(row["median_ratio"] == row["memory_ratio"] == 1 for row in ours)
    assert ours[0]["gemm_share"] == next(row["median_ratio"] for row in rows if row["contender"] == "gemm")
    greedy = [row for row in rows if row["workload"].startswith("greedy") and "int8" not in row["contender"]]
    assert all(row["identical"] == 1 for row in greedy)


def test_another_checkout_is_a_contender(tmp_path: Path) -> None:
    """Its own code runs: a copy whose worker refuses to start is noticed."""
    copy, here = tmp_path / "other", Path(run.__file__).parents[2]
    shutil.copytree(here, copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    settings = replace(QUICK, workloads=("equal",), rounds=2, against=copy)
    results = run.run(settings)
    assert [row.contender for row in results.rows] == ["dragoman", "against"]
    assert any("Geometric mean of the 1 ratios" in line for line in remarks(results))
    (copy / "src" / "dragoman" / "bench" / "contenders.py").write_text("raise ImportError('the other one')")
    with pytest.raises(ContenderError, match="against failed at 'memory': ImportError: the other one"):
        run.run(settings)


def test_what_cannot_be_compared_with_another_checkout_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="takes a checkout of Dragoman, but there is no"):
        run.run(replace(QUICK, workloads=("equal",), against=tmp_path))
    checkout = Path(run.__file__).parents[3]
    with pytest.raises(ConfigurationError, match="leave decoding out of --only"):
        run.run(replace(QUICK, workloads=("equal", "decoding"), against=checkout))


def test_a_language_model_and_a_classifier_run_beside_their_twins() -> None:
    rows = run.run(replace(QUICK, workloads=("language-model", "classifier"), rounds=1)).rows
    names = ("dragoman", "torch", "gemm", "gemm linear")
    assert [(row.workload, row.contender) for row in rows] == [
        (workload, name) for workload in ("language-model", "classifier") for name in names
    ]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("fma avx avx2 avx512f", "Fast 3000 (AVX-512)"), ("avx avx2", "Fast 3000 (AVX2)"), ("sse", "Fast 3000")],
)
def test_the_processor_is_told_with_its_vectors(tmp_path: Path, flags: str, expected: str) -> None:
    facts = tmp_path / "cpuinfo"
    facts.write_text(f"processor\t: 0\nmodel name\t: Fast 3000\nflags\t\t: {flags}\n", encoding="utf-8")
    assert machine.cpu_model(facts) == expected
    assert machine.cpu_model(tmp_path / "none")


def test_the_machine_is_told(results: Results) -> None:
    facts = results.machine
    assert facts.keys() >= {"cpu", "cores", "threads", "versions", "commit", "python", "date", "engine"}
    assert facts["versions"]["numpy"] == np.__version__


def test_the_command_prints_tables_and_writes_files(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Settings] = []
    rows = [replace(row, epoch_seconds=9.0) for row in results.rows]
    points = [Point("length", n, who, n / 1e3, 2 * n, 10**8 + n) for n in (16, 32) for who in ("dragoman", "torch")]

    def pretended(settings: Settings, say: Any) -> Results:
        asked.append(settings)
        say("measuring")
        return Results(results.machine, results.sentences, rows, points, ["torch.compile: no compiler"])

    monkeypatch.setattr(run, "run", pretended)
    app = typer.Typer()
    app.command()(bench)
    options = ["--only", "tiny,equal", "--quick", "--scaling", "--json", str(tmp_path / "bench.json")]
    done = CliRunner().invoke(app, [*options, "--plot", str(tmp_path / "bench.svg")], catch_exceptions=False)
    assert done.exit_code == 0
    assert (asked[0].presets, asked[0].workloads) == (("tiny",), ("equal", "scaling"))
    assert (asked[0].rounds, asked[0].compile) == (3, False)
    for word in ("Training steps", "Decoding", "As the work grows", "gemm", "Skipped: torch.compile: no compiler"):
        assert word in done.stdout
    assert "An epoch of tiny, extrapolated from the batches measured: dragoman 9.0 s" in done.stdout
    told = json.loads((tmp_path / "bench.json").read_text())
    assert told.keys() == {"machine", "sentences", "rows", "scaling", "skipped"}
    assert all(row.keys() >= PROMISED for row in told["rows"])
    assert {file.name for file in tmp_path.iterdir()} == {"bench.json", "bench.svg", "bench-scaling.svg"}


def test_a_place_that_is_not_there_is_told_before_hours_are_spent(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(bench)
    with pytest.raises(ConfigurationError, match="there is no directory"):
        CliRunner().invoke(app, ["--json", str(tmp_path / "no" / "bench.json")], catch_exceptions=False)


def test_figures_have_a_panel_for_each_kind(results: Results) -> None:
    assert len(ratios_figure(results.rows).axes) == 2
    assert len(ratios_figure([row for row in results.rows if row.kind == "decoding"]).axes) == 1
    points = [Point(curve, n, "dragoman", 1.0, 10, 10**8) for curve in ("batch", "depth") for n in (1, 2)]
    assert len(scaling_figure(points).axes) == 4
    with pytest.raises(DataError, match="nothing to draw"):
        ratios_figure([])
    with pytest.raises(DataError, match="nothing to draw"):
        scaling_figure([])


def test_blocks_alternate_and_their_order_is_reversed() -> None:
    calls: list[str] = []

    def block(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    seconds = alternate({name: lambda name=name: block(name) for name in "abc"}, 3, 0.0)
    assert "".join(calls) == "abccbaabc"
    assert seconds == {"a": [1, 6, 7], "b": [2, 5, 8], "c": [3, 4, 9]}


def test_ratios_are_taken_round_by_round() -> None:
    seconds = {"dragoman": [1.0, 2.0, 4.0], "torch": [3.0, 4.0, 12.0]}
    assert ratios(seconds, "torch") == (2.0, 3.0, (2.5, 3.0))
    assert ratios(seconds, "dragoman") == (1.0, 1.0, (1.0, 1.0))


class Pretended:
    """A process that answers what it is told to."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def ask(self, do: str, **details: Any) -> dict[str, Any]:
        return dict(self.answers)


def test_contenders_that_disagree_are_not_timed() -> None:
    alike: Any = {"dragoman": Pretended(error=2.0, norm=1.0), "torch": Pretended(error=2.0001, norm=1.00005)}
    training.check_agreement(alike, QUICK)
    alike["torch"] = Pretended(error=2.0, norm=1.001)
    with pytest.raises(ContenderError, match=r"the norm of the first batch is 1 and 1\.001"):
        training.check_agreement(alike, QUICK)


def test_decoders_that_disagree_are_not_timed() -> None:
    ours = [[5, 6], [7], [8], [9]]
    pair: Any = {"dragoman": Pretended(labels=ours), "torch": Pretended(labels=[[5, 6], [7], [8], [10]])}
    assert agreement(pair, {"method": "greedy", "count": 4}) == {"dragoman": 1.0, "torch": 0.75}
    pair["torch"] = Pretended(labels=[[5], [7], [8], [10]])
    with pytest.raises(ContenderError, match="torch decodes 2 of 4 sentences differently"):
        agreement(pair, {"method": "greedy", "count": 4})
    assert agreement(pair, {"method": "beam", "count": 4})["torch"] == 0.5


def test_a_contender_that_fails_says_why(tmp_path: Path) -> None:
    steps_material(tmp_path, "equal")
    with Process("gemm", tmp_path, 1, {}) as process:
        with pytest.raises(ContenderError, match=r"gemm failed at 'check': AttributeError.*\n(.*\n)*.*check"):
            process.ask("check")
        assert process.ask("steps", count=1)["seconds"] > 0  # it goes on


def test_an_optional_contender_that_fails_is_skipped() -> None:
    class Failing(Pretended):
        def ask(self, do: str, **details: Any) -> dict[str, Any]:
            raise ContenderError("no compiler\nTraceback: ...")

        def close(self) -> None:
            pass

    for do in (training.check_agreement, lambda running, settings: training.warm_up(running, 2, settings)):
        settings = Settings()
        running: Any = {"dragoman": Pretended(error=1.0, norm=1.0, seconds=1.0), "torch.compile": Failing()}
        do(running, settings)
        assert list(running) == ["dragoman"]
        assert settings.skipped == {"torch.compile": "no compiler"}
    with pytest.raises(ContenderError):
        training.warm_up({"torch": Failing()}, 2, Settings())  # type: ignore[dict-item]


def test_what_is_left_out_of_decoding_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding.importlib.util, "find_spec", lambda name: name)
    trained, random = Settings(model=Path("model")), Settings()
    assert translators_for(trained) == ["ctranslate2-float32", "ctranslate2-int8"]
    assert translators_for(random) == ["ctranslate2-float32"]
    monkeypatch.setattr(decoding.importlib.util, "find_spec", lambda name: None)
    without = Settings()
    assert translators_for(without) == []
    assert [list(settings.skipped) for settings in (trained, random, without)] == [
        *([], ["ctranslate2-int8"], ["ctranslate2"])
    ]


def test_a_missing_peer_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"torch is not installed.*pip install 'dragoman\[bench\]'"):
        check_installed("torch", run.INSTALL)


def test_starts_are_timed_cold_and_cached(tmp_path: Path) -> None:
    steps_material(tmp_path, "equal")
    times = training.start_times(
        ["dragoman", "gemm"], tmp_path, QUICK, training.cache_variables(tmp_path, "tiny", Settings())
    )
    assert times.keys() == {"dragoman"}
    assert len(times["dragoman"]) == 2


def test_curves_reach_the_lengths_that_were_promised() -> None:
    found = list(setups())
    assert {place.curve for place in found} == {"batch", "length", "vocabulary", "depth", "layers"}
    lengths = [place for place in found if place.curve == "length"]
    assert max(place.value for place in lengths) == 1024
    assert {place.length * place.size.sentences for place in lengths} == {scaling.ROWS}


def test_a_point_of_a_curve(tmp_path: Path) -> None:
    steps_material(tmp_path, "equal")
    place = Setup("batch", 6, HIDDEN["tiny"])
    point = measure_point("dragoman", place, equal_batch(place.size, 10, 0), tmp_path, QUICK, tmp_path)
    assert (point.curve, point.value, point.tokens) == ("batch", 6, 2 * 6 * 10)
    assert point.memory > 2**20


def test_the_curve_of_corpus_sizes_is_of_whole_epochs(tmp_path: Path) -> None:
    points = measure_corpora(QUICK, tmp_path, lambda text: None, sizes=(64, 192))
    assert [(point.curve, point.value, point.contender) for point in points] == [
        *(("corpus", 64, "dragoman"), ("corpus", 192, "dragoman"))
    ]
    assert points[0].tokens == pytest.approx(64 * 20, rel=0.1)  # of a mean step, both sides
    assert points[1].tokens == pytest.approx(64 * 20, rel=0.1)


def test_an_epoch_needs_a_corpus() -> None:
    with pytest.raises(ConfigurationError, match="--corpus FILE"):
        run.run(replace(QUICK, workloads=("epoch",)))


def test_what_an_epoch_takes_follows_from_its_steps() -> None:
    seconds = {"dragoman": [2.0], "torch": [6.0], "gemm": [1.0], "gemm linear": [0.9]}
    memory = dict.fromkeys(seconds, 1)
    rows = training.make_rows("small", "epoch", seconds, 200, memory, {}, 1116)
    assert [row.epoch_seconds for row in rows] == pytest.approx([11.16, 33.48, 5.58, 5.022])
    assert {row.epoch_seconds for row in training.make_rows("small", "equal", seconds, 8, memory, {}, None)} == {None}


def test_no_peer_is_imported_by_the_command() -> None:
    code = "import sys, dragoman.cli.bench, dragoman.bench.run, dragoman.bench.report, dragoman.bench.figures as f\n"
    code += "print({'torch', 'ctranslate2', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_rows_are_json(results: Results) -> None:
    again = json.loads(json.dumps(results.as_dict()))
    assert [Row(**{**row, "spread": tuple(row["spread"])}) for row in again["rows"]] == results.rows


def test_help_and_document_name_every_workload_and_contender() -> None:
    app = typer.Typer()
    app.command()(bench)
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
    document = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert [name for name in KNOWN if name not in shown] == []
    for name in (*KNOWN, *SIZES, *COLOURS, *{place.curve for place in setups()}, *PROMISED):
        assert f"`{name}`" in document, name
    for option in re.findall(r"--[a-z]+", document):
        assert option in shown, option


def test_two_ways_are_compared_in_one_process() -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "alternatives.py"
    command = [sys.executable, str(script), "programs", "--presets", "tiny", "--rounds", "1", "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "DRAGOMAN_ENGINE": "numba"})
    assert re.fullmatch(r"tiny, equal: [\d.]+ \([\d.]+ to [\d.]+\), least [\d.]+; a step [\d.]+ ms\n", done.stdout), (
        done
    )


def test_a_busy_machine_is_told_beside_the_tables(results: Results) -> None:
    quiet, busy = (replace(results, machine={**results.machine, "load": load}) for load in (0.1, 3.0))
    assert not any("not reliable" in text for text in remarks(quiet))
    assert any("load 3.0" in text for text in remarks(busy))
