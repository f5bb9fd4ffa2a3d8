"""The line that tells how far a training is, and how long it takes."""

from __future__ import annotations

import io
import math
import re
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from dragoman.cli import progress
from dragoman.cli.progress import TrainingProgress
from dragoman.loss import Loss
from dragoman.training import Stopping
from dragoman.training.loop import Training
from tests.training.machines import BUDGET, Machine, Pace, changing

SHOWN = re.compile(r"(\d+)%  (?:(\d+) min )?([\d.]+) s left")


class Read(TrainingProgress):
    """(seconds so far, share, seconds left) of every line."""

    def __init__(self) -> None:
        self.file = io.StringIO()
        super().__init__(Console(file=self.file, width=200))
        self.shown: list[tuple[float, float, float]] = []

    def step(self, step: int, loss: Loss, training: Training) -> None:
        before = len(self.file.getvalue())
        super().step(step, loss, training)
        for share, minutes, seconds in SHOWN.findall(self.file.getvalue()[before:]):
            self.shown.append((training.now(), int(share) / 100, 60 * int(minutes or 0) + float(seconds)))


def shown(
    monkeypatch: pytest.MonkeyPatch, pace: Pace, limits: Stopping | None = None
) -> list[tuple[float, float, float]]:
    """What a training of 100 seconds shows; with limits, one whose steps are not planned by the clock."""
    machine = Machine(monkeypatch, pace)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: machine.seconds))
    monkeypatch.setattr(progress, "PLAIN_EVERY", 4.0)
    reading = Read()
    if limits is None:
        machine.training(watch=reading).run()
    else:
        machine.training(watch=reading, plan=None, stopping=limits).run()
    assert len(reading.shown) > 6
    return reading.shown


PACES = [changing(40, 2.2), changing(0, 2.2), changing(40, 0.3)]


@pytest.mark.parametrize("pace", PACES, ids=["slower", "slow", "faster"])
@pytest.mark.parametrize("limits", [None, Stopping(90, seconds=BUDGET)], ids=["planned", "given steps"])
def test_with_a_budget_the_share_and_the_time_left_are_the_same_estimate(
    pace: Pace, limits: Stopping | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never "48 %, 13 s left" after most of the budget."""
    for now, share, left in shown(monkeypatch, pace, limits):
        assert share == pytest.approx(now / (now + left), abs=0.02), (now, share, left)
        assert now + left <= BUDGET * 1.2


def test_the_time_left_is_what_it_takes_at_the_present_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    for now, _, left in shown(monkeypatch, changing(0, 2.2)):
        if now > 30:
            assert now + left == pytest.approx(0.9 * BUDGET, abs=6)


def test_without_a_budget_the_share_is_one_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, lambda now: 1.0, Stopping(80))
    for now, share, left in lines:
        assert share == pytest.approx(now / 80, abs=0.01)
        assert left == pytest.approx(80 - now, abs=3)


def test_the_first_step_tells_no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """It compiles kernels: a line about it has no time left."""
    screen = TrainingProgress(Console(file=io.StringIO(), width=200))
    monkeypatch.setattr(progress, "share_done", lambda step, training: step / 5000)
    training: Any = SimpleNamespace(plan=None, stopping=Stopping(5000), now=lambda: 20.0)
    screen.first = (0.0, 1)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: 0.2))
    assert screen._estimate(1, training)[1] == math.inf
    assert screen._estimate(3, training)[1] == pytest.approx(0.1 * 4997)
