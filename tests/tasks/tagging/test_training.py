"""From files of tagged words to a tagger."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import Tagger
from dragoman.errors import ConfigurationError, DataError, DragomanWarning
from dragoman.tasks.configuration import configuration
from dragoman.tasks.model import load_metadata
from dragoman.tasks.tagging.corpus import open_corpus
from dragoman.tasks.tagging.settings import TaggedData
from dragoman.tasks.tagging.task import TASK
from dragoman.tasks.training import train_model
from tests.tasks.tagging.tagged import SENTENCES, as_conll, tagged_file, tiny, trained, write_conll

SHORT: dict[str, Any] = {"stopping": {"epochs": 1}}


def folder(place: Path, names: tuple[str, str, str], packed: bool = False) -> Path:
    place.mkdir()
    for name, sentences in zip(names, (SENTENCES[8:], SENTENCES[:4], SENTENCES[4:8]), strict=True):
        text = as_conll(sentences).encode()
        (place / name).write_bytes(gzip.compress(text) if packed else text)
    return place


@pytest.mark.parametrize(
    ("names", "packed"),
    [
        (("training.conll", "validation.conll", "testing.conll"), False),
        (("training.conll.gz", "validation.conll.gz", "testing.conll.gz"), True),
        (("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu"), False),
        (("pos.train.conll.gz", "pos.dev.conll.gz", "pos.test.conll.gz"), True),
    ],
)
def test_a_folder_of_parts(tmp_path: Path, names: tuple[str, str, str], packed: bool) -> None:
    place = folder(tmp_path / "parts", names, packed)
    (place / "README.txt").write_text("The parts.", encoding="utf-8")
    corpus = open_corpus(TaggedData(files=(str(place),)))
    assert corpus.settings.split == "given"
    assert corpus.dataset(0).about["parts"] == {"training": len(SENTENCES) - 8, "validation": 4, "testing": 4}


def test_parts_as_settings(tmp_path: Path) -> None:
    training, validation = tagged_file(), write_conll(tmp_path / "dev.conll", SENTENCES[:4])
    settings = tiny({"data": {"files": [training], "validation": validation}}, SHORT)
    del settings["data"]["shares"]
    with pytest.warns(DragomanWarning, match="the testing part is empty: `dragoman evaluate` will need a file"):
        train_model(settings, tmp_path / "model")
    assert load_metadata(tmp_path / "model").data.parts == {"training": len(SENTENCES), "validation": 4, "testing": 0}
    with pytest.warns(DragomanWarning, match="the testing part is empty"):
        _, outcome = train_model(settings, tmp_path / "model")
    assert not outcome.records, "nothing left to do"


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"files": ["PLACE"], "shares": [0.8, 0.1, 0.1]}, "is a folder, whose parts are used as they are"),
        ({"files": ["PLACE", "other.conll"]}, "is a folder and is trained on alone"),
        ({"files": ["a.conll"], "validation": "b.conll", "shares": [0.8, 0.1, 0.1]}, "leave data.shares out"),
        ({"files": ["a.conll"], "split": "given"}, "is not a folder"),
        ({"files": []}, "names no file"),
    ],
)
def test_parts_that_contradict_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], error: str
) -> None:
    monkeypatch.chdir(tmp_path)
    place = folder(tmp_path / "parts", ("training.conll", "validation.conll", "testing.conll"))
    for name in ("a.conll", "b.conll", "other.conll"):
        write_conll(tmp_path / name, SENTENCES)
    settings["files"] = [name.replace("PLACE", str(place)) for name in settings["files"]]
    with pytest.raises(ConfigurationError, match=error):
        open_corpus(TaggedData(**settings), settings)


def test_a_folder_without_parts(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a folder without a training part; expected training.conll"):
        open_corpus(TaggedData(files=(str(tmp_path),)))
    for name in ("a-train.conll", "b-train.conll"):
        write_conll(tmp_path / name, SENTENCES)
    with pytest.raises(DataError, match=r"several files of the training part: a-train.conll, b-train.conll"):
        open_corpus(TaggedData(files=(str(tmp_path),)))


def test_a_tag_that_only_a_given_part_has(tmp_path: Path) -> None:
    place = folder(tmp_path / "parts", ("training.conll", "validation.conll", "testing.conll"))
    write_conll(place / "validation.conll", [*SENTENCES[:2], [("Anna", "PROPN"), ("plays", "VRB")]])
    with pytest.raises(DataError, match=r"validation.conll, sentence at line 9: 'plays' has the tag 'VRB', .*move the"):
        open_corpus(TaggedData(files=(str(place),))).dataset(0)


def test_a_tag_that_would_only_be_tested_is_moved_to_the_training_part(tmp_path: Path) -> None:
    rare = [[("Hello", "INTJ"), (str(i), "NUM")] for i in range(1)]
    for seed in range(6):
        path = write_conll(tmp_path / f"{seed}.conll", [*SENTENCES, *rare])
        dataset = open_corpus(TaggedData(files=(path,), shares=(0.5, 0.25, 0.25))).dataset(seed)
        assert "INTJ" in dataset.encoders["tags"]


@pytest.mark.parametrize(
    ("sentences", "error"),
    [
        (SENTENCES[:8], r"\d sentences to train on: a model needs at least 10"),
        ([[(word, "X") for word, _ in sentence] for sentence in SENTENCES], "every word has the tag 'X'"),
    ],
)
def test_what_cannot_be_learnt(tmp_path: Path, sentences: Any, error: str) -> None:
    path = write_conll(tmp_path / "words.conll", sentences)
    with pytest.raises(DataError, match=error):
        train_model(tiny({"data": {"files": [path]}}, SHORT))


def test_settings_that_a_tagger_does_not_have() -> None:
    for changes, error in [
        ({"network": {"pooling": "mean"}}, "leave network.pooling = 'mean' out"),
        ({"start": {"train": "decoder"}}, "a tagger is an encoder"),
        ({"start": {"vectors": {"source": "x"}}}, "are for translators"),
    ]:
        with pytest.raises(ConfigurationError, match=error):
            train_model(tiny(changes))


def test_a_tag_of_one_word_is_told(tmp_path: Path) -> None:
    path = write_conll(tmp_path / "odd.conll", [*SENTENCES, [("Oh", "INTJ")]])
    asked = configuration(tiny({"data": {"files": [path]}}))
    dataset = TASK.prepare(TASK.open_corpus(asked.data), asked)
    assert "1 of 7 tags with a single training word (INTJ)" in next(iter(TASK.warnings(dataset, new=True)))


@pytest.mark.parametrize("architecture", ["transformer", "gru", "rnn"])
def test_other_architectures(architecture: str) -> None:
    network = {"depth": 16, "perceptron_depth": 16, "heads": 2} if architecture == "transformer" else {"units": 16}
    settings = {**tiny(SHORT), "architecture": architecture, "network": network}
    tagger = train_model(settings)[0]
    assert len(tagger.predict(["Anna plays."])[0].tags) == 3


def test_the_default_is_a_bidirectional_lstm() -> None:
    found: Any = configuration({"task": "tagging"})
    assert (found.architecture, found.network.cell, found.network.pooling) == ("lstm", "lstm", "none")
    assert configuration({}).architecture == "transformer", "that of translation"


def test_the_same_seed_gives_the_same_tagger(tmp_path: Path) -> None:
    train_model(tiny(), tmp_path / "again")
    assert (tmp_path / "again/weights.safetensors").read_bytes() == (trained() / "weights.safetensors").read_bytes()


def test_trained_in_memory() -> None:
    tagger = Tagger.train(tagged_file(), **{name: value for name, value in tiny(SHORT).items() if name != "data"})
    assert tagger.directory is None
    assert tagger.predict(["Anna plays."])[0].words == ("Anna", "plays", ".")


def test_fine_tuned_with_its_tags(tmp_path: Path) -> None:
    path = write_conll(tmp_path / "more.conll", SENTENCES[:20])
    settings = {
        "task": "tagging",
        "threads": 1,
        "data": {"files": [path], "shares": [1, 0, 0]},
        "start": {"model": str(trained())},
        "optimizer": {"batch": 4},
        "stopping": {"epochs": 1},
    }
    tuned = train_model(settings)[0]
    assert tuned.classes == Tagger.load(trained()).classes
    assert not np.array_equal(tuned.network.theta.values, Tagger.load(trained()).network.theta.values)
    write_conll(tmp_path / "more.conll", [*SENTENCES[:20], [("Anna", "NAME")]])
    with pytest.raises(DataError, match=r"'Anna' has the tag 'NAME', which the model to start from does not know"):
        train_model(settings)


def test_an_unknown_extension_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        open_corpus(TaggedData(files=("nowhere.conll",)))
    (tmp_path / "words.xyz").write_text(as_conll(SENTENCES), encoding="utf-8")
    with pytest.raises(DataError, match=r"unknown extension '.xyz'. Give it with --format"):
        open_corpus(TaggedData(files=(str(tmp_path / "words.xyz"),)))
