"""A forecaster: trained, saved, used, evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Forecaster
from dragoman.data.series_windows import SeriesWindows
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.configuration import configuration
from dragoman.tasks.forecasting.evaluation import MODEL, NAIVE, SEASONAL, compare
from dragoman.tasks.forecasting.intervals import fewest_windows, measure_intervals
from dragoman.tasks.forecasting.task import TASK
from dragoman.tasks.training import train_model
from tests.tasks.forecasting.series import PERIOD, SHORT, rows_of, series_file, tiny, trained, write_series


def test_the_season_decides_the_windows(forecaster: Forecaster) -> None:
    e = forecaster.encoding
    assert (e.period, e.context, e.horizon, e.names) == (PERIOD, 2 * PERIOD, PERIOD, ("visitors", "sales"))
    assert (e.strategy, forecaster.metadata.network.pooling) == ("feedback", "none")  # type: ignore[attr-defined]


@pytest.mark.ledger("B-7.1-horizon")
def test_better_than_the_naive_forecast_on_the_testing_part(directory: Path, forecaster: Forecaster) -> None:
    windows: Any = TASK.load_testing(directory)
    found = compare(forecaster, windows)
    assert len(windows) == 160 - 136 - PERIOD + 1
    assert (found.mase(MODEL) < 0.5 * found.mase(NAIVE)).all()
    np.testing.assert_array_equal(found.forecasts[SEASONAL], windows.rows()[:, PERIOD : 2 * PERIOD])
    np.testing.assert_allclose(found.by_step(MODEL).mean(), found.mase(MODEL).mean())


def test_a_forecast_goes_on_after_the_last_row(forecaster: Forecaster) -> None:
    found = forecaster.forecast(series_file())
    assert found.times == tuple(f"2024-06-{day:02}" for day in range(9, 16)), "160 days after the 1st of January"
    assert found.header()[:4] == ["date", "visitors", "visitors_low", "visitors_high"]
    assert (found.low < found.values).all()
    assert (found.values < found.high).all()
    longer = forecaster.forecast(series_file(), horizon=20)
    np.testing.assert_array_equal(longer.values[:PERIOD], found.values)
    assert np.isnan(longer.low[PERIOD:]).all(), "measured for the steps of the training alone"
    assert longer.lines()[-1][2] == ""
    assert longer.as_dict()["forecast"][-1]["sales"]["low"] is None
    np.testing.assert_array_equal(forecaster.forecast(series_file(), horizon=2).values, found.values[:2])


def test_what_is_forecast_is_read_again(forecaster: Forecaster) -> None:
    known = np.array([row[1:] for row in rows_of()[1:]], float)
    first = forecaster.forecast(known).values
    second = forecaster.forecast(np.concatenate((known, first))).values
    np.testing.assert_allclose(forecaster.forecast(known, 2 * PERIOD).values[PERIOD:], second, rtol=1e-9)


def test_an_array_is_a_series(forecaster: Forecaster) -> None:
    known = np.array([row[1:] for row in rows_of()[1:]], float)
    found = forecaster.forecast(known)
    assert found.times[0] == "161"
    np.testing.assert_array_equal(found.values, forecaster.forecast(series_file()).values)
    np.testing.assert_array_equal(forecaster.forecast(iter(known)).values, found.values)
    for wrong, error in (
        (["one", "two"], "expected an array of numbers, or a file"),
        (known[:, 0], "rows of 2 numbers"),
        (known[:13], "has 13 rows, the model reads 14"),
        (np.where(known == known[5], np.nan, known), "row 5 of 'visitors' is nan"),
    ):
        with pytest.raises(DataError, match=error):
            forecaster.forecast(wrong)


def test_a_level_and_a_horizon_that_are_not_there(forecaster: Forecaster) -> None:
    assert (forecaster.forecast(series_file(), level=0.5).high < forecaster.forecast(series_file()).high).all()
    with pytest.raises(ConfigurationError, match=r"intervals of the levels 0.5, 0.8, 0.9, 0.95, not 0.7"):
        forecaster.forecast(series_file(), level=0.7)
    with pytest.raises(ConfigurationError, match="1 to 100,000 steps, got 0"):
        forecaster.forecast(series_file(), 0)


def test_intervals_hold_as_many_errors_as_they_say() -> None:
    """Of errors that are exchangeable: at least the level of new ones, on average."""
    rng = np.random.default_rng(0)
    old, new = rng.standard_normal((99, 2, 1)), rng.standard_normal((20_000, 2, 1))
    found = measure_intervals(old)
    half = found.half_width(0.9)
    assert half is not None
    np.testing.assert_allclose(half, np.sort(np.abs(old), axis=0)[89], rtol=1e-8)
    assert abs((np.abs(new) <= half).mean() - 0.9) < 0.05


def test_few_windows_give_no_interval() -> None:
    found = measure_intervals(np.ones((10, 1, 1)))
    assert found.usable == [0.5, 0.8, 0.9]
    assert found.half_width(0.95) is None
    assert [fewest_windows(level) for level in (0.5, 0.8, 0.9, 0.95)] == [1, 4, 9, 19]


def test_the_report(directory: Path, forecaster: Forecaster) -> None:
    windows: Any = TASK.load_testing(directory)
    report = forecaster.evaluate(windows)
    assert {"mase", "mae", "rmse", "naive_mase", "seasonal_naive_mase", "coverage_50"} <= report.metrics.keys()
    beside, steps, intervals = report.tables
    assert len(beside.rows) == 8
    assert [row[0] for row in steps.rows] == list(range(1, PERIOD + 1))
    assert intervals.rows[-1][1] == "needs 19 validation windows"
    assert "too few to say more than roughly" in intervals.note
    assert report.headline.startswith("mean MASE ")
    for draw in report.figures.values():
        assert draw().axes


def test_evaluated_on_a_file(forecaster: Forecaster, tmp_path: Path) -> None:
    windows = TASK.read_samples(forecaster, [write_series(tmp_path / "a.csv", count=40)], {})
    assert len(windows) == 40 - 21 + 1
    assert forecaster.evaluate(windows[:3]).metrics["windows"] == 3  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"has 20 rows, one window takes 21"):
        TASK.read_samples(forecaster, [write_series(tmp_path / "a.csv", count=20)], {})


def test_saved_and_loaded(forecaster: Forecaster, tmp_path: Path) -> None:
    forecaster.save(tmp_path / "copy")
    again = Forecaster.load(tmp_path / "copy").forecast(series_file())
    np.testing.assert_array_equal(again.high, forecaster.forecast(series_file()).high)


@pytest.mark.parametrize("strategy", ["direct", "feedback"])
@pytest.mark.parametrize("architecture", ["transformer", "rnn", "lstm"])
def test_other_architectures(architecture: str, strategy: str) -> None:
    network = {"depth": 8, "perceptron_depth": 8, "heads": 2} if architecture == "transformer" else {"units": 4}
    settings = {**tiny(SHORT, {"data": {"strategy": strategy, "columns": "sales"}}), "architecture": architecture}
    model = train_model({**settings, "network": network})[0]
    assert model.forecast(series_file(), 9).values.shape == (9, 1)
    assert model.metadata.network.outputs == (PERIOD if strategy == "direct" else 1)


def test_defaults_by_architecture() -> None:
    for name, strategy in {"gru": "feedback", "transformer": None}.items():
        found: Any = configuration({"task": "forecasting", "architecture": name})
        assert (found.data.strategy, found.data.shares) == (strategy, (0.7, 0.15, 0.15))


def test_the_same_seed_gives_the_same_forecaster(tmp_path: Path, directory: Path) -> None:
    train_model(tiny(), tmp_path / "again")
    for name in ("weights.safetensors", "series-encoding.json", "linear-autoregression.json", "testing.csv.gz"):
        assert (tmp_path / "again" / name).read_bytes() == (directory / name).read_bytes(), name


def test_fine_tuned_with_its_windows(tmp_path: Path) -> None:
    path = write_series(tmp_path / "more.csv", count=100)
    settings = {
        "task": "forecasting",
        "threads": 1,
        "data": {"files": [path]},
        "start": {"model": str(trained())},
        "stopping": {"epochs": 1},
    }
    tuned = train_model(settings)[0]
    assert tuned.encoding == Forecaster.load(trained()).encoding
    with pytest.raises(ConfigurationError, match=r"data.horizon is 7 in the model to start from; leave it out"):
        train_model({**settings, "data": {"files": [path], "horizon": 3}})


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"network": {"pooling": "mean"}}, "network.pooling follows from data.strategy"),
        ({"network": {"bidirectional": True}}, "reads in one direction"),
        ({"loss": {"smoothing": 0.1}}, "loss.smoothing is a setting of classes"),
        ({"start": {"train": "decoder"}}, "no decoder"),
        ({"data": {"columns": ["sales", "sales"]}}, "named twice"),
        ({"data": {"columns": [0]}}, "numbers from 1"),
        ({"data": {"files": []}}, "names no file"),
        ({"data": {"files": ["a.csv", "b.csv"]}}, "learns one series, got 2 files"),
    ],
)
def test_settings_that_a_forecaster_does_not_have(changes: dict[str, Any], error: str) -> None:
    with pytest.raises(ConfigurationError, match=error):
        train_model(tiny(changes))


def test_windows_of_the_testing_part_are_those_of_the_training(directory: Path, forecaster: Forecaster) -> None:
    """The rows kept with the model begin with the context of the first forecast that is tested."""
    windows: Any = TASK.load_testing(directory)
    whole = SeriesWindows.of(forecaster.read(series_file()), forecaster.encoding, 136)
    np.testing.assert_array_equal(windows.rows(), whole.rows())
    assert windows.timeline.label(windows[0]) == whole.timeline.label(whole[0])
