"""How many system threads are used follows from how long steps take. The clock is made up; no time is measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dragoman.training import pace as module
from dragoman.training.pace import FIRST_REST, LONGEST_REST, TRIAL, Pace

OfThreads = Callable[[int], float]


class Machine:
    """A clock that moves when steps are taken, and threads that are kept from the cores for a share of the time"""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.ran = 0.0
        monkeypatch.setattr(module, "perf_counter", lambda: self.now)
        monkeypatch.setattr(module, "thread_time", lambda: self.ran)

    def steps(
        self, pace: Pace, count: int, seconds: Callable[[int], float], share: Callable[[int], float]
    ) -> list[int]:
        """The threads used by each of so many steps of 100 rows"""
        used = []
        for _ in range(count):
            threads = pace.threads
            with pace.step(100), pace.at_work():
                self.now += seconds(threads)
                self.ran += seconds(threads) * share(threads)
            used.append(threads)
        return used


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


QUIET = {1: 1.5, 2: 1.0}
BESIDE_ONE = {1: 1.5, 2: 3.0}


def quiet(threads: int) -> float:
    return 1.0


def kept(threads: int) -> float:
    return 0.5 if threads > 1 else 1.0


def test_alone_all_threads_are_used_always(machine: Machine) -> None:
    assert set(machine.steps(Pace(2), 1000, QUIET.__getitem__, quiet)) == {2}


def test_beside_another_program_one_thread_takes_over(machine: Machine) -> None:
    used = machine.steps(Pace(2), 1000, BESIDE_ONE.__getitem__, kept)
    assert used[0] == 2
    assert set(used[FIRST_REST + TRIAL : 2 * FIRST_REST + TRIAL]) == {1}
    assert used[200:].count(2) <= (800 / LONGEST_REST + 3) * TRIAL


def test_when_the_other_program_ends_all_threads_are_back(machine: Machine) -> None:
    pace = Pace(2)
    machine.steps(pace, 500, BESIDE_ONE.__getitem__, kept)
    assert pace.threads == 1
    used = machine.steps(pace, LONGEST_REST + 2 * TRIAL, QUIET.__getitem__, quiet)
    assert used[-1] == 2


def test_threads_that_wait_but_are_faster_together_stay(machine: Machine) -> None:
    """What keeps them from the cores may be the shape of the work: then trials become rare."""
    used = machine.steps(Pace(2), 1000, QUIET.__getitem__, kept)
    assert used.count(1) <= (1000 / LONGEST_REST + 5) * TRIAL


def test_with_many_threads_rounds_decide(machine: Machine) -> None:
    """Five shards on three or four threads take two rounds, so two rounds are tried with three."""
    times = {5: 9.0, 3: 4.0, 2: 5.0, 1: 8.0}
    used = machine.steps(Pace(5), 300, times.__getitem__, kept)
    assert set(used) <= set(times)
    assert used[-20:].count(3) >= 10


def test_one_thread_has_nothing_to_decide(machine: Machine) -> None:
    assert set(machine.steps(Pace(1), 50, lambda threads: 1.0, kept)) == {1}
