"""Checkpoints: complete before they have a name, the latest, the best and the last few kept, nothing else left."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.graph import Array
from dragoman.training import Checkpoints
from dragoman.training import checkpoints as module
from dragoman.training.checkpoints import PARTIAL, VERSION, average, replace_file
from dragoman.training.loop import Saving
from tests.training.small_trainings import CASES, After, left_in

STATE = {"version": VERSION, "note": "ñandú", "number": 0.1, "nothing": None}


def arrays(step: int) -> dict[str, Array]:
    theta = np.linspace(0, 1, 7, dtype=np.float32) * step
    return {"theta": theta, "m": theta.astype(np.float64) / 3}


def saved(place: Path, *steps: int, best: tuple[int, ...] = (), keep: int = 2) -> Checkpoints:
    checkpoints = Checkpoints(place, keep)
    checkpoints.prepare()
    for step in steps:
        checkpoints.save(step, arrays(step), STATE | {"step": step}, step in best)
    return checkpoints


def names(checkpoints: Checkpoints) -> list[int]:
    return [int(path.name[5:]) for path in checkpoints.steps()]


def test_what_is_saved_is_loaded_bit_by_bit(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 12)
    found = Checkpoints(tmp_path).load()
    assert found is not None
    assert found[1] == STATE | {"step": 12}
    assert found[0].keys() == {"theta", "m"}
    for name, array in arrays(12).items():
        assert found[0][name].dtype == array.dtype
        assert found[0][name].tobytes() == array.tobytes()
    assert checkpoints.save(13, arrays(13), STATE, False) == tmp_path / "step-00000013"


def test_a_checkpoint_is_two_files_and_two_pointers(tmp_path: Path) -> None:
    saved(tmp_path, 3, 1200, best=(3,))
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "best",
        "latest",
        "step-00000003",
        "step-00000003/arrays.safetensors",
        "step-00000003/state.json",
        "step-00001200",
        "step-00001200/arrays.safetensors",
        "step-00001200/state.json",
    ]
    assert (tmp_path / "latest").read_text() == "step-00001200\n"
    assert (tmp_path / "best").read_text() == "step-00000003\n"
    assert json.loads((tmp_path / "step-00001200" / "state.json").read_text(encoding="utf-8"))["step"] == 1200


def test_before_the_first_there_is_none(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path / "deep" / "below")
    assert (tmp_path / "deep" / "below").is_dir()
    assert checkpoints.load() is None
    assert checkpoints.load("best") is None
    assert checkpoints.steps() == []
    assert saved(tmp_path, 1).load("best") is None


@pytest.mark.parametrize(
    ("keep", "best", "kept"),
    [
        (1, (), [5]),
        (2, (), [4, 5]),
        (3, (), [3, 4, 5]),
        (9, (), [1, 2, 3, 4, 5]),
        (1, (1,), [1, 5]),
        (2, (1, 3), [3, 4, 5]),
        (2, (2, 4), [4, 5]),
        (1, (5,), [5]),
    ],
)
def test_the_last_and_the_best_are_kept(tmp_path: Path, keep: int, best: tuple[int, ...], kept: list[int]) -> None:
    checkpoints = saved(tmp_path, 1, 2, 3, 4, 5, best=best, keep=keep)
    assert names(checkpoints) == kept
    assert checkpoints.named("latest") == "step-00000005"
    assert checkpoints.named("best") == (f"step-{best[-1]:08d}" if best else None)
    for name, step in (("latest", 5), *((("best", best[-1]),) if best else ())):
        found = checkpoints.load(name)
        assert found is not None
        assert found[1]["step"] == step


def test_the_best_is_kept_until_a_better_one_comes(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, *range(1, 8), best=(2,), keep=1)
    assert names(checkpoints) == [2, 7]
    checkpoints.save(8, arrays(8), STATE, True)
    assert names(checkpoints) == [8]


def test_the_same_step_again_replaces_it(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5, best=(5,))
    checkpoints.save(5, arrays(50), STATE | {"step": 50}, False)
    found = checkpoints.load()
    assert found is not None
    assert found[0]["theta"].tobytes() == arrays(50)["theta"].tobytes()
    assert found[1]["step"] == 50
    assert names(checkpoints) == [5]


def test_a_step_that_cannot_be_replaced_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed between its two pointers, a run finds the best of its steps in its way; then the disk fails."""
    checkpoints = saved(tmp_path, 4, 5, best=(5,))
    (tmp_path / "latest").write_text("step-00000004\n")
    rename, moved = Path.rename, []

    def fails(path: Path, to: Path) -> Path:
        moved.append(to.name)
        if len(moved) == 2:
            raise OSError(28, "No space left on device")
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(DataError, match="No space left"):
        checkpoints.save(5, arrays(50), STATE | {"step": 50}, True)
    for name, step in (("best", 5), ("latest", 4)):
        found = checkpoints.load(name)
        assert found is not None
        assert found[1]["step"] == step
        assert found[0]["theta"].tobytes() == arrays(step)["theta"].tobytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "latest", "step-00000004", "step-00000005"]


def test_what_a_killed_run_left_half_written_is_removed(tmp_path: Path) -> None:
    saved(tmp_path, 5, best=(5,))
    left = tmp_path / f"{PARTIAL}abc123"
    left.mkdir()
    (left / "arrays.safetensors").write_bytes(b"half")
    (tmp_path / f"{PARTIAL}latest").write_text("step-0000")
    (tmp_path / "notes.txt").write_text("mine")
    Checkpoints(tmp_path).prepare()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "latest", "notes.txt", "step-00000005"]
    assert Checkpoints(tmp_path).load() is not None


@pytest.mark.parametrize(
    "text",
    ["", "../step-00000005", "/tmp/x", "step-", "step-abc", "step-00000005/../x", "x", "step-5\nstep-6", "step-0 0"],
)
@pytest.mark.parametrize("pointer", ["latest", "best"])
def test_a_pointer_names_a_checkpoint_never_a_path(tmp_path: Path, pointer: str, text: str) -> None:
    checkpoints = saved(tmp_path, 5, best=(5,))
    (tmp_path / pointer).write_text(text)
    with pytest.raises(FileFormatError, match=f"{pointer} should name a checkpoint, such as step-00001200"):
        checkpoints.load(pointer)


def test_a_pointer_that_is_no_text_or_no_file_is_told(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5)
    (tmp_path / "latest").write_bytes(b"step-\xff")
    with pytest.raises(FileFormatError, match="latest cannot be read"):
        checkpoints.load()
    (tmp_path / "latest").unlink()
    (tmp_path / "latest").mkdir()
    with pytest.raises(FileFormatError, match="latest cannot be read"):
        checkpoints.load()


def rewrite_state(place: Path, change: dict[str, Any]) -> None:
    state = json.loads((place / "state.json").read_text(encoding="utf-8"))
    del state["sha256"]  # as earlier versions wrote it
    (place / "state.json").write_text(json.dumps(state | change), encoding="utf-8")


DAMAGES: dict[str, Any] = {
    "no directory": lambda place: [(path.unlink()) for path in place.iterdir()] and place.rmdir(),
    "no arrays": lambda place: (place / "arrays.safetensors").unlink(),
    "no state": lambda place: (place / "state.json").unlink(),
    "empty arrays": lambda place: (place / "arrays.safetensors").write_bytes(b""),
    "garbage for arrays": lambda place: (place / "arrays.safetensors").write_bytes(b"\xff" * 400),
    "empty state": lambda place: (place / "state.json").write_text(""),
    "garbage for state": lambda place: (place / "state.json").write_bytes(b"\xff\xfe\x00"),
    "half a state": lambda place: (place / "state.json").write_text('{"version": 1, "st'),
    "a list for state": lambda place: (place / "state.json").write_text("[1, 2]"),
    "a number for state": lambda place: (place / "state.json").write_text("7"),
    "no version": lambda place: (place / "state.json").write_text("{}"),
    "a directory for arrays": lambda place: (
        (place / "arrays.safetensors").unlink(),
        (place / "arrays.safetensors").mkdir(),
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_told_with_what_to_do(tmp_path: Path, damage: str) -> None:
    checkpoints = saved(tmp_path, 4, 5)
    DAMAGES[damage](tmp_path / "step-00000005")
    with pytest.raises(FileFormatError) as caught:
        checkpoints.load()
    message = str(caught.value)
    assert f"the checkpoint {tmp_path / 'step-00000005'} is damaged" in message
    assert f"delete it and write step-00000004 into {tmp_path / 'latest'}" in message
    (tmp_path / "latest").write_text("step-00000004\n")  # what the message says helps
    found = checkpoints.load()
    assert found is not None
    assert found[1]["step"] == 4


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_the_only_one_is_told_with_what_to_do(tmp_path: Path, damage: str) -> None:
    checkpoints = saved(tmp_path, 5)
    DAMAGES[damage](tmp_path / "step-00000005")
    with pytest.raises(FileFormatError, match=f"delete the directory {tmp_path} to start over"):
        checkpoints.load()


def test_arrays_cut_anywhere_are_damage(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path, 5)
    path = tmp_path / "step-00000005" / "arrays.safetensors"
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="is damaged"):
            checkpoints.load()
    path.write_bytes(whole)
    assert checkpoints.load() is not None


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_another_version_is_refused(tmp_path: Path, version: Any) -> None:
    checkpoints = saved(tmp_path, 5)
    rewrite_state(tmp_path / "step-00000005", {"version": version})
    with pytest.raises(FileFormatError, match=f"step-00000005 has version {version}, this program reads {VERSION}"):
        checkpoints.load()


def alone(place: Path) -> Path:
    """A checkpoint that has no other beside it which could be resumed instead."""
    for other in place.parent.glob("step-*"):
        if other != place:
            shutil.rmtree(other)
    return place


@pytest.mark.parametrize("name", ["Adam", "Momentum, plateau", "accumulated, averaged, evaluated every 2"])
def test_a_state_that_lacks_anything_is_told(tmp_path: Path, name: str) -> None:
    CASES[name].build(tmp_path, interrupted=After(3)).run()
    place = alone(tmp_path / "checkpoints" / "step-00000003")
    whole = (place / "state.json").read_text(encoding="utf-8")
    needed = json.loads(whole)
    del needed["sha256"], needed["version"]  # without a version it is damaged, and another one is resumed
    if needed["schedule"] is None:  # only a plateau has a state
        del needed["schedule"]
    for lacking in needed:
        state = json.loads(whole)
        del state[lacking], state["sha256"]
        (place / "state.json").write_text(json.dumps(state), encoding="utf-8")
        with pytest.raises(FileFormatError, match=f"{lacking}: (Field required|.* is missing)"):
            CASES[name].build(tmp_path).resume()
    (place / "state.json").write_text(whole, encoding="utf-8")
    assert CASES[name].build(tmp_path).resume()


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss_mean": [1, 2]},
        {"loss_mean": None},
        {"stream": {"seed": 1}},
        {"stream": {"seed": 1, "epoch": 0, "position": 0, "more": 0}},
        {"stream": None},
        {"schedule": 3},
        {"schedule": {"rate": 0.1}},
    ],
)
def test_a_state_of_the_wrong_shape_is_told(tmp_path: Path, wrong: dict[str, Any]) -> None:
    CASES["Momentum, plateau"].build(tmp_path, interrupted=After(3)).run()
    rewrite_state(alone(tmp_path / "checkpoints" / "step-00000003"), wrong)
    with pytest.raises(FileFormatError, match=r"step-00000003 is damaged \(state\.json: .*no other is intact"):
        CASES["Momentum, plateau"].build(tmp_path).resume()


def test_a_training_without_a_checkpoint_does_not_resume(tmp_path: Path) -> None:
    assert not CASES["Adam"].build(tmp_path).resume()
    assert not CASES["Adam"].build().resume()
    CASES["Adam"].build(tmp_path, interrupted=After(3)).run()
    assert CASES["Adam"].build(tmp_path).resume()


def test_a_training_makes_the_directory_it_needs(tmp_path: Path) -> None:
    training = CASES["Adam"].build()
    checkpoints = Checkpoints(tmp_path / "not" / "yet" / "there")
    training.saving = Saving(checkpoints)
    training.run()
    assert names(checkpoints) == [8, 10]


# What reaches the disk, and when

TO_DISK = module._to_disk  # before the fixture that spares the tests the wait


def test_bytes_are_on_the_disk_before_the_name_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[tuple[str, str]] = []
    monkeypatch.setattr(module, "_to_disk", lambda path: events.append(("disk", path.name)))
    for name in ("rename", "replace"):
        original = getattr(Path, name)

        def moved(path: Path, to: Path, original: Any = original) -> Any:
            events.append(("name", to.name))
            return original(path, to)

        monkeypatch.setattr(Path, name, moved)
    saved(tmp_path, 5, best=(5,))
    assert sorted(events[:2]) == [("disk", "arrays.safetensors"), ("disk", "state.json")]
    assert events[2:] == [
        ("name", "step-00000005"),
        ("disk", tmp_path.name),
        ("disk", f"{PARTIAL}best"),
        ("name", "best"),
        ("disk", f"{PARTIAL}latest"),
        ("name", "latest"),
    ]


def test_a_file_and_a_directory_are_synchronised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synchronised: list[int] = []
    monkeypatch.setattr(module.os, "fsync", lambda handle: synchronised.append(os.fstat(handle).st_ino))
    file = tmp_path / "file"
    file.write_text("text")
    TO_DISK(file)
    TO_DISK(tmp_path)
    directory = [] if os.name == "nt" else [tmp_path.stat().st_ino]
    assert synchronised == [file.stat().st_ino, *directory]


# Means of checkpoints


def test_the_mean_of_checkpoints(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((3, 50)).astype(np.float32)
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step, theta in enumerate(vectors, start=1):
        checkpoints.save(step, {"theta": theta, "average": 2 * theta}, STATE, False)
    for name, factor in (("theta", 1), ("average", 2)):
        for count in (1, 2, 3):
            mean = average(checkpoints.steps()[:count], name)
            assert mean.dtype == np.float32
            exact = factor * vectors[:count].astype(np.float64).mean(axis=0)
            np.testing.assert_array_equal(mean, exact.astype(np.float32))


def test_a_mean_is_summed_in_double_precision(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step, value in enumerate((1e8, 1.0, -1e8), start=1):
        checkpoints.save(step, {"theta": np.full(2, value, np.float32)}, STATE, False)
    np.testing.assert_array_equal(average(checkpoints.steps()), np.full(2, 1 / 3, np.float32))


def test_a_mean_of_nothing_or_of_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no checkpoints to average"):
        average([])
    checkpoints = saved(tmp_path, 1, 2)
    with pytest.raises(FileFormatError, match=r"arrays.safetensors"):
        average(checkpoints.steps(), "average")
    with pytest.raises(FileFormatError, match="cannot be read as safetensors"):
        average([tmp_path / "step-00000009"])


# Small files


def test_a_small_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "note"
    for text in ("first\n", "señal\n"):
        replace_file(path, text)
        assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_small_file_that_cannot_be_replaced_stays_and_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "note"
    replace_file(path, "first\n")

    def refuse(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no space left"):
        replace_file(path, "second\n")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text(encoding="utf-8") == "first\n"


def test_a_training_keeps_as_many_checkpoints_as_asked(tmp_path: Path) -> None:
    CASES["Adam"].build(tmp_path, keep=3, save_every=-1.0).run()
    assert names(Checkpoints(tmp_path / "checkpoints")) == [8, 9, 10]
    assert left_in(tmp_path).best == "step-00000010"
