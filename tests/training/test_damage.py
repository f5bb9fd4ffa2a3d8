"""Bad numbers, damaged files and wrong types: nothing good is overwritten, and what is bad is named."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.errors import DragomanError, FileFormatError, NonFiniteError
from dragoman.graph import Array
from dragoman.loss import Loss
from dragoman.networks import Network
from dragoman.training import Callback, Checkpoints, History, checkpoints
from dragoman.training.checkpoints import average
from dragoman.training.loop import Training
from dragoman.training.state import check_state
from tests.training.small_trainings import CASES, After, Heard, history_of, left_in

# Weights that are not finite


def spoil_theta(training: Training) -> Array:
    return training.network.theta.values[:1]  # of the pad label, which no pair holds: the error stays finite


def spoil_average(training: Training) -> Array:
    assert training.step.average is not None
    return training.step.average[:1]


SPOILED: dict[str, Callable[[Training], Array]] = {
    "theta": spoil_theta,
    "m": lambda training: training.optimizer.moments["m"][:1],
    "v": lambda training: training.optimizer.moments["v"][:1],
    "average": spoil_average,
}


class SpoilAt(Callback):
    """Puts a value where a number should be, after a step."""

    def __init__(self, step: int, name: str, value: float) -> None:
        self.at, self.name, self.value = step, name, value

    def step(self, step: int, loss: Loss, training: Training) -> None:
        if step == self.at:
            SPOILED[self.name](training)[...] = self.value


@pytest.mark.parametrize("saved", [True, False], ids=["with checkpoints", "without"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", SPOILED)
def test_values_that_are_not_finite_are_found_before_anything_is_written(
    tmp_path: Path, name: str, value: float, saved: bool
) -> None:
    kept: list[Array] = []

    def keep(network: Network) -> None:
        kept.append(network.theta.values.copy())

    training = CASES["averaged"].build(tmp_path if saved else None, watch=SpoilAt(6, name, value), on_best=keep)
    with pytest.raises(NonFiniteError, match=f"step 6: {name} holds values that are not finite") as caught:
        training.run()
    assert len(kept) == 1, "the weights of step 3, and no others"
    assert np.isfinite(kept[0]).all()
    assert ("the last good checkpoint is step-00000003" in str(caught.value)) == saved
    if saved:
        assert [line["step"] for line in history_of(tmp_path)] == [3]


# Flipped bits


def flips(data: bytes) -> Iterator[bytes]:
    """The data with one bit of each byte flipped, another one from byte to byte"""
    for i in range(len(data)):
        yield data[:i] + bytes([data[i] ^ 1 << i % 8]) + data[i + 1 :]


@pytest.mark.parametrize("name", ["arrays.safetensors", "state.json"])
def test_a_flipped_bit_in_a_checkpoint_is_damage_or_does_not_matter(tmp_path: Path, name: str) -> None:
    arrays = {"theta": np.linspace(0, 1, 9, dtype=np.float32), "m": np.arange(9, dtype=np.float64)}
    state = {
        "version": 1,
        "step": 12,
        "age": 12,
        "evaluations": 3,
        "best_score": -0.25,
        "ended": None,
        "loss_mean": [1.5, 2, 3, 4],
    }
    checkpoints = Checkpoints(tmp_path)
    place = checkpoints.save(12, arrays, state, True)
    whole, found = (place / name).read_bytes(), 0
    for damaged in flips(whole):
        (place / name).write_bytes(damaged)
        try:
            loaded = checkpoints.load()
        except FileFormatError as error:
            assert str(place) in str(error)  # noqa: PT017
            found += 1
        else:
            assert loaded is not None
            assert {key: loaded[0][key].tobytes() for key in arrays} == {k: a.tobytes() for k, a in arrays.items()}
            assert {key: loaded[1].get(key) for key in state} == state
    assert found > 0.5 * len(whole)


def test_a_flipped_bit_does_not_go_into_a_mean_of_checkpoints(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    for step in (1, 2):
        checkpoints.save(step, {"theta": np.ones(100, np.float32)}, {"version": 1}, False)
    flip_last_byte(tmp_path / "step-00000002" / "arrays.safetensors")
    with pytest.raises(FileFormatError, match=r"step-00000002/arrays\.safetensors is damaged: .* checksum"):
        average(checkpoints.steps())


def flip_last_byte(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def without_checksums(place: Path) -> None:
    """As earlier versions wrote it"""
    from safetensors.numpy import load_file, save_file

    save_file(load_file(place / "arrays.safetensors"), place / "arrays.safetensors", metadata={"version": "1"})
    state = json.loads((place / "state.json").read_text(encoding="utf-8"))
    state.pop("sha256", None)
    (place / "state.json").write_text(json.dumps(state), encoding="utf-8")


def test_a_checkpoint_of_an_earlier_version_has_no_checksum_and_is_resumed(tmp_path: Path) -> None:
    whole, place = tmp_path / "whole", tmp_path / "training"
    for directory in (whole, place):
        directory.mkdir()
    CASES["averaged"].build(whole).run()
    CASES["averaged"].build(place, interrupted=After(5)).run()
    without_checksums(place / "checkpoints" / "step-00000005")
    heard = Heard()
    CASES["averaged"].build(place, watch=heard).run()
    assert (heard.steps[0][0], heard.notices) == (6, [])
    assert left_in(place).differences(left_in(whole)) == []


# A damaged latest checkpoint


@pytest.mark.parametrize("file", ["arrays.safetensors", "state.json", "the directory"])
def test_where_the_latest_checkpoint_is_damaged_the_one_before_is_resumed(tmp_path: Path, file: str) -> None:
    whole, place = tmp_path / "whole", tmp_path / "training"
    for directory in (whole, place):
        directory.mkdir()
    CASES["averaged"].build(whole).run()
    CASES["averaged"].build(place, interrupted=After(8)).run()
    latest = place / "checkpoints" / "step-00000008"
    if file == "the directory":
        shutil.rmtree(latest)
    else:
        flip_last_byte(latest / file)
    heard = Heard()
    CASES["averaged"].build(place, watch=heard).run()
    assert [step for step, _ in heard.steps] == [7, 8, 9, 10]
    assert len(heard.notices) == 1
    assert f"the checkpoint {latest} is damaged" in heard.notices[0]
    assert "resuming from step-00000006" in heard.notices[0]
    assert left_in(place).differences(left_in(whole)) == []
    aside = place / "checkpoints" / "damaged-step-00000008"
    assert aside.is_dir() == (file != "the directory")


def test_killed_after_it_went_back_it_goes_on_from_there(tmp_path: Path) -> None:
    CASES["averaged"].build(tmp_path, interrupted=After(8)).run()
    flip_last_byte(tmp_path / "checkpoints" / "step-00000008" / "arrays.safetensors")
    assert CASES["averaged"].build(tmp_path).resume()
    heard = Heard()
    again = CASES["averaged"].build(tmp_path, watch=heard)
    assert again.resume()
    assert again.optimizer.t == 6
    assert heard.notices == []


def test_where_every_checkpoint_is_damaged_the_training_stops(tmp_path: Path) -> None:
    CASES["averaged"].build(tmp_path, interrupted=After(8)).run()
    for place in Checkpoints(tmp_path / "checkpoints").steps():
        flip_last_byte(place / "arrays.safetensors")
    with pytest.raises(
        FileFormatError, match=r"step-00000008 is damaged .*no other is intact; delete .*checkpoints to start over"
    ):
        CASES["averaged"].build(tmp_path).run()


# A state with a wrong type

WRONG: list[Any] = [None, "abc", -1, 1.5, True, [], [1, 2], {}, {"a": 1}, 10**30, math.nan]


@pytest.mark.parametrize(
    ("case", "checked", "values"),
    [("averaged", True, WRONG[:2]), ("Momentum, plateau", False, WRONG)],
    ids=["with its checksum", "as of an earlier version"],
)
def test_a_state_with_any_wrong_value_is_told_or_does_not_matter(
    tmp_path: Path, case: str, checked: bool, values: list[Any]
) -> None:
    CASES[case].build(tmp_path, interrupted=After(5), save_every=-1.0, keep=1).run()
    [place] = [place for place in Checkpoints(tmp_path / "checkpoints").steps() if place.name == "step-00000005"]
    for other in Checkpoints(tmp_path / "checkpoints").steps():
        if other != place:
            shutil.rmtree(other)
    if not checked:
        without_checksums(place)
    state = json.loads((place / "state.json").read_text(encoding="utf-8"))
    told = 0
    for key in state:
        for value in values:
            copy = tmp_path / "copy"
            shutil.copytree(tmp_path / "checkpoints", copy / "checkpoints")
            changed = json.dumps({**state, key: value})
            (copy / "checkpoints" / place.name / "state.json").write_text(changed, encoding="utf-8")
            try:
                CASES[case].build(copy).run()
            except DragomanError as error:
                told += 1
                assert "delete" in str(error) or "this program reads" in str(error) or "train into" in str(error)  # noqa: PT017
            shutil.rmtree(copy)
    assert told > 0.6 * len(state) * len(values)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"step": "abc"}, "step: .*integer.*'abc'"),
        ({"loss_mean": [1, 2]}, "loss_mean: .*4 items"),
        ({"stream": {"seed": 1, "epoch": "x", "position": 0}}, r"stream\.epoch: .*integer"),
        ({"layout": 7}, "layout: .*string"),
    ],
)
def test_where_the_latest_state_has_a_wrong_type_the_one_before_is_resumed(
    tmp_path: Path, change: dict[str, Any], expected: str
) -> None:
    """As with any other damage; where there is none before, the value is named."""
    whole, place = tmp_path / "whole", tmp_path / "training"
    for directory in (whole, place):
        directory.mkdir()
    CASES["Adam"].build(whole).run()
    CASES["Adam"].build(place, interrupted=After(5)).run()
    latest = place / "checkpoints" / "step-00000005"
    without_checksums(latest)
    state = json.loads((latest / "state.json").read_text(encoding="utf-8"))
    (latest / "state.json").write_text(json.dumps(state | change), encoding="utf-8")
    alone = tmp_path / "alone"
    shutil.copytree(place, alone)
    for other in Checkpoints(alone / "checkpoints").steps()[:-1]:
        shutil.rmtree(other)
    with pytest.raises(FileFormatError, match=rf"state\.json: {expected}.*no other is intact; delete .* to start over"):
        CASES["Adam"].build(alone).run()
    heard = Heard()
    CASES["Adam"].build(place, watch=heard).run()
    assert heard.steps[0][0] == 5
    [told] = heard.notices
    assert re.search(rf"the checkpoint {latest} is damaged \(state\.json: {expected}", told)
    assert "resuming from step-00000004 instead" in told
    assert left_in(place).differences(left_in(whole)) == []


# A history that was cut short


def cut_history(place: Path, size: int) -> None:
    path = place / "history.jsonl"
    path.write_bytes(path.read_bytes()[:-size])


@pytest.mark.parametrize("cut", [2, 20, "a line", "a line and a half", "all"])
def test_a_history_that_lost_its_end_does_not_stop_a_training(tmp_path: Path, cut: Any) -> None:
    """Power failed, and the file system kept the checkpoint but not the lines that it counts."""
    CASES["averaged"].build(tmp_path, interrupted=After(7)).run()
    lines = (tmp_path / "history.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 2
    sizes = {
        "a line": len(lines[1]),
        "a line and a half": len(lines[1]) + len(lines[0]) // 2,
        "all": sum(map(len, lines)),
    }
    cut_history(tmp_path, sizes.get(cut, cut))
    heard = Heard()
    CASES["averaged"].build(tmp_path, watch=heard, interrupted=After(1)).run()
    left = 0 if cut in ("all", "a line and a half") else 1
    assert [line["step"] for line in history_of(tmp_path)] == [3][:left]
    assert len(heard.notices) == 1
    assert f"history.jsonl holds {left} of the 2 evaluations" in heard.notices[0]
    again = Heard()
    CASES["averaged"].build(tmp_path, watch=again).run()
    assert [line["step"] for line in history_of(tmp_path)] == [*[3][:left], 9, 10]
    assert again.notices == [], "said once"


def test_half_a_line_after_the_checkpoint_is_dropped_with_a_word(tmp_path: Path) -> None:
    whole, place = tmp_path / "whole", tmp_path / "training"
    for directory in (whole, place):
        directory.mkdir()
    CASES["averaged"].build(whole).run()
    CASES["averaged"].build(place, interrupted=After(7)).run()
    with (place / "history.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 9, "ep')
    heard = Heard()
    CASES["averaged"].build(place, watch=heard).run()
    assert heard.notices == [f"{place / 'history.jsonl'} ended in half a line, which was dropped"]
    assert left_in(place).differences(left_in(whole)) == []


@pytest.mark.parametrize("garbage", [b"garbage\n", b"\xff\xfe\n", b"[1]\n", b"7\n", b"\0\0\0\n"])
def test_garbage_in_a_history_is_named_by_its_line_and_stops_no_training(tmp_path: Path, garbage: bytes) -> None:
    CASES["averaged"].build(tmp_path, interrupted=After(7)).run()
    path = tmp_path / "history.jsonl"
    _, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(garbage + second)
    with pytest.raises(FileFormatError, match=r"history\.jsonl, line 1: expected a JSON object") as caught:
        History(path).lines()
    assert "delete the line" in str(caught.value)
    heard = Heard()
    CASES["averaged"].build(tmp_path, watch=heard).run()
    assert path.read_bytes().startswith(garbage + second), "nothing is thrown away"
    assert len(path.read_bytes().splitlines()) == 4
    assert len([text for text in heard.notices if "line 1: expected a JSON object" in text]) == 1


def test_a_last_line_that_lacks_only_its_end_is_kept(tmp_path: Path) -> None:
    CASES["averaged"].build(tmp_path, interrupted=After(7)).run()
    before = (tmp_path / "history.jsonl").read_bytes()
    cut_history(tmp_path, 1)
    assert len(History(tmp_path / "history.jsonl").lines()) == 2
    heard = Heard()
    CASES["averaged"].build(tmp_path, watch=heard, interrupted=After(1)).run()
    assert (tmp_path / "history.jsonl").read_bytes() == before
    assert heard.notices == []


def test_half_a_last_line_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "tr', encoding="utf-8")
    assert History(path).lines() == [{"step": 1}]


def test_a_line_is_on_the_disk_before_the_checkpoint_that_counts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    monkeypatch.setattr(checkpoints, "_to_disk", lambda path: events.append(path.name))
    save = Checkpoints.save

    def saved(self: Checkpoints, step: int, *more: Any) -> Path:
        events.append("checkpoint")
        return save(self, step, *more)

    monkeypatch.setattr(Checkpoints, "save", saved)
    CASES["Adam"].build(tmp_path).run()
    assert [name for name in events if name in ("history.jsonl", "checkpoint")] == ["history.jsonl", "checkpoint"] * 3


PLANNED: dict[str, dict[str, Any]] = {
    "plan": {"budget": 100.0, "steps": 20, "step_seconds": 0.5, "evaluation_seconds": 0.1, "new_plans": [[4, 20]]},
    "replanned": {"peak": 0.1, "steps": 20, "warm_up": 2, "replans": [[4, 0.2]]},
}


@pytest.mark.parametrize("section", PLANNED)
def test_wrong_types_in_the_plan_of_a_budget_are_told(tmp_path: Path, section: str) -> None:
    CASES["Adam"].build(tmp_path, interrupted=After(5)).run()
    found = Checkpoints(tmp_path / "checkpoints").load()
    assert found is not None
    state = found[1]
    check_state(state | PLANNED)
    for key in PLANNED[section]:
        for value in ("abc", -1 if key == "steps" else {}, [[1]], [["a", "b"]], True):
            with pytest.raises(FileFormatError, match=rf"{section}\.{key}"):
                check_state(state | {section: PLANNED[section] | {key: value}})
