"""Windows of a series: split by time, scaled by the training part, with their targets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.data.autoregression import Autoregression, fit
from dragoman.data.series_encoding import SeriesEncoding
from dragoman.data.series_windows import (
    RegularSeries,
    SeriesSchema,
    SeriesWindows,
    choose_context,
    choose_horizon,
    choose_strategy,
    prepare_series,
)
from dragoman.data.timeline import Timeline
from dragoman.errors import DataError, FileFormatError

ROWS = 120
SCHEMA = SeriesSchema(context=6, horizon=4, period=1, level="mean", shares=(0.5, 0.25, 0.25))


def series(rows: int = ROWS) -> RegularSeries:
    """Two columns; the first one counts the rows."""
    rng = np.random.default_rng(3)
    values = np.stack((np.arange(rows, dtype=float), rng.standard_normal(rows)), axis=1)
    return RegularSeries(("count", "noise"), values, Timeline())


def test_no_target_of_a_part_lies_in_another(tmp_path: Path) -> None:
    dataset = prepare_series(series(), tmp_path / "a", SCHEMA)
    targets = {}
    for name, (first, last) in {"training": (0, 60), "validation": (60, 90), "testing": (90, 120)}.items():
        windows = dataset.part(name).windows
        assert windows is not None
        rows = windows.rows()[:, :, 0]
        np.testing.assert_array_equal(np.diff(rows, axis=1), 1)
        targets[name] = set(rows[:, 6:].ravel().astype(int).tolist())
        assert targets[name] == set(range(max(first, 6), last)), name
    assert not targets["training"] & targets["validation"]
    assert dataset.about["parts"] == {"training": 51, "validation": 27, "testing": 27}


def test_the_scale_is_that_of_the_training_part(tmp_path: Path) -> None:
    changed = series()
    changed.values[60:] *= 1000
    first, second = (
        prepare_series(each, tmp_path / name, SCHEMA).encoding for name, each in (("a", series()), ("b", changed))
    )
    assert first == second
    np.testing.assert_allclose(first.mean, series().values[:60].mean(axis=0))


@pytest.mark.ledger("B-7.1-seq", "B-7.1-tasks-a")
@pytest.mark.parametrize("level", ["mean", "last"])
@pytest.mark.parametrize("strategy", ["direct", "feedback"])
def test_what_a_network_reads_and_what_it_is_compared_with(tmp_path: Path, strategy: Any, level: Any) -> None:
    dataset = prepare_series(series(), tmp_path / "a", replace(SCHEMA, strategy=strategy, level=level))
    e, part = dataset.encoding, dataset.part("training")
    assert part.windows is not None
    rows = part.windows.rows(np.array([0, 7]))
    z, batch = e.encode(rows), part.batch(np.array([0, 7]))
    assert len(batch) == 2
    if strategy == "direct":
        np.testing.assert_array_equal(batch.labels, z[:, :6].reshape(-1, 2))
        np.testing.assert_array_equal(batch.targets, z[:, 6:].reshape(2, -1))
        assert e.outputs == 8
    else:
        assert batch.targets is not None
        assert batch.loss_weights is not None
        np.testing.assert_array_equal(batch.labels, z[:, :-1].reshape(-1, 2))
        np.testing.assert_array_equal(batch.targets, z[:, 1:].reshape(-1, 2))
        judged = batch.targets[batch.loss_weights > 0].reshape(2, -1, 2)
        np.testing.assert_array_equal(judged, z[:, 6:])
    np.testing.assert_allclose(e.decode(z[:, 6:], rows[:, :6]), rows[:, 6:], atol=1e-4)
    if level == "last":
        np.testing.assert_array_equal(z[:, 5], 0)


def test_the_level_is_decided_by_the_validation_part() -> None:
    rng = np.random.default_rng(0)
    walk, noise = rng.standard_normal((200, 1)).cumsum(axis=0), rng.standard_normal((200, 1))
    for x, level in ((walk, "last"), (noise, "mean")):
        assert SeriesEncoding.learn(("x",), x[:150], x[150:], 8, 4, "direct").level == level


def test_sizes_of_windows_follow_from_the_series() -> None:
    assert choose_horizon([0, 1600, 1940, 2280], 52) == 52
    assert choose_horizon([0, 216, 263, 309], 11) == 11
    assert choose_horizon([0, 1600, 1940, 2280], None) == 24
    assert choose_horizon([0, 70, 85, 100], 24) == 5, "a third of a part"
    assert [choose_strategy(steps) for steps in (24, 25)] == ["feedback", "direct"], "errors that are fed back add up"
    assert choose_context(1600, 52, 52) == 104
    assert choose_context(1600, None, 24) == 48
    assert choose_context(40, 12, 4) == 18, "half of the training part"


@pytest.mark.parametrize(
    ("given", "changes", "error"),
    [
        (series(30), {}, r"training part has 15 rows; windows of 6 .* and 4 .* fit into it 6 times, at least 10 are"),
        (series(30), {"context": 90}, r"fit into it 0 times.*--set data.context=2 --set data.horizon=1"),
        (replace(series(), values=np.ones((ROWS, 2))), {}, "column 'count' is 1 in all rows of the training part"),
        (replace(series(), values=series().values * 1e200), {}, "numbers of column 'count' are too large"),
    ],
)
def test_series_that_cannot_be_learnt(tmp_path: Path, given: Any, changes: dict[str, Any], error: str) -> None:
    with pytest.raises(DataError, match=error):
        prepare_series(given, tmp_path / "a", replace(SCHEMA, **changes))
    assert not list(tmp_path.iterdir())


def test_some_windows() -> None:
    encoding = SeriesEncoding(("a", "b"), 6, 4, "direct", "mean", (0.0, 0.0), (1.0, 1.0))
    windows = SeriesWindows.of(series(20), encoding)
    assert list(windows) == list(range(6, 17))
    assert list(windows[:3]) == [6, 7, 8]
    assert windows[2:].rows().shape == (9, 10, 2)
    assert not len(SeriesWindows.of(series(9), encoding))


def test_saved_and_damaged(tmp_path: Path) -> None:
    encoding = SeriesEncoding.learn(("a", "b"), series().values, series().values[:0], 6, 4, "direct", period=7)
    path = tmp_path / "x.json"
    path.write_text(encoding.to_json(), encoding="utf-8")
    assert SeriesEncoding.load(path) == encoding
    for change in (
        {"context": 10**9},
        {"horizon": 0},
        {"deviation": [0.0, 1.0]},
        {"deviation": [1.0]},
        {"strategy": "both"},
        {"other": 1},
    ):
        path.write_text(json.dumps({**json.loads(encoding.to_json()), **change}), encoding="utf-8")
        with pytest.raises(FileFormatError, match="cannot be read as the encoding of a series"):
            SeriesEncoding.load(path)


def test_autoregression_finds_the_recurrence() -> None:
    rng, x = np.random.default_rng(0), [1.0, 0.5]
    for _ in range(400):
        x.append(0.7 + 1.2 * x[-1] - 0.6 * x[-2] + 0.1 * float(rng.standard_normal()))
    values = np.array(x)[:, None]
    np.testing.assert_allclose(fit(values[:, 0], 2), [0.7, -0.6, 1.2], atol=0.1)
    found = Autoregression.learn(values[:300], values[300:], 10, 5, None)
    assert found.scales[0] == pytest.approx(np.abs(np.diff(values[:300, 0])).mean())
    c, *a = found.coefficients[0]
    (row,) = found.forecast(values[None, :10], 2)
    first = c + np.array(a) @ values[10 - len(a) : 10, 0]
    assert row[0, 0] == pytest.approx(first)
    assert row[1, 0] == pytest.approx(c + np.array(a) @ [*values[11 - len(a) : 10, 0], first])


@pytest.mark.parametrize(("period", "lag"), [(4, 4), (1, 1), (None, 1), (29, 29), (30, 1), (31, 1)])
def test_the_scale_of_mase_is_the_error_of_the_value_one_season_before(period: int | None, lag: int) -> None:
    """Without a season, or with one that is as long as the training part, of the value one row before."""
    values = np.random.default_rng(5).normal(size=(40, 2))
    found = Autoregression.learn(values[:30], values[30:], 10, 5, period)
    expected = [sum(abs(values[t, j] - values[t - lag, j]) for t in range(lag, 30)) / (30 - lag) for j in range(2)]
    assert found.scales == pytest.approx(expected)


def test_autoregression_on_disk(tmp_path: Path) -> None:
    found, path = Autoregression(((1.0, 2.0),), (3.0,)), tmp_path / "a.json"
    path.write_text(found.to_json(), encoding="utf-8")
    assert Autoregression.load(path) == found
    for text in ("{", '{"coefficients": [[1]], "scales": [1]}', '{"coefficients": [[1, NaN]], "scales": [1]}'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(FileFormatError, match="cannot be read as an autoregression"):
            Autoregression.load(path)
