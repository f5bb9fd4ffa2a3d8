"""Time series."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.readers import read_series
from dragoman.errors import ConfigurationError, DataError
from tests.data.readers.files import COMPRESS, account, write

numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(rows=st.integers(1, 3).flatmap(lambda p: st.lists(st.lists(numbers, min_size=p, max_size=p), min_size=1)))
def test_numbers_survive_exactly(tmp_path_factory: pytest.TempPathFactory, rows: list[list[float]]) -> None:
    folder = tmp_path_factory.mktemp("series")
    text = "".join(",".join(map(repr, row)) + "\n" for row in rows)
    series = read_series(write(folder, "a.csv", text))
    assert series.values.dtype == np.float64
    assert series.values.shape == (len(rows), len(rows[0]))
    np.testing.assert_array_equal(series.values, rows)
    named = read_series(write(folder, "b.csv", ",".join(f"v{i}" for i in range(len(rows[0]))) + "\n" + text))
    assert named.names == tuple(f"v{i}" for i in range(len(rows[0])))
    np.testing.assert_array_equal(named.values, rows)


WEATHER = "día,temperature,rain\n2026-01-01,  20.5 ,0\n2026-01-02,-3e1,1.25\n"


def test_columns_and_header(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv.gz", COMPRESS[".gz"](WEATHER.encode()))
    series = read_series(path, columns=("rain", "temperature"))
    assert series.names == ("rain", "temperature")
    np.testing.assert_array_equal(series.values, [[0, 20.5], [1.25, -30]])
    assert read_series(path, columns=(1,)).names == ("temperature",)
    bare = read_series(write(tmp_path, "b.csv", "1,2\n3,4\n"))
    assert bare.names == ("column 0", "column 1")
    assert read_series(str(tmp_path / "b.csv"), header=True).values.tolist() == [[3, 4]]
    assert len(bare.problems) == 0


def test_values_belong_to_the_series(tmp_path: Path) -> None:
    values = read_series(write(tmp_path, "a.csv", "1\n2\n")).values
    values[0] = 5
    assert values.tolist() == [[5], [2]]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("x", r"line 3: not a number \(column 1, rain: 'x'\): '1,x'"),
        ("", r"line 3: not a number \(column 1, rain: ''\)"),
        ("1_000", r"line 3: not a number"),
        ("0x1", r"line 3: not a number"),
        ("nan", r"line 3: not a finite number \(column 1, rain: 'nan'\)"),
        ("-inf", "line 3: not a finite number"),
        ("1e999", "line 3: not a finite number"),
        ("1,2", r"line 3: wrong number of columns \(3, but the first line has 2\)"),
    ],
)
def test_cells_that_are_no_numbers(tmp_path: Path, cell: str, message: str) -> None:
    path = write(tmp_path, "a.csv", f"sun,rain\n1,2\n1,{cell}\n3,4\n")
    with pytest.raises(DataError, match=f"a.csv, {message}"):
        read_series(path)
    skipped = read_series(path, on_bad_line="skip")
    assert skipped.values.tolist() == [[1, 2], [3, 4]]
    assert [line for _, line in account(skipped.problems)] == [3]


def test_a_first_line_that_is_half_a_header_is_data_with_a_bad_cell(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: not a number \(column 1: 'x'\)"):
        read_series(write(tmp_path, "a.csv", "1,x\n2,3\n"))


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a.csv is empty"):
        read_series(write(tmp_path, "a.csv", ""))
    with pytest.raises(DataError, match="a header and nothing below it"):
        read_series(write(tmp_path, "a.csv", "sun,rain\n"))
    with pytest.raises(DataError, match="no column 'wind'; its header names 'sun', 'rain'"):
        read_series(write(tmp_path, "a.csv", "sun,rain\n1,2\n"), columns=("wind",))
    with pytest.raises(DataError, match="line 1: 2 columns, expected at least 8"):
        read_series(str(tmp_path / "a.csv"), columns=(7,))
    with pytest.raises(DataError, match="has no usable row; 1 line skipped: not utf-8"):
        read_series(write(tmp_path, "a.csv", b"\xff\n"), on_bad_line="skip")
    with pytest.raises(ConfigurationError, match="there is no column -1"):
        read_series("a.csv", columns=(-1,))
