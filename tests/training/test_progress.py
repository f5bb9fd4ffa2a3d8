"""What `train(..., progress=True)` prints."""

from __future__ import annotations

import pytest

from dragoman.data import Batching, BatchStream
from dragoman.optimization import Adam, Constant
from dragoman.training import PrintedProgress, Stopping, Validation, train
from tests.training.small_trainings import TRAINING, judged_pairs, small_transformer


def stream() -> BatchStream:
    return BatchStream(TRAINING, Batching(samples=8), seed=0)


def test_an_evaluation_is_a_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    network, stopping, validation = small_transformer(), Stopping(epochs=2), Validation(judged_pairs)
    train(network, stream(), Adam(), Constant(0.01), stopping, validation=validation, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert len(lines) == 2
    assert all("validation" in line and line.startswith("step ") for line in lines)


def test_without_it_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    train(small_transformer(), stream(), Adam(), Constant(0.01), Stopping(steps=2))
    assert capsys.readouterr().err == ""


def test_steps_are_told_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    train(small_transformer(), stream(), Adam(), Constant(0.01), Stopping(steps=3), watch=PrintedProgress(every=0.0))
    assert "step 2 of 3: " in capsys.readouterr().err
