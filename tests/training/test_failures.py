"""What goes wrong is told, and what was good before stays good: full disks, numbers that overflow, rules in vain."""

from __future__ import annotations

import errno
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError

from dragoman.errors import ConfigurationError, DataError, DragomanError, NonFiniteError
from dragoman.graph import Array
from dragoman.optimization import Adam, GradientDescent
from dragoman.training import Checkpoints, History, Stopping, Validation, checkpoints
from dragoman.training.checkpoints import explain_write_errors
from dragoman.training.workers import Workers
from tests.training.perceptrons import Perceptrons
from tests.training.small_trainings import (
    CASES,
    POINTS,
    After,
    Case,
    environment,
    judged_pairs,
    judged_points,
    left_in,
)
from tests.waiting import LONGEST

# A disk that is full

CASE = Case(
    lambda: Perceptrons(3, 2),
    POINTS,
    settings={"validation": Validation(judged_points), "averaging": 0.5, "keep": 1, "stopping": Stopping(epochs=3)},
)


class FullDisk:
    """Refuses the n-th thing that is written; counts them all"""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, refused: int | None = None) -> None:
        self.count, self.refused = 0, refused
        for owner, name in (
            (checkpoints, "write_tensors"),
            (checkpoints, "_to_disk"),
            (checkpoints.tempfile, "mkdtemp"),
            (Path, "write_text"),
            (Path, "rename"),
            (Path, "replace"),
        ):
            monkeypatch.setattr(owner, name, self._guarded(getattr(owner, name)))

    def _guarded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*given: Any, **more: Any) -> Any:
            self.count += 1
            if self.count == self.refused:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return original(*given, **more)

        return guarded


def hidden(place: Path) -> list[str]:
    return [path.name for path in (place / "checkpoints").iterdir() if path.name.startswith(".")]


def test_a_disk_that_is_full_at_any_moment_costs_no_more_than_the_last_round(tmp_path: Path) -> None:
    """Refused at each thing written in turn: told, the last good checkpoint intact, and later it goes on."""
    whole = tmp_path / "whole"
    whole.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        disk = FullDisk(patch)
        CASE.build(whole).run()
        operations = disk.count
    assert operations > 30
    for refused in range(1, operations + 1):
        place = tmp_path / str(refused)
        place.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            FullDisk(patch, refused)
            training = CASE.build(place)
            with pytest.raises(DataError, match=r"No space left on device.*what was saved before is intact") as caught:
                training.run()
        assert str(place) in str(caught.value)
        assert hidden(place) == []
        found = Checkpoints(place / "checkpoints").load()
        assert (0 if found is None else found[1]["step"]) in (training.optimizer.t, training.optimizer.t - 4)
        for complete in Checkpoints(place / "checkpoints").steps():
            assert sorted(path.name for path in complete.iterdir()) == ["arrays.safetensors", "state.json"]
        CASE.build(place).run()
        assert left_in(place).differences(left_in(whole)) == []


LIMITED = '''
import resource
import sys
from pathlib import Path

from dragoman.errors import DragomanError
from dragoman.training import Callback
from tests.training.small_trainings import CASES


class Limit(Callback):
    """After 5 steps no file may have more than 3000 bytes."""

    def step(self, step, loss, training):
        if step == 5 and "limited" in sys.argv:
            resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))


try:
    print(CASES["Adam"].build(Path(sys.argv[1]), watch=Limit()).run().reason)
except DragomanError as error:
    print(type(error).__name__, error)
    sys.exit(2)
'''


@pytest.mark.skipif(os.name == "nt", reason="POSIX limits")
def test_a_file_the_system_cuts_short_is_told_and_leaves_nothing_behind(tmp_path: Path) -> None:
    script, place, whole = tmp_path / "script.py", tmp_path / "training", tmp_path / "whole"
    script.write_text(LIMITED, encoding="utf-8")
    for directory in (place, whole):
        directory.mkdir()

    def run(*words: str) -> tuple[int, str, str]:
        command = [sys.executable, str(script), str(place), *words]
        ran = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=LONGEST, check=False)
        return ran.returncode, ran.stdout, ran.stderr

    code, said, errors = run("limited")
    assert (code, errors) == (2, "")
    assert said.startswith(f"DataError {place / 'checkpoints'}: a checkpoint could not be written")
    assert "what was saved before is intact" in said
    assert hidden(place) == []
    found = Checkpoints(place / "checkpoints").load()
    assert found is not None
    assert found[1]["step"] == 4
    assert (place / "checkpoints" / "step-00000004" / "arrays.safetensors").stat().st_size > 3000
    assert run() == (0, "finished 10 steps\n", "")
    CASES["Adam"].build(whole).run()
    assert left_in(place).differences(left_in(whole)) == []


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="file"):
        Checkpoints(tmp_path / "file" / "checkpoints").prepare()


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Make room, then run the same command again"),
        (errno.EDQUOT, "Make room, then run the same command again"),
        (errno.EACCES, "Choose a directory that may be written to"),
        (errno.EROFS, "Choose a directory that may be written to"),
        (errno.EIO, "Fix that, then run the same command again"),
    ],
)
def test_what_could_not_be_written_is_told_with_what_helps(tmp_path: Path, number: int, advice: str) -> None:
    reason = os.strerror(number)
    for error in (OSError(number, reason), SafetensorError(f"I/O error: {reason} (os error {number})")):
        with pytest.raises(DataError) as caught, explain_write_errors(tmp_path):
            raise error
        assert reason in str(caught.value)
        assert str(caught.value).endswith(advice)


def test_a_history_that_cannot_be_written_ends_the_training(tmp_path: Path) -> None:
    training = CASES["Adam"].build(tmp_path)
    training.saving = replace(training.saving, history=History(tmp_path / "missing" / "history.jsonl"))
    with pytest.raises(DataError, match="could not be written"):
        training.run()


# Numbers that are not numbers


def exploding(at: int, rate: float) -> Callable[[], Callable[[int], float]]:
    """A schedule that is right but for one step"""
    return lambda: lambda t: rate if t == at else 0.01


@pytest.mark.parametrize(
    ("optimizer", "rate", "averaging"), [(Adam, 1e20, 0.0), (GradientDescent, 1e38, 0.9), (Adam, 1e300, 0.9)]
)
@pytest.mark.parametrize(
    ("validation", "named", "good"),
    [
        (None, 7, 4),  # seen by the step that comes after
        (Validation(judged_pairs), 7, 4),
        (Validation(judged_pairs, every=3), 6, 3),  # seen by the evaluation
        (Validation(judged_pairs, every=1), 6, 5),
    ],
)
def test_a_loss_that_explodes_ends_the_training_and_names_the_last_good_checkpoint(
    tmp_path: Path, optimizer: Any, rate: float, averaging: float, validation: Any, named: int, good: int
) -> None:
    case = Case(optimizer=optimizer, schedule=exploding(6, rate))
    settings = {"validation": validation, "averaging": averaging, "stopping": Stopping(20)}
    with pytest.raises(NonFiniteError) as caught:
        case.build(tmp_path, **settings).run()
    message = str(caught.value)
    assert message.startswith(f"step {named}: ")
    assert "lower the learning rate" in message
    assert message.endswith(f"The last good checkpoint is step-{good:08d}.")
    found = Checkpoints(tmp_path / "checkpoints").load()
    assert found is not None
    assert found[1]["step"] == good
    assert all(np.isfinite(array).all() for array in found[0].values())
    calm = Case(optimizer=optimizer, schedule=exploding(6, 0.01)).build(tmp_path, **settings)
    calm.run()
    assert calm.optimizer.t == 20


def test_a_gradient_that_explodes_is_found_before_theta_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss is finite, its derivative is not."""
    case = Case(lambda: Perceptrons(3, 2), POINTS)
    training = case.build(tmp_path, interrupted=After(5))
    training.run()
    broken = case.build(tmp_path)
    differentiate = broken.step.differentiate

    def exploding_gradient(*given: Any) -> Any:
        loss, gradient, tokens = differentiate(*given)
        gradient[1] = np.inf
        return loss, gradient, tokens

    monkeypatch.setattr(broken.step, "differentiate", exploding_gradient)
    with pytest.raises(NonFiniteError, match=r"step 6: the norm of the gradient is inf.*checkpoint is step-00000005"):
        broken.run()
    assert broken.network.theta.values.tobytes() == training.network.theta.values.tobytes()


def test_a_loss_that_explodes_in_several_threads_is_told_the_same_way() -> None:
    with closing(Workers(3)) as workers, pytest.raises(NonFiniteError, match="step 3: the cross-entropy is"):
        Case(schedule=exploding(2, 1e38)).build(workers=workers, averaging=0.5).run()


def test_threads_tell_of_overflow_what_the_one_that_asked_wants_told() -> None:
    large = [np.full(3, 1e38, np.float32)] * 5

    def square(x: Array) -> Array:
        return x * x

    with closing(Workers(2)) as workers:
        with np.errstate(all="ignore"):
            assert all(np.isinf(y).all() for y in workers.map(square, large))
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            workers.map(square, [np.zeros(3, np.float32), large[0]])  # only the other thread overflows


def test_without_checkpoints_none_is_named() -> None:
    with pytest.raises(NonFiniteError) as caught:
        Case(schedule=exploding(2, 1e38)).build().run()
    assert str(caught.value).startswith("step 3: ")
    assert "checkpoint" not in str(caught.value)


@pytest.mark.parametrize("name", ["theta", "m", "v", "average"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_never_saved(tmp_path: Path, name: str, value: float) -> None:
    arrays = {key: np.arange(5, dtype=np.float32) for key in ("theta", "m", "v", "average")}
    place = Checkpoints(tmp_path)
    place.save(7, arrays, {"version": 1}, True)
    bad = arrays | {name: np.array([0, 1, value, 3, 4], np.float32)}
    with pytest.raises(DragomanError, match=f"step 9: {name} holds values that are not finite.*step-00000007"):
        place.save(9, bad, {"version": 1}, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "latest", "step-00000007"]
    assert place.load() is not None


def test_a_theta_that_overflowed_in_the_last_step_of_all_is_not_saved(tmp_path: Path) -> None:
    case = Case(schedule=exploding(10, 1e300), settings={"stopping": Stopping(10)})
    with pytest.raises(NonFiniteError, match=r"step 10: theta holds values that are not finite.*step-00000008"):
        case.build(tmp_path).run()
    found = Checkpoints(tmp_path / "checkpoints").load()
    assert found is not None
    assert found[1]["step"] == 8


# Rules that would never be asked


def test_patience_needs_something_to_be_patient_about() -> None:
    with pytest.raises(ConfigurationError, match="patience"):
        Case(lambda: Perceptrons(3, 2), POINTS).build(stopping=Stopping(10, patience=2))


def test_epochs_need_a_stream_that_has_them() -> None:
    training = Case(lambda: Perceptrons(3, 2), POINTS).build()
    with pytest.raises(ConfigurationError, match="epochs"):
        type(training)(
            training.network,
            itertools.repeat(POINTS.batch(np.arange(3))),
            training.optimizer,
            training.schedule,
            Stopping(epochs=2),
        )
