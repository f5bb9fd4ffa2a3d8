"""Series as people keep them: what is read, what is filled, and what is an error that says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Forecaster
from dragoman.errors import DataError
from dragoman.tasks.forecasting.corpus import open_corpus
from dragoman.tasks.forecasting.settings import SeriesData
from dragoman.tasks.training import train_model
from tests.tasks.forecasting.series import SHORT, Change, rows_of, tiny, write_series

TRUTH = np.array([row[1:] for row in rows_of()[1:]], float)


def cell(line: int, column: int, text: str) -> Change:
    """Another text in a cell; lines count from 1 and the first is the header."""

    def change(rows: list[list[str]]) -> None:
        rows[line - 1][column] = text

    return change


def drop(line: int) -> Change:
    return lambda rows: rows.__delitem__(line - 1)


def read(path: str, **settings: Any) -> Any:
    return open_corpus(SeriesData(files=(path,), **settings))


def test_columns_times_and_delimiters(tmp_path: Path) -> None:
    for name, delimiter in (("a.csv", ","), ("a.tsv", "\t"), ("b.csv", ";")):
        found = read(write_series(tmp_path / name, delimiter=delimiter))
        assert (found.series.names, found.series.time) == (("visitors", "sales"), "date")
        np.testing.assert_array_equal(found.series.values, TRUTH)
    path = str(tmp_path / "a.csv")
    assert read(path, columns="sales").series.names == ("sales",)
    assert read(path, columns=(3, 2)).series.names == ("sales", "visitors")
    assert read(path, columns=("sales",), time="none").series.time is None
    assert read(path, time="date", columns=("sales",)).series.timeline.label(1) == "2024-01-02"


def test_a_decimal_comma_is_an_error_until_it_is_said(tmp_path: Path) -> None:
    def commas(rows: list[list[str]]) -> None:
        rows[1:] = [[row[0], *(number.replace(".", ",") for number in row[1:])] for row in rows[1:]]

    path = write_series(tmp_path / "a.csv", commas, delimiter=";")
    with pytest.raises(
        DataError, match=r"line 2: not a number \(column 1, visitors: '.*,.*'; .*--set data.decimal=,\)"
    ):
        read(path)
    np.testing.assert_array_equal(read(path, decimal=",").series.values, TRUTH)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (cell(9, 1, ""), r"a.csv, line 9 \(2024-01-08\): column 'visitors' has no value; fill missing values with"),
        (cell(9, 2, "NA"), r"line 9 \(2024-01-08\): column 'sales' has no value"),
        (drop(9), r"line 9: 2024-01-09 comes after 2024-01-07, so 1 row is missing between them: rows are every day"),
        (cell(9, 1, "lots"), r"line 9: not a number \(column 1, visitors: 'lots'"),
        (cell(9, 1, "inf"), r"line 9: not a finite number"),
        (cell(9, 0, "2024-01-07"), r"line 9: 2024-01-07 is there twice"),
        (cell(9, 0, "2023-01-07"), r"line 9: 2023-01-07 comes after 2024-01-07; sort the rows"),
        (cell(9, 0, "today"), r"line 9: not a time that can be read \(date: 'today'; write it as the one in the first"),
        (cell(2, 0, "1/2/2024"), r"line 2: not a time that can be read \(date: '1/2/2024'; write dates as 2001-02-28"),
        (lambda rows: rows[8].append("1"), r"line 9: wrong number of columns \(4, but the first line has 3\)"),
        (lambda rows: [row.__setitem__(1, "") for row in rows[1:]], "column 'visitors' has no value; name the other"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, change: Any, error: str) -> None:
    with pytest.raises(DataError, match=error):
        read(write_series(tmp_path / "a.csv", change))


@pytest.mark.parametrize("fill", ["linear", "previous", "seasonal"])
@pytest.mark.parametrize("change", [cell(50, 1, ""), drop(50)], ids=["cell", "row"])
def test_filled_on_request(tmp_path: Path, fill: Any, change: Change) -> None:
    found = read(write_series(tmp_path / "a.csv", change), fill=fill)
    values = found.series.values
    assert values.shape == TRUTH.shape
    np.testing.assert_array_equal(np.delete(values, 48, axis=0), np.delete(TRUTH, 48, axis=0))
    before, after = TRUTH[47, 0], TRUTH[49, 0]
    expected = {"linear": (before + after) / 2, "previous": before, "seasonal": TRUTH[48, 0]}[fill]
    assert values[48, 0] == pytest.approx(expected, abs=4 if fill == "seasonal" else 1e-9)
    assert "filled" in found.left_out()[0]
    assert found.series.filled == (2 if found.left_out()[0].startswith("2") else 1)


def test_a_file_of_gaps_is_not_filled(tmp_path: Path) -> None:
    path = write_series(tmp_path / "a.csv", cell(161, 0, "2094-01-01"))
    with pytest.raises(DataError, match="are missing and 160 are there, too few to fill the gaps"):
        read(path, fill="linear")


def test_skipped_lines_are_gaps(tmp_path: Path) -> None:
    path = write_series(tmp_path / "a.csv", cell(9, 1, "lots"))
    with pytest.raises(DataError, match="1 row is missing between them"):
        read(path, on_bad_line="skip")
    found = read(path, on_bad_line="skip", fill="linear")
    assert found.left_out()[0] == "1 line skipped: not a number"
    with pytest.raises(DataError, match="without times a line cannot be skipped"):
        read(path, on_bad_line="skip", columns=(2, 3), time="none")


def test_columns_that_are_not_there(tmp_path: Path, forecaster: Forecaster) -> None:
    path = write_series(tmp_path / "a.csv", lambda rows: rows[0].__setitem__(2, "turnover"))
    with pytest.raises(DataError, match=r"has no column 'wind'; its header names 'date', 'visitors', 'turnover'"):
        read(path, columns=("wind",))
    with pytest.raises(DataError, match=r"has no column 'sales'"):
        forecaster.forecast(path)


def test_a_text_column_is_not_a_variable(tmp_path: Path) -> None:
    path = write_series(tmp_path / "a.csv", lambda rows: [row.append("Rome") for row in rows] and None)
    with pytest.raises(DataError, match=r"line 2: not a number \(column 3, Rome: 'Rome'; leave out columns without"):
        read(path)
    assert read(path, columns=("visitors",)).series.values.shape == (160, 1)


def test_a_constant_column_and_a_short_series(tmp_path: Path) -> None:
    def constant(rows: list[list[str]]) -> None:
        for row in rows[1:]:
            row[2] = "5"

    for change, count, error in (
        (constant, 160, "column 'sales' is 5 in all rows of the training part"),
        (lambda rows: None, 12, "the training part has 8 rows"),
    ):
        with pytest.raises(DataError, match=error):
            train_model(tiny(SHORT, {"data": {"files": [write_series(tmp_path / "a.csv", change, count)]}}))


def test_the_series_of_a_forecast_may_be_filled_and_has_the_same_spacing(
    tmp_path: Path, forecaster: Forecaster
) -> None:
    path = write_series(tmp_path / "a.csv", cell(150, 1, ""))
    with pytest.raises(DataError, match="column 'visitors' has no value"):
        forecaster.forecast(path)
    assert forecaster.forecast(path, fill="seasonal").series.filled == 1

    def weekly(rows: list[list[str]]) -> None:
        rows[1:] = rows[1::7]

    with pytest.raises(DataError, match="its rows are every week, the model was trained on rows every day"):
        forecaster.forecast(write_series(tmp_path / "b.csv", weekly))


def test_a_table_without_a_header(tmp_path: Path) -> None:
    path = write_series(tmp_path / "a.csv", drop(1))
    found = read(path)
    assert (found.columns, found.time, found.series.timeline.label(0)) == ((2, 3), 1, "2024-01-01")
    model = train_model(tiny(SHORT, {"data": {"files": [path]}}))[0]
    assert model.forecast(path).header()[0] == "column 0"
