"""Event files for TensorBoard: readable by its own protocol, and every word passed on."""

from __future__ import annotations

import builtins
import struct
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigurationError
from dragoman.loss import Loss
from dragoman.training import Callback, Record, Stopping
from dragoman.training.tensorboard import EVERY, TensorBoard
from tests.training.small_trainings import CASES, Heard

event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
crc32c = pytest.importorskip("tensorboardX.crc32c").crc32c


def masked(data: bytes) -> int:
    """The checksum of TFRecord files"""
    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def scalars(directory: Path) -> dict[str, list[tuple[int, float]]]:
    """name -> (step, value) of every scalar in the event files of a directory, checksums checked"""
    found: dict[str, list[tuple[int, float]]] = {}
    for path in sorted(directory.glob("events.out.tfevents.*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            header = data[at : at + 8]
            (length,) = struct.unpack("<Q", header)
            body = data[at + 12 : at + 12 + length]
            assert struct.unpack("<I", data[at + 8 : at + 12])[0] == masked(header)
            assert struct.unpack("<I", data[at + 12 + length : at + 16 + length])[0] == masked(body)
            at += 16 + length
            event = event_pb2.Event.FromString(body)
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
    return found


def closed(board: TensorBoard) -> None:
    board.writer.close()  # else a thread writes when it likes


def test_a_training_is_found_in_the_event_files_and_everything_is_passed_on(tmp_path: Path) -> None:
    plain, passed = Heard(), Heard()
    stopping = Stopping(2 * EVERY)
    CASES["Adam"].build(watch=plain, stopping=stopping).run()
    board = TensorBoard(tmp_path / "board", passed)
    training = CASES["Adam"].build(watch=board, stopping=stopping)
    outcome = training.run()
    closed(board)
    assert passed.steps == plain.steps
    assert passed.records == outcome.records
    assert len(passed.records) == 10
    found = scalars(tmp_path / "board")
    for name, value in (
        ("training_error", lambda r: r.training.error),
        ("training_accuracy", lambda r: r.training.accuracy),
        ("validation_error", lambda r: r.validation.error),
        ("validation_accuracy", lambda r: r.validation.accuracy),
        ("rate", lambda r: r.rate),
        ("gradient_norm", lambda r: r.norm),
        ("epoch", lambda r: r.epoch),
    ):
        assert found[f"round/{name}"] == [(r.step, pytest.approx(value(r), rel=1e-6)) for r in outcome.records]
    assert not {"round/step", "round/best"} & found.keys()
    for name, value in (("error", lambda loss: loss.error), ("accuracy", lambda loss: loss.accuracy)):
        expected = [(t, pytest.approx(value(loss), rel=1e-6)) for t, loss in plain.steps if t % EVERY == 0]
        assert found[f"step/{name}"] == expected
        assert len(expected) == 2
    assert found["step/rate"] == [(EVERY, pytest.approx(0.02)), (2 * EVERY, pytest.approx(0.02))]


def test_scores_are_there_by_their_names_and_notices_are_passed_on(tmp_path: Path) -> None:
    heard = Heard()
    board = TensorBoard(tmp_path, heard)
    record = Record(8, 2.0, Loss(0.5, 0.0, 3.0, 4.0), 1.0, 0.1, 2.0, scores={"bleu": 31.5})
    board.record(record)
    board.notice("overfitting")
    closed(board)
    assert scalars(tmp_path)["round/bleu"] == [(8, 31.5)]
    assert (heard.records, heard.notices) == ([record], ["overfitting"])


def test_without_tensorboardx_it_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *given: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "tensorboardX":
            raise ImportError(name)
        return real(name, *given, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ConfigurationError, match=r"need tensorboardX; install it with: pip install 'dragoman\[tens"):
        TensorBoard(tmp_path / "board", Callback())
    assert not (tmp_path / "board").exists()
