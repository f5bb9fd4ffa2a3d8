"""benchmarks/scaling.py finds the parameters of a model from the times that this model predicts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.analysis.scaling import Job, ScalingModel

TRUTH = ScalingModel(parameter_seconds=9e-9, message_seconds=3e-4, byte_seconds=4e-9, efficiency=0.6, overlap=0.7)
PRESETS = {"small": (1_200_000, 4, 0.022), "medium": (2_600_000, 4, 0.06), "large": (7_000_000, 39, 0.2)}


@pytest.fixture(scope="module")
def benchmark() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
        import scaling

        yield scaling
        for name in ("scaling", "scaling_fit", "scaling_links"):
            sys.modules.pop(name, None)


class Known:
    """The job of a case, in place of those that are found in measurements."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def of(self, run: Any) -> Job:
        return self.job


@pytest.fixture(scope="module")
def results(benchmark: Any) -> dict[str, Any]:
    """What the model says of every case, with 2 per cent of noise."""
    from scaling_fit import Run, predicted

    rng, runs = np.random.default_rng(0), []
    for preset, (parameters, collectives, seconds) in PRESETS.items():
        messages = [benchmark.Case("message", preset, 0, ranks, bandwidth=3e9) for ranks in (2, 4, 8)]
        for case in benchmark.cases_of(preset) + messages * (preset == "small"):
            slower = 1.0 if case.kind == "alone" else 1.1 * max(1, case.processes / 2)  # they share two cores
            job = Job(parameters, collectives, slower * seconds / case.threads, case.threads)
            run = Run(asdict(case), 0.0, (0.0, 0.0), 0.0, 0.0, parameters, collectives)
            about = {"communication": 0.0, "tokens": 1400.0, "parameters": parameters, "collectives": collectives}
            time = predicted(TRUTH, run, Known(job))
            rounds = [{**about, "seconds": time * float(np.exp(0.02 * rng.normal()))} for _ in range(5)]
            runs.append({**asdict(case), "rounds": rounds})
    return {"machine": {"cpu": "none", "cores": 2, "load": 0.0, "date": "today"}, "runs": runs}


def test_the_fit_finds_the_parameters(benchmark: Any, results: dict[str, Any]) -> None:
    from scaling_fit import Jobs, fit, runs_of

    runs = runs_of(results)
    model = fit(runs, Jobs(runs))
    for field in fields(model):
        assert getattr(model, field.name) == pytest.approx(getattr(TRUTH, field.name), rel=0.25), field.name


def test_the_report_tells_what_was_held_out(
    benchmark: Any, results: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark.report(results, tmp_path / "scaling.png")
    printed = capsys.readouterr().out
    lines = [line for line in printed.splitlines() if line.endswith(("| yes |", "| no |"))]
    assert {line.split()[1] for line in lines if line.endswith("| yes |")} == {"small", "large"}
    assert all(abs(int(line.split("|")[6].split()[0])) <= 10 for line in lines), printed
    assert sum("no" in line.split("|")[8] for line in lines) > len(lines) / 2
    assert (tmp_path / "scaling.png").stat().st_size > 10_000
