"""Golden answers: kept when a training finishes, and checked before a copy of the model is trusted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Translator
from dragoman.errors import FileFormatError
from dragoman.tasks import golden
from dragoman.tasks.golden import GoldenResult, check
from dragoman.tasks.task import find_task
from dragoman.tasks.training import train_model
from tests.tasks.classification.models import moods
from tests.tasks.language_model.conftest import singer
from tests.tasks.models import PAIRS, tiny
from tests.tasks.tagging.tagged import trained as tagger
from tests.tasks.test_resuming import SETTINGS, stopped, uninterrupted

__all__ = ["singer"]


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "golden.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Path(shutil.copytree(uninterrupted(), tmp_path / "model"))


def change(directory: Path, answers: int) -> None:
    """Other answers than the model gives."""
    found = lines(directory)
    for line in found[:answers]:
        line["output"] = "otra cosa"
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in found)
    (directory / "golden.jsonl").write_text(text, encoding="utf-8")


def test_a_finished_training_keeps_translations_of_testing_sources(model: Path) -> None:
    found, translator = lines(model), Translator.load(model)
    assert len(found) == 16
    sources = [line["input"] for line in found]
    assert set(sources) <= {source for source, _ in find_task("translation").load_testing(model)}
    assert [line["output"] for line in found] == [each.text for each in translator.translations(sources)]
    assert check(translator, model) == GoldenResult(16, 0)
    assert not check(translator, model).failed


@pytest.mark.parametrize(("differing", "failed"), [(1, False), (3, False), (4, True), (16, True)])
def test_a_few_may_differ_but_not_more_than_a_fifth(model: Path, differing: int, failed: bool) -> None:
    change(model, differing)
    found = check(Translator.load(model), model)
    assert (found.total, found.differing, found.failed) == (16, differing, failed)


def test_the_weights_of_another_training_are_found(model: Path, tmp_path: Path) -> None:
    train_model(tiny(SETTINGS, {"seed": 5, "data": {"split": "sample"}}), tmp_path / "other")
    other = Translator.load(tmp_path / "other")
    assert check(other, model).failed


def test_a_model_without_golden_answers_has_nothing_to_check(model: Path) -> None:
    (model / "golden.jsonl").unlink()
    assert check(Translator.load(model), model) == GoldenResult(0, 0)
    assert not GoldenResult(0, 0).failed


@pytest.mark.parametrize("text", ["{", "[1]\n", '{"input": "a"}\n', "3\n", "\udc80".encode("utf-8", "surrogatepass")])
def test_a_damaged_file_is_named(model: Path, text: str | bytes) -> None:
    (model / "golden.jsonl").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileFormatError, match=r"golden\.jsonl cannot be read"):
        check(Translator.load(model), model)


# While training


def test_a_training_that_is_stopped_has_none_until_it_ends(tmp_path: Path) -> None:
    stopped(tiny(SETTINGS), tmp_path / "model", 13)
    assert not (tmp_path / "model" / "golden.jsonl").exists()
    train_model(tiny(SETTINGS), tmp_path / "model")
    assert (tmp_path / "model" / "golden.jsonl").read_bytes() == (uninterrupted() / "golden.jsonl").read_bytes()


def test_a_training_that_goes_on_has_none_until_it_ends_again(model: Path) -> None:
    """Its weights change: the answers before are not theirs."""
    longer = tiny(SETTINGS, {"stopping": {"epochs": 6}})
    stopped(longer, model, 45)
    if (model / "weights.safetensors").read_bytes() != (uninterrupted() / "weights.safetensors").read_bytes():
        assert not (model / "golden.jsonl").exists()
    train_model(longer, model)
    assert check(Translator.load(model), model) == GoldenResult(16, 0)


def test_deleted_answers_come_back_with_the_next_training(model: Path) -> None:
    whole = (model / "golden.jsonl").read_bytes()
    (model / "golden.jsonl").unlink()
    assert train_model(tiny(SETTINGS), model)[1].records == []
    assert (model / "golden.jsonl").read_bytes() == whole


def test_without_a_testing_part_others_are_asked(tmp_path: Path) -> None:
    settings = tiny({"data": {"shares": [1.0, 0.0, 0.0]}, "stopping": {"epochs": None, "steps": 2}})
    train_model(settings, tmp_path / "model")
    assert {line["input"] for line in lines(tmp_path / "model")} <= {source for source, _ in PAIRS}


# Saving


def test_a_saved_model_has_the_answers_of_its_weights(model: Path, tmp_path: Path) -> None:
    translator = Translator.load(model)
    translator.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "golden.jsonl").read_bytes() == (model / "golden.jsonl").read_bytes()
    translator.save(model)
    assert check(translator, model) == GoldenResult(16, 0)


def test_changed_weights_have_none(model: Path, tmp_path: Path) -> None:
    translator = Translator.load(model)
    translator.network.theta.assign(np.zeros_like(translator.network.theta.values))
    translator.save(tmp_path / "copy")
    assert not (tmp_path / "copy" / "golden.jsonl").exists()
    translator.save(model)
    assert not (model / "golden.jsonl").exists()


# Other tasks


@pytest.mark.parametrize("name", ["classification", "tagging", "language-model"])
def test_other_models_of_text_have_them_too(name: str, singer: Path, tmp_path: Path) -> None:
    directory = {"classification": moods, "tagging": tagger, "language-model": lambda: singer}[name]()
    model = find_task(name).load(directory)
    found = check(model, directory)
    assert (found.total >= 1, found.differing) == (True, 0)
    assert all(line["output"] for line in lines(directory))
    copy = Path(shutil.copytree(directory, tmp_path / "copy"))
    change(copy, found.total)
    assert check(model, copy).failed


def test_the_inputs_are_short_and_from_everywhere() -> None:
    texts = [f"text {'x' * (i % 100)} {i}" for i in range(1000)]
    found = golden.short_ones(texts)
    assert len(found) == len(set(found)) == 16
    assert max(map(len, found)) <= 80
    assert texts.index(found[-1]) > 800
    assert golden.short_ones(["a" * 500, "b" * 100]) == ["b" * 100, "a" * 500]
    assert golden.short_ones([]) == []
