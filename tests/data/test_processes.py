"""Tasks in processes of their own."""

from __future__ import annotations

import os
import signal
import time

import pytest

from dragoman.data.processes import run_ordered
from dragoman.errors import DataError, DragomanError


def work(state: str, task: int) -> str:
    if task == 2:
        time.sleep(0.2)  # so that later ones are done before it
    if task == 5:
        raise DataError("the fifth is bad")
    if task == 6:
        raise ValueError("a bug")
    if task == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{state} {task}"


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order_and_an_error_at_its_turn(workers: int) -> None:
    results, found = run_ordered(work, "task", iter([0, 1, 2, 3, 4, 5, 8]), workers), list[str]()
    with pytest.raises(DataError, match="the fifth is bad"):
        found.extend(results)
    assert found == [f"task {i}" for i in range(5)]


def test_bugs_and_deaths_are_told() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)in a worker process:.*ValueError: a bug"):
        list(run_ordered(work, "", [6], 2))
    with pytest.raises(DragomanError, match="a worker process ended unexpectedly"):
        list(run_ordered(work, "", [7], 2))
