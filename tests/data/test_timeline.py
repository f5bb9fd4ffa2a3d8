"""Times of a series: read, checked, continued."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.data.timeline import Timeline, find_style, parse_moment, regular
from dragoman.errors import DataError, FileFormatError


def timeline_of(cells: list[str]) -> tuple[Timeline, list[int]]:
    style = find_style(cells[0])
    assert style is not None
    moments: Any = [parse_moment(cell, style) for cell in cells]
    found, numbers = regular(moments, style, [f"a.csv, line {i + 2}" for i in range(len(cells))])
    return found, numbers.tolist()


SERIES = {
    "every 1": (["1700.0", "1701", "1702"], "1703"),
    "every 0.1": (["0.1", "0.2", "0.30000000000000004"], "0.4"),
    "every day": (["2024-02-27", "2024-02-28", "2024-02-29"], "2024-03-01"),
    "every week": (["29.03.1958", "05.04.1958", "12.04.1958"], "19.04.1958"),
    "every month": (["2001-11", "2001-12", "2002-01"], "2002-02"),
    "every 3 months": (["2001Q2", "2001Q3", "2001Q4"], "2002Q1"),
    "every 1 month, on its last day": (["2023-11-30", "2023-12-31", "2024-01-31"], "2024-02-29"),
    "every 12 months": (["2019-06-01", "2020-06-01", "2021-06-01", "2022-06-01"], "2023-06-01"),
    "every weekday": (["20240104", "20240105", "20240108", "20240109"], "20240110"),
    "every hour": (["2024-01-01T22:00:00Z", "2024-01-01T23:00:00Z"], "2024-01-02T00:00:00Z"),
    "every hour, in summer": (["2024-03-31 01:00:00+01:00", "2024-03-31 03:00:00+02:00"], "2024-03-31 03:00:00+01:00"),
    "every day, with slashes": (["2024/01/01", "2024/01/02"], "2024/01/03"),
}


@pytest.mark.parametrize(("cells", "following"), SERIES.values(), ids=SERIES)
def test_times_go_on(cells: list[str], following: str) -> None:
    found, numbers = timeline_of(cells)
    assert numbers == list(range(len(cells)))
    assert found.label(len(cells)) == following
    assert Timeline.from_dict(found.as_dict()) == found
    assert found.later(1).label(len(cells) - 1) == following


@pytest.mark.parametrize(
    ("cells", "error"),
    [
        (["3", "1", "2"], r"a.csv, line 3: 1 comes after 3; sort the rows by time"),
        (["2024-01-01", "2024-01-02", "2024-01-02"], r"line 4: 2024-01-02 is there twice; keep one"),
        (["1", "2", "3", "4.5"], r"line 5: 4.5 is not at a regular distance from 3; the rows are every 1 elsewhere"),
        (["2024-01-01", "2024-02-01", "2024-03-01", "2024-03-09"], "is not at a regular distance"),
    ],
)
def test_times_that_are_not_in_order(cells: list[str], error: str) -> None:
    with pytest.raises(DataError, match=error):
        timeline_of(cells)


def test_a_gap_is_counted() -> None:
    assert timeline_of(["2024-01-01", "2024-01-02", "2024-01-05", "2024-01-06"])[1] == [0, 1, 4, 5]
    assert timeline_of(["2024-01", "2024-02", "2024-03", "2024-06"])[1] == [0, 1, 2, 5]


@pytest.mark.parametrize("cell", ["1/2/2001", "yesterday", "", "inf", "2001-02-30", "1_000"])
def test_what_is_no_time(cell: str) -> None:
    assert find_style(cell) is None


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["1", "3"], "every 2"),
        (["2024-01-01", "2024-01-08"], "every week"),
        (["2024-01-01", "2024-01-03"], "every 2 days"),
        (["2019-01-01", "2020-01-01", "2021-01-01"], "every year"),
        (["2024-01-01 00:00", "2024-01-01 00:15"], "every 15 minutes"),
    ],
)
def test_spacing_in_words(cells: list[str], words: str) -> None:
    found = timeline_of(cells)[0]
    assert found.spacing() == words
    assert found.same_spacing(found.later(5))
    assert found.same_spacing(Timeline())
    assert not found.same_spacing(timeline_of(["1", "1.5"])[0])


def test_the_end_of_time_and_damaged_files() -> None:
    with pytest.raises(DataError, match="cannot go on beyond the year 9999"):
        timeline_of(["9999-12-30", "9999-12-31"])[0].label(2)
    for broken in (
        {},
        {"unit": "x", "step": 1, "first": 0, "style": ""},
        None,
        {"unit": "rows", "step": -1, "first": 0},
    ):
        with pytest.raises(FileFormatError, match="times of a series cannot be read"):
            Timeline.from_dict(broken)
