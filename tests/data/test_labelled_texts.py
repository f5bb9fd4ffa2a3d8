"""Texts with a class, several classes or a number, prepared; and the encoders of their targets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dragoman.batch import END, START
from dragoman.data.classes import Classes
from dragoman.data.dataset import Dataset, prepare
from dragoman.data.labelled_texts import LabelledTexts, NumberedTexts, as_number, label_names
from dragoman.data.scaler import Scaler
from dragoman.data.splits import Splitting
from dragoman.errors import ConfigurationError, DataError, FileFormatError

TEXTS = [(f"number {i} is {'even' if i % 2 == 0 else 'odd'}", "even" if i % 2 == 0 else "odd") for i in range(40)]


def all_of(dataset: Dataset, part: str = "training") -> np.ndarray:
    found = dataset.part(part)
    return found.batch(np.arange(len(found)))


def test_a_batch_has_one_target_for_each_text(tmp_path: Path) -> None:
    dataset = prepare(TEXTS, tmp_path / "d", LabelledTexts(), Splitting((0.5, 0.25, 0.25), "sample"))
    batch = all_of(dataset)
    texts = list(dataset.part("training").texts("text"))
    assert batch.per == "sample"
    assert len(batch) == 20
    assert batch.targets is not None
    assert [dataset.encoders["label"].names[k] for k in batch.targets] == [text.split()[-1] for text in texts]
    assert (batch.labels[batch.offsets[:-1]] == START).all()
    assert (batch.labels[batch.offsets[1:] - 1] == END).all()
    again = Dataset(tmp_path / "d")
    assert again.encoders["label"] == dataset.encoders["label"]
    assert sum(again.encoders["label"].counts) == 20


def test_several_classes_are_rows_of_zeros_and_ones(tmp_path: Path) -> None:
    samples = {"training": [("a text", '["x", "y"]'), ("another", "[]"), ("third", '["y"]')]}
    dataset = prepare(samples, tmp_path / "d", LabelledTexts(several=True, given=True))
    batch = all_of(dataset)
    assert batch.targets is not None
    assert batch.targets.dtype == np.float32
    assert batch.targets.tolist() == [[1, 1], [0, 0], [0, 1]]
    assert dataset.encoders["label"].counts == (1, 2)


def test_numbers_are_scaled_by_the_training_part_alone(tmp_path: Path) -> None:
    samples = {"training": [("a", "10"), ("b", "20")], "testing": [("c", "1000")]}
    dataset = prepare(samples, tmp_path / "d", NumberedTexts(given=True))
    assert dataset.encoders["label"] == Scaler(15.0, 5.0)
    training, testing = all_of(dataset).targets, all_of(dataset, "testing").targets
    assert training is not None
    assert testing is not None
    assert training.tolist() == [[-1.0], [1.0]]
    assert testing.tolist() == [[197.0]]
    assert dataset.encoders["label"].decode(testing).tolist() == [[1000.0]]


def test_long_texts_are_cut_and_counted(tmp_path: Path) -> None:
    samples = {"training": [("one two three four five", "a"), ("one", "b")]}
    dataset = prepare(samples, tmp_path / "d", LabelledTexts(maximum=4, given=True, often=1))
    batch = all_of(dataset)
    assert dataset.about["truncated"] == [1, 0]
    assert batch.lengths.tolist() == [4, 3]
    assert batch.labels[3] == END
    with pytest.raises(ConfigurationError, match="3 or more"):
        LabelledTexts(maximum=2)


def test_capital_letters_are_read_as_small_ones_unless_told_otherwise(tmp_path: Path) -> None:
    samples = {"training": [("Word", "a"), ("word", "b")]}
    first = prepare(samples, tmp_path / "d", LabelledTexts(given=True, often=1))
    assert np.array_equal(first.encoded[0][0], first.encoded[0][1])
    second = prepare(samples, tmp_path / "e", LabelledTexts(given=True, often=1, lowercase=False))
    assert not np.array_equal(second.encoded[0][0], second.encoded[0][1])


def test_a_class_with_one_example_is_trained_on(tmp_path: Path) -> None:
    for seed in range(5):
        rare = [*TEXTS, ("a rare one", "rare")]
        dataset = prepare(rare, tmp_path / f"d{seed}", LabelledTexts(), Splitting((0.4, 0.3, 0.3), "sample", seed))
        classes = dataset.encoders["label"]
        assert classes.counts[classes.number("rare")] == 1
        assert "a rare one" in list(dataset.part("training").texts("text"))


def test_a_label_that_is_only_in_another_part_is_an_error(tmp_path: Path) -> None:
    samples = {"training": [("a", "x"), ("b", "y")], "validation": [("c", "z")]}
    with pytest.raises(DataError, match=r"'z' does not occur among the training examples, which have x, y; add"):
        prepare(samples, tmp_path / "d", LabelledTexts(given=True))


def test_one_class_alone_cannot_be_told_apart(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="same label, 'x'"):
        prepare([("a", "x"), ("b", "x")], tmp_path / "d", LabelledTexts(), Splitting((1, 0, 0)))


def test_a_constant_number_cannot_be_learnt(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="same number, 3"):
        prepare([("a", "3"), ("b", "3.0")], tmp_path / "d", NumberedTexts(), Splitting((1, 0, 0)))


def test_names_are_in_order_numbers_by_value() -> None:
    assert Classes.learn([["10"], ["9"], ["-1"]]).names == ("-1", "9", "10")
    assert Classes.learn([["b"], ["a"], ["10"]]).names == ("10", "a", "b")


def test_encoders_survive_the_disk_and_refuse_what_is_damaged(tmp_path: Path) -> None:
    classes, scaler, path = Classes(("ñ", "z"), (3, 4), True), Scaler(0.1, 2.5), tmp_path / "file.json"
    path.write_text(classes.to_json(), encoding="utf-8")
    assert Classes.load(path) == classes
    path.write_text(scaler.to_json(), encoding="utf-8")
    assert Scaler.load(path) == scaler
    for text in ("{", "{}", '{"names": ["a", "a"], "counts": [1, 1], "several": false}', '{"mean": 1, "deviation": 0}'):
        path.write_text(text, encoding="utf-8")
        for kind in (Classes, Scaler):
            with pytest.raises(FileFormatError, match=r"file\.json"):
                kind.load(path)


@pytest.mark.parametrize(
    ("label", "separator", "names"),
    [
        ("a, b", ",", ("a", "b")),
        ("a|b|a|", "|", ("a", "b")),
        ('["a, b", 3]', ",", ("a, b", "3")),
        ("[a]", None, ("[a]",)),
        ("[]", None, ()),
    ],
)
def test_labels_with_several_names(label: str, separator: str | None, names: tuple[str, ...]) -> None:
    assert label_names(label, separator) == names


@pytest.mark.parametrize(("text", "number"), [("1.5", 1.5), ("-2e3", -2000), ("nan", None), ("1_0", None), ("x", None)])
def test_what_a_number_is(text: str, number: float | None) -> None:
    assert as_number(text) == number
