"""A series that a small forecaster learns in a second: two columns with a season of 7 days, and a little noise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.tasks.configuration import merged
from dragoman.tasks.training import train_model
from tests.tasks.models import place

ROWS, PERIOD = 160, 7
Change = Callable[[list[list[str]]], None]


def rows_of(count: int = ROWS) -> list[list[str]]:
    """A header and rows: a date and two numbers."""
    rng, t = np.random.default_rng(1), np.arange(count)
    visitors = 100 + 20 * np.sin(2 * np.pi * t / PERIOD) + rng.standard_normal(count)
    sales = 3 + np.cos(2 * np.pi * t / PERIOD) + 0.1 * rng.standard_normal(count)
    days = [str(date(2024, 1, 1) + timedelta(days=int(i))) for i in t]
    return [
        ["date", "visitors", "sales"],
        *([d, f"{v:.3f}", f"{s:.4f}"] for d, v, s in zip(days, visitors, sales, strict=True)),
    ]


def as_csv(rows: list[list[str]], delimiter: str = ",") -> str:
    return "".join(delimiter.join(row) + "\n" for row in rows)


def write_series(path: Path, change: Change = lambda rows: None, count: int = ROWS, delimiter: str = ",") -> str:
    rows = rows_of(count)
    change(rows)
    path.write_text(as_csv(rows, delimiter), encoding="utf-8")
    return str(path)


@cache
def series_file() -> str:
    folder = place() / "forecasting"
    folder.mkdir(exist_ok=True)
    return write_series(folder / "series.csv")


def tiny(*changes: dict[str, Any]) -> dict[str, Any]:
    base = {
        "task": "forecasting",
        "threads": 1,
        "data": {"files": [series_file()]},
        "network": {"depth": 4, "units": 16},
        "optimizer": {"batch": 16, "rate": 0.02},
        "stopping": {"epochs": 12},
    }
    return merged(base, *changes)


SHORT: dict[str, Any] = {"stopping": {"epochs": 1}}


@cache
def trained() -> Path:
    """A model directory that no test changes."""
    out = place() / "forecaster"
    train_model(tiny(), out)
    return out
