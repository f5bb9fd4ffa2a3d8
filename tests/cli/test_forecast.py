"""`dragoman train series.csv --task forecasting`, and every other command on what it makes."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.tasks import planning
from dragoman.tasks.planning import Speed
from tests.cli.killing import assert_killed_and_resumed
from tests.cli.running import Run
from tests.tasks.forecasting.series import series_file, trained, write_series

SMALL = [
    *("--task", "forecasting", "--threads", "1"),
    *("--set", "network.depth=4", "--set", "network.units=4", "--set", "optimizer.batch=16"),
]


def test_train_evaluate_inspect(run: Run, tmp_path: Path) -> None:
    model = tmp_path / "model"
    options = ["--epochs", "1", "--columns", "sales", "--horizon", "5", "--fill", "linear", "--out", model]
    done = run("train", series_file(), *SMALL, *options)
    assert done.code == 0, done.err
    assert "160 rows of sales, 2024-01-01 to 2024-06-08, every day; a season of 7 rows; windows read 14" in done.out
    assert "nan" not in done.out, "numbers have no accuracy"
    assert "seasonal-naive" in done.out
    assert f"dragoman forecast {model} {series_file()} --plot forecast.png" in done.out
    done = run("evaluate", model)
    assert done.code == 0, done.err
    report = json.loads((model / "evaluation/report.json").read_text(encoding="utf-8"))
    assert {"mae", "rmse", "mase", "linear_autoregression_mase"} <= report["metrics"].keys()
    assert (model / "evaluation/report.html").read_text(encoding="utf-8").count("<svg") == 2
    done = run("inspect", model)
    assert done.code == 0, done.err
    assert "forecasting: gru" in done.out
    assert "split by time" in done.out


def test_forecast(run: Run, tmp_path: Path) -> None:
    done = run("forecast", trained(), series_file(), "--horizon", "3")
    assert done.code == 0, done.err
    header, *rows = csv.reader(io.StringIO(done.out))
    assert header == ["date", "visitors", "visitors_low", "visitors_high", "sales", "sales_low", "sales_high"]
    assert [row[0] for row in rows] == ["2024-06-09", "2024-06-10", "2024-06-11"]
    assert all(float(low) < float(value) < float(high) for _, value, low, high, *_ in rows)
    out, plot = tmp_path / "f.csv", tmp_path / "f.png"
    again = run("forecast", trained(), series_file(), "--horizon", "3", "--out", out, "--plot", plot)
    assert (again.code, again.out) == (0, "")
    assert out.read_text(encoding="utf-8") == done.out
    assert plot.read_bytes().startswith(b"\x89PNG")
    piped = run("forecast", trained(), "-", "--horizon", "3", stdin=Path(series_file()).read_bytes())
    assert piped.out == done.out
    found = json.loads(run("forecast", trained(), series_file(), "--json", "--level", "80").out)
    assert (found["level"], len(found["forecast"])) == (0.8, 7)
    assert found["forecast"][0]["sales"].keys() == {"value", "low", "high"}


def test_what_is_not_known_is_said(run: Run, tmp_path: Path) -> None:
    assert (
        "later ones are made from its own forecasts" in run("forecast", trained(), series_file(), "--horizon", "9").err
    )
    assert "95%: they need 19 validation windows" in run("forecast", trained(), series_file(), "--level", "95").err
    path = write_series(tmp_path / "a.csv", lambda rows: rows[150].__setitem__(1, ""))
    assert "1 missing value" in run("forecast", trained(), path, "--fill", "previous").err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["SERIES", "--level", "70"], "intervals of the levels 0.5, 0.8, 0.9, 0.95, not 0.7"),
        (["SERIES", "--level", "0"], "--level is per cent"),
        (["SERIES", "--fill", "zero"], "--fill must be linear, previous or seasonal"),
        (["SERIES", "--plot", "f.gif"], "figures are written as .png or .svg"),
        (["SERIES", "--out", "SERIES"], "is the input file"),
        (["nowhere.csv"], "nowhere.csv does not exist"),
    ],
)
def test_mistakes(run: Run, arguments: list[str], error: str) -> None:
    done = run("forecast", trained(), *(series_file() if each == "SERIES" else each for each in arguments))
    assert done.code == 2
    assert error in done.err


def test_other_commands_refuse_a_forecaster(run: Run) -> None:
    assert "use `dragoman forecast" in run("predict", trained(), "a").err
    assert "use `dragoman forecast" in run("translate", trained(), "a").err


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_and_resumed_to_the_same_bits(run: Run, tmp_path: Path) -> None:
    files = "series-encoding.json", "testing.csv.gz"
    places = assert_killed_and_resumed(run, [series_file(), *SMALL, "--epochs", "30"], tmp_path, files)
    found = [json.loads((place / "model.json").read_text(encoding="utf-8"))["intervals"] for place in places]
    assert found[0] == found[1]


def test_plan(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def measure(settings: Any, dataset: Any, seconds: float = 0) -> Speed:
        asked.append((settings.architecture, settings.preset))
        return Speed(1000, 0.01, 100.0, 5, 0.0, 2**20)

    monkeypatch.setattr(planning, "measure", measure)
    done = run("plan", series_file(), "--task", "forecasting", "--fill", "linear", "--budget", "1m")
    assert done.code == 0, done.err
    assert asked == [("gru", name) for name in ("small", "medium", "large")]
    assert "--task forecasting --fill linear --budget 1m" in done.out


def test_a_series_that_cannot_be_used(run: Run, tmp_path: Path) -> None:
    path = write_series(tmp_path / "a.csv", lambda rows: rows[20].__setitem__(2, ""))
    done = run("train", path, *SMALL, "--out", tmp_path / "model")
    assert done.code == 2
    assert f"{path}, line 21 (2024-01-20): column 'sales' has no value; fill missing values with --fill" in done.err
    assert not (tmp_path / "model").exists()
