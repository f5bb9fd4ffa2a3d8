"""Ranks on two machines train as on one; where the cable is cut, all end in an error, and the run goes on later."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.tasks.training import train_model
from tests.distributed import commands
from tests.distributed.conftest import Together
from tests.distributed.machines import TwoMachines, why_not
from tests.tasks.models import told_history
from tests.training.small_trainings import Heard

TIMEOUT = 5.0
MORE = 15.0  # seconds to end in, on a busy machine


@pytest.fixture(scope="module")
def machines() -> Iterator[TwoMachines]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    found = TwoMachines()
    try:
        found.build()
        yield found
    finally:
        found.remove()


def test_two_machines_train_to_the_same_bits(machines: TwoMachines, together: Together, tmp_path: Path) -> None:
    out = tmp_path / "model"
    with machines.launched(commands.command(out)) as launches:
        for launch in launches:
            launch.finish()
    commands.assert_same_model(out, together.whole)


@pytest.mark.filterwarnings("ignore::dragoman.errors.DragomanWarning")
def test_a_cut_cable_is_an_error_and_no_hang(machines: TwoMachines, together: Together, tmp_path: Path) -> None:
    out = tmp_path / "model"
    with machines.launched(commands.command(out), TIMEOUT) as launches:
        launches[0].wait_until(lambda: commands.latest(out) > 3)
        machines.cut()
        began = time.monotonic()
        for rank, launch in enumerate(launches):
            assert launch.wait(TIMEOUT + MORE) != 0, str(launch)
            assert f"rank {rank} of 2 lost the others" in launch.output, str(launch)
        assert time.monotonic() - began > 0.5 * TIMEOUT  # it was the timeout that ended them
    heard, saved = Heard(), commands.latest(out)
    _, outcome = train_model(commands.settings(), out, heard)
    assert outcome.finished
    assert heard.steps[0][0] == saved + 1
    ends = [told_history(each)[-1] for each in (out, together.whole)]
    assert ends[0]["step"] == ends[1]["step"]
    assert ends[0]["validation_error"] == pytest.approx(ends[1]["validation_error"], rel=1e-3)
