"""The same command again goes on where it stopped, and ends where it would have ended."""

from __future__ import annotations

import json
import os
import shutil
import signal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from dragoman import Translator
from dragoman.errors import ConfigurationError
from dragoman.loss import Loss
from dragoman.tasks import components
from dragoman.tasks.configuration import configuration, merged, read_toml, resolved
from dragoman.tasks.model import load_metadata
from dragoman.tasks.training import locked, train_model
from dragoman.training import Callback, Outcome
from dragoman.training.checkpoints import Checkpoints
from dragoman.training.interrupts import Interrupts
from dragoman.training.loop import Training
from tests.tasks.models import PAIRS, TIME_FIELDS, pairs_file, place, tiny, told_history, write_pairs

SETTINGS: dict[str, Any] = {
    "threads": 2,
    "optimizer": {"batch": 32, "averaging": 0.9},
    "network": {"dropout": 0.2},
    "progress": {"scores": ["chrf"]},
    "stopping": {"epochs": 3},
}


class Interrupting(Callback):
    """Somebody presses Ctrl-C after a step."""

    def __init__(self, step: int) -> None:
        self.at, self.interrupts = step, Interrupts()

    def step(self, step: int, loss: Loss, training: Training) -> None:
        if step == self.at:
            self.interrupts.signal = signal.SIGINT


def stopped(settings: dict[str, Any], out: Path, step: int) -> Outcome:
    watcher = Interrupting(step)
    return train_model(settings, out, watcher, watcher.interrupts)[1]


@cache
def uninterrupted() -> Path:
    train_model(tiny(SETTINGS), place() / "uninterrupted")
    return place() / "uninterrupted"


def saved_metadata(directory: Path) -> dict[str, Any]:
    metadata = load_metadata(directory).model_dump()
    metadata["training"] = {k: v for k, v in metadata["training"].items() if k not in TIME_FIELDS}
    return metadata


def check_same(model: Path, other: Path) -> None:
    for name in ("weights.safetensors", "testing.tsv.gz", "source-tokenizer.json", "target-tokenizer.json"):
        assert (model / name).read_bytes() == (other / name).read_bytes(), name
    assert told_history(model) == told_history(other)
    assert saved_metadata(model) == saved_metadata(other)
    assert configuration(read_toml(model / "configuration.toml")) == configuration(
        read_toml(other / "configuration.toml")
    )
    last, other_last = (Checkpoints(path / "checkpoints") for path in (model, other))
    for name in ("latest", "best"):
        assert last.named(name) == other_last.named(name)
    arrays = f"{last.named('latest')}/arrays.safetensors"
    assert (last.directory / arrays).read_bytes() == (other_last.directory / arrays).read_bytes()


@pytest.mark.parametrize(
    "steps", [[1], [13], [10], [29], [4, 5, 22]], ids=lambda steps: "after " + ", ".join(map(str, steps))
)
def test_a_training_that_was_stopped_ends_like_one_that_was_not(steps: list[int], tmp_path: Path) -> None:
    """10 steps an epoch: stopped in the middle of one, at its end, before the last step, several times."""
    for step in steps:
        outcome = stopped(tiny(SETTINGS), tmp_path / "model", step)
        assert (outcome.finished, outcome.reason) == (False, "interrupted (SIGINT)")
        assert load_metadata(tmp_path / "model").training["steps"] == step
        assert load_metadata(tmp_path / "model").training["ended"] is None
        assert Translator.load(tmp_path / "model").translate(["The man sees bread."])[0], "can be used meanwhile"
    _, outcome = train_model(tiny(SETTINGS), tmp_path / "model")
    assert outcome.finished
    check_same(tmp_path / "model", uninterrupted())


def test_the_first_weights_are_there_before_the_first_evaluation(tmp_path: Path) -> None:
    stopped(tiny(SETTINGS), tmp_path / "model", 3)
    assert told_history(tmp_path / "model") == []
    found = load_file(tmp_path / "model" / "checkpoints" / "step-00000003" / "arrays.safetensors")
    theta = Translator.load(tmp_path / "model").network.theta.values
    np.testing.assert_array_equal(theta, found["average"])


def test_after_the_first_evaluation_the_best_weights_are_there(tmp_path: Path) -> None:
    stopped(tiny(SETTINGS), tmp_path / "model", 13)
    found = load_file(tmp_path / "model" / "checkpoints" / "step-00000010" / "arrays.safetensors")
    theta = Translator.load(tmp_path / "model").network.theta.values
    np.testing.assert_array_equal(theta, found["average"])


def test_a_finished_training_is_left_as_it_is(tmp_path: Path) -> None:
    model = Path(shutil.copytree(uninterrupted(), tmp_path / "model"))
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    translator, outcome = train_model(tiny(SETTINGS), model)
    assert outcome.finished
    assert outcome.records == []
    assert outcome.reason == "finished 3 epochs"
    after = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    assert after.keys() == before.keys()
    for path, data in before.items():
        if path.name != "model.json":
            assert after[path] == data, path.name
    assert saved_metadata(model) == saved_metadata(uninterrupted())
    np.testing.assert_array_equal(
        translator.network.theta.values, Translator.load(uninterrupted()).network.theta.values
    )


def test_more_epochs_go_on_with_the_rates_of_a_training_of_so_many(tmp_path: Path) -> None:
    """Stopped once on the way, they end as if they had not been."""
    longer = tiny(SETTINGS, {"stopping": {"epochs": 6}})
    whole, model = (Path(shutil.copytree(uninterrupted(), tmp_path / name)) for name in ("whole", "model"))
    told: list[str] = []
    _, outcome = train_model(longer, whole, tell=told.append)
    assert [record.step for record in outcome.records] == [40, 50, 60]
    assert "60 steps are planned now instead of 30, and the learning rate with them" in told
    assert load_metadata(whole).training["epochs"] == 6.0
    optimizer = resolved(whole / "configuration.toml").optimizer
    rate = components.schedule(optimizer.model_copy(update={"schedule_steps": 60}))
    assert [line["rate"] for line in told_history(whole)[3:]] == [rate(40), rate(50), rate(60)]
    stopped(longer, model, 47)
    train_model(longer, model)
    check_same(model, whole)


def test_a_schedule_whose_steps_are_given_stays(tmp_path: Path) -> None:
    given = tiny({"optimizer": {"schedule_steps": 10}, "stopping": {"epochs": 1}})
    train_model(given, tmp_path / "model")
    told: list[str] = []
    train_model(merged(given, {"stopping": {"epochs": 2}}), tmp_path / "model", tell=told.append)
    assert told_history(tmp_path / "model")[-1]["rate"] == 0
    assert any("falls to 0 at step 10" in text for text in told)


def test_a_goal_that_was_reached_stays_reached_until_it_is_raised(tmp_path: Path) -> None:
    goal = tiny({"stopping": {"accuracy": 0.1, "epochs": 5}})
    _, outcome = train_model(goal, tmp_path / "model")
    assert "reached the goal 0.1" in outcome.reason
    done = len(told_history(tmp_path / "model"))
    assert done < 5
    _, outcome = train_model(goal, tmp_path / "model")
    assert outcome.records == []
    higher = merged(goal, {"stopping": {"accuracy": 0.99, "epochs": done + 1}})
    _, outcome = train_model(higher, tmp_path / "model")
    assert [record.step for record in outcome.records] == [10 * (done + 1)]


def test_what_the_recipe_says_does_not_come_back(tmp_path: Path) -> None:
    """Clipping switched off stays off when the training is taken up again."""
    settings = tiny(SETTINGS, {"optimizer": {"clip": None, "rate": 0.5}, "progress": {"scores": []}})
    train_model(settings, tmp_path / "whole")
    stopped(settings, tmp_path / "model", 13)
    train_model(settings, tmp_path / "model")
    check_same(tmp_path / "model", tmp_path / "whole")


# What is another training


def test_other_settings_are_refused_and_nothing_changes(tmp_path: Path) -> None:
    model = Path(shutil.copytree(uninterrupted(), tmp_path / "model"))
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    for change in ({"seed": 1}, {"optimizer": {"rate": 0.5}}, {"network": {"depth": 32}}, {"data": {"joint": True}}):
        with pytest.raises(ConfigurationError, match=r"holds a training with other settings: .* or another --out"):
            train_model(tiny(SETTINGS, change), model)
    assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before


def test_other_data_under_the_same_name_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    write_pairs(file, PAIRS)
    settings = tiny({"data": {"files": [str(file)]}, "stopping": {"epochs": None, "steps": 1}})
    train_model(settings, tmp_path / "model")
    write_pairs(file, PAIRS[:-1])
    with pytest.raises(ConfigurationError, match=r"was trained on other data than .*pairs\.tsv holds now; "):
        train_model(settings, tmp_path / "model")
    write_pairs(file, PAIRS)
    assert train_model(settings, tmp_path / "model")[1].records == []


def test_a_training_of_a_version_that_prepared_other_pairs_is_refused(tmp_path: Path) -> None:
    """Half of it on other pairs would be neither the one training nor the other; the model itself stays usable."""
    model = tmp_path / "model"
    stopped(tiny(SETTINGS), model, 13)
    metadata = json.loads((model / "model.json").read_text(encoding="utf-8"))
    del metadata["teaching"]
    (model / "model.json").write_text(json.dumps(metadata), encoding="utf-8")
    before = {path: path.read_bytes() for path in model.rglob("*") if path.is_file()}
    with pytest.raises(ConfigurationError, match="prepares training pairs differently"):
        train_model(tiny(SETTINGS), model)
    assert {path: path.read_bytes() for path in model.rglob("*") if path.is_file()} == before
    assert Translator.load(model).translate(["The man sees bread."])[0]
    unprotected = tiny(SETTINGS, {"data": {"protect": False}})
    stopped(unprotected, tmp_path / "other", 13)
    facts = json.loads((tmp_path / "other" / "model.json").read_text(encoding="utf-8"))
    del facts["teaching"]
    (tmp_path / "other" / "model.json").write_text(json.dumps(facts), encoding="utf-8")
    assert train_model(unprotected, tmp_path / "other")[1].finished, "nothing has changed for it"


def test_one_training_at_a_time_in_a_directory(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(
            ConfigurationError, match=rf"another process is training in .* \(pid {os.getpid()}, since 20\d\d-"
        ),
    ):
        train_model(tiny(SETTINGS), tmp_path)
    with locked(tmp_path):
        assert tmp_path.is_dir()


# After a kill


def test_a_directory_that_was_only_begun_is_begun_again(tmp_path: Path) -> None:
    """Killed before the configuration was written: nothing to resume, nothing in the way."""
    model = tmp_path / "model"
    stopped(tiny(SETTINGS), model, 1)
    (model / "configuration.toml").unlink()
    shutil.rmtree(model / "checkpoints")
    (model / "weights.safetensors").unlink()
    (model / ".partial-testing.tsv.gz").write_bytes(b"half")
    train_model(tiny(SETTINGS), model)
    check_same(model, uninterrupted())


def test_what_a_kill_left_half_written_is_in_nobodys_way(tmp_path: Path) -> None:
    model = tmp_path / "model"
    stopped(tiny(SETTINGS), model, 13)
    (model / "checkpoints" / ".partial-abc").mkdir()
    (model / "checkpoints" / ".partial-abc" / "arrays.safetensors").write_bytes(b"half")
    (model / ".partial-weights.safetensors").write_bytes(b"half")
    with (model / "history.jsonl").open("a", encoding="utf-8") as history:  # written, but its checkpoint was not
        history.write(json.dumps({"step": 20, "training_error": 0.0}) + "\n")
    train_model(tiny(SETTINGS), model)
    check_same(model, uninterrupted())
    assert not list((model / "checkpoints").glob(".partial*"))


def test_a_model_that_was_moved_is_trained_on(tmp_path: Path) -> None:
    stopped(tiny(SETTINGS), tmp_path / "here", 13)
    (tmp_path / "here").rename(tmp_path / "there")
    train_model(tiny(SETTINGS), tmp_path / "there")
    check_same(tmp_path / "there", uninterrupted())


def test_the_saved_configuration_is_the_same_command(tmp_path: Path) -> None:
    """What was resolved may be given instead of what was asked."""
    stopped(tiny(SETTINGS), tmp_path / "model", 13)
    saved = read_toml(tmp_path / "model" / "configuration.toml")
    assert saved["data"]["files"] == [pairs_file()]
    train_model(saved, tmp_path / "model")
    check_same(tmp_path / "model", uninterrupted())
