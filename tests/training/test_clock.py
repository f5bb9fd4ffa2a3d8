"""The clock of a training counts the time that its process has run."""

from __future__ import annotations

import pytest

from dragoman.training.clock import RunningClock
from tests.training.fake_time import FakeTime


@pytest.mark.parametrize(
    ("gap", "processor", "counted"),
    [
        (1.0, 0.0, 1.0),  # waiting for a disk, or for other programs
        (10.0, 0.0, 10.0),
        (3600.0, 0.0, 1.0),  # suspended
        (3600.0, 2.0, 2.0),  # on two threads until it was suspended
        (30.0, 29.0, 29.0),  # compiling, which lets no other thread look at the clock
        (30.0, 60.0, 30.0),
    ],
)
def test_only_time_that_ran_is_counted(
    gap: float, processor: float, counted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeTime(monkeypatch)
    clock = RunningClock()
    fake.pass_time(5.0, 5.0)
    assert clock.seconds() == 5.0
    fake.pass_time(gap, processor)
    assert clock.seconds() == 5.0 + counted
    fake.pass_time(1.0, 1.0)
    assert clock.seconds() == 6.0 + counted
    clock.restart()
    assert clock.seconds() == 0.0
