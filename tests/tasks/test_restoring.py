"""A damaged or missing file of a finished model: `train` restores it, everything else names it and says what to do."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.errors import ConfigurationError, DragomanError, FileFormatError
from dragoman.networks.architectures import Architecture
from dragoman.tasks.configuration import merged
from dragoman.tasks.model import ModelMetadata, load_metadata
from dragoman.tasks.training import train_model
from dragoman.training import Outcome
from tests.tasks.models import tiny
from tests.tasks.test_resuming import SETTINGS, uninterrupted
from tests.training.small_trainings import Heard

WEIGHTS = "weights.safetensors"
TOKENIZERS = ("source-tokenizer.json", "target-tokenizer.json")
ADVICE = r"run `dragoman train \S*configuration\.toml --out \S*` to restore it"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A finished model to damage."""
    return Path(shutil.copytree(uninterrupted(), tmp_path / "model"))


def flip(path: Path) -> None:
    """One bit, in the middle of a word of a tokenizer or in a weight."""
    data = path.read_bytes()
    at = data.rindex(b'": ') - 1 if path.suffix == ".json" else len(data) - 2
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


DAMAGES: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-50]),
    "zeros": lambda path: path.write_bytes(bytes(len(path.read_bytes()))),
}


def train_again(model: Path) -> tuple[Outcome, list[str]]:
    heard = Heard()
    _, outcome = train_model(tiny(SETTINGS), model, heard, tell=heard.notice)
    return outcome, [text for text in heard.notices if "restored" in text]


# Restoring


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_weights_are_restored_from_the_best_checkpoint(model: Path, damage: str) -> None:
    whole = (model / WEIGHTS).read_bytes()
    DAMAGES[damage](model / WEIGHTS)
    outcome, [told] = train_again(model)
    assert outcome.records == [], "nothing is trained again"
    assert (model / WEIGHTS).read_bytes() == whole
    best = (model / "checkpoints" / "best").read_text(encoding="utf-8").strip()
    assert str(model / WEIGHTS) in told
    assert f"restored from the best checkpoint, {best}" in told
    assert train_again(model)[1] == []


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_damaged_tokenizer_is_restored(model: Path, name: str, damage: str) -> None:
    whole = (model / name).read_bytes()
    DAMAGES[damage](model / name)
    outcome, [told] = train_again(model)
    assert outcome.records == []
    assert (model / name).read_bytes() == whole
    assert str(model / name) in told
    assert train_again(model)[1] == []


def test_several_damaged_files_are_restored_together(model: Path) -> None:
    for name in (WEIGHTS, *TOKENIZERS):
        flip(model / name)
    assert len(train_again(model)[1]) == 3
    for name in (WEIGHTS, *TOKENIZERS):
        assert (model / name).read_bytes() == (uninterrupted() / name).read_bytes()


def test_where_the_best_checkpoint_is_damaged_too_nothing_is_restored(model: Path) -> None:
    best = (model / "checkpoints" / "best").read_text(encoding="utf-8").strip()
    flip(model / WEIGHTS)
    before = (model / WEIGHTS).read_bytes()
    latest = (model / "checkpoints" / "latest").read_text(encoding="utf-8").strip()
    if best == latest:  # else an older one would be gone on from
        (model / "checkpoints" / "best").write_text("step-00000001\n", encoding="utf-8")
    else:
        flip(model / "checkpoints" / best / "arrays.safetensors")
    with pytest.raises(FileFormatError, match=rf"{WEIGHTS} is damaged.*best checkpoint .*; copy the model again"):
        train_again(model)
    assert (model / WEIGHTS).read_bytes() == before


def test_other_tokenizers_than_the_model_was_trained_with_are_refused(model: Path) -> None:
    """Made again from the same data by another version of a library, they may differ: nothing would fit."""
    told = json.loads((model / "model.json").read_text(encoding="utf-8"))
    told["encoders"]["source"] = "0" * 64
    (model / "model.json").write_text(json.dumps(told), encoding="utf-8")
    (model / TOKENIZERS[0]).unlink()
    with pytest.raises(ConfigurationError, match="the source tokenizer made from the data is not the one"):
        train_again(model)


def test_a_model_of_an_earlier_version_has_no_checksums(model: Path) -> None:
    told = json.loads((model / "model.json").read_text(encoding="utf-8"))
    del told["encoders"]
    (model / "model.json").write_text(json.dumps(told), encoding="utf-8")
    assert Translator.load(model).translate(["The man sees bread."])
    (model / TOKENIZERS[1]).write_bytes(b"")
    assert len(train_again(model)[1]) == 1
    assert load_metadata(model).encoders.keys() == {"source", "target"}


# Reading


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [WEIGHTS, *TOKENIZERS])
def test_reading_names_the_file_and_the_command_that_restores_it(model: Path, name: str, damage: str) -> None:
    DAMAGES[damage](model / name)
    with pytest.raises(FileFormatError, match=ADVICE) as caught:
        Translator.load(model)
    assert str(model / name) in str(caught.value)
    if damage == "missing":
        assert f"{model / name} is missing" in str(caught.value)


@pytest.mark.parametrize("name", [WEIGHTS, *TOKENIZERS])
def test_without_checkpoints_the_model_is_to_be_copied_again(model: Path, name: str) -> None:
    shutil.rmtree(model / "checkpoints")
    flip(model / name)
    with pytest.raises(FileFormatError, match="copy the model again, or train it again") as caught:
        Translator.load(model)
    assert str(model / name) in str(caught.value)


# Sizes and types in model.json

WRONG: list[Any] = [None, "abc", -1, 0, 1.5, [], {}, [1, 2], [[]], 10**9, 10**30, math.inf, math.nan]


def write_metadata(model: Path, told: dict[str, Any]) -> None:
    (model / "model.json").write_text(json.dumps(told), encoding="utf-8")


def test_any_wrong_value_in_model_json_is_told_or_does_not_matter(model: Path) -> None:
    told = json.loads((model / "model.json").read_text(encoding="utf-8"))
    for section in (None, "network", "training", "data"):
        inner = told if section is None else told[section]
        for key in inner:
            for value in WRONG:
                changed = {**inner, key: value}
                write_metadata(model, changed if section is None else {**told, section: changed})
                try:
                    training = Translator.load(model).metadata.training
                    f"{training.get('steps', 0):,} {training.get('epochs', 0):g}"
                except DragomanError as error:
                    assert str(model) in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "change",
    [
        {"layers": 10**7},
        {"source_vocabulary": 10**9},
        {"depth": 10**8},
        {"layers": 900, "depth": 4096},
        {"target_vocabulary": 9_000_000},
    ],
)
def test_a_network_larger_than_its_weights_is_refused_before_it_is_built(
    model: Path, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = json.loads((model / "model.json").read_text(encoding="utf-8"))
    write_metadata(model, {**told, "network": {**told["network"], **change}})

    def build(*given: Any) -> Any:
        raise AssertionError("it was built")

    monkeypatch.setattr(Architecture, "build", build)
    with pytest.raises(
        FileFormatError, match=r"less than or equal to|a network of [\d,]+ parameters, .* holds [\d,]+|too large"
    ) as caught:
        Translator.load(model)
    assert str(model) in str(caught.value)


def test_settings_that_no_computer_can_train_are_refused(tmp_path: Path) -> None:
    for network in ({"layers": 10**7}, {"layers": 1_000, "depth": 32_768, "heads": 2}):
        with pytest.raises(ConfigurationError, match=r"network\.layers|GB of memory"):
            train_model(tiny({"network": network}), tmp_path / "model")
        assert not (tmp_path / "model").exists()


# model.json


def timeless(metadata: ModelMetadata) -> ModelMetadata:
    """Without the time that the training took, which is that of the last run too."""
    return metadata.model_copy(update={"training": {**metadata.training, "seconds": 0}})


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "zeros"])
def test_model_json_is_restored_with_what_it_said(model: Path, damage: str) -> None:
    whole = load_metadata(model)
    DAMAGES[damage](model / "model.json")
    with pytest.raises(FileFormatError, match=ADVICE) as caught:
        Translator.load(model)
    assert str(model / "model.json") in str(caught.value)
    outcome, [told] = train_again(model)
    assert outcome.records == [], "nothing is trained again"
    assert str(model / "model.json") in told
    assert timeless(load_metadata(model)) == timeless(whole)
    assert train_again(model)[1] == []


def test_everything_but_configuration_and_checkpoints_is_restored_together(model: Path) -> None:
    files = ("model.json", WEIGHTS, *TOKENIZERS)
    for name in files:
        (model / name).unlink()
    assert len(train_again(model)[1]) == 4
    for name in files[1:]:
        assert (model / name).read_bytes() == (uninterrupted() / name).read_bytes()
    assert timeless(load_metadata(model)) == timeless(load_metadata(uninterrupted()))


def test_a_fine_tuned_model_is_restored_with_its_scores(tmp_path: Path) -> None:
    base, tuned = tmp_path / "base", tmp_path / "tuned"
    train_model(tiny(SETTINGS), base)
    settings = merged(tiny(), {"start": {"model": str(base), "replay": 20}, "network": None, "stopping": {"epochs": 1}})
    del settings["network"]
    train_model(settings, tuned)
    whole = load_metadata(tuned)
    (tuned / "model.json").unlink()
    train_model(settings, tuned)
    found = load_metadata(tuned)
    assert found.training["compared"] == whole.training["compared"]
    assert timeless(found) == timeless(whole)
