"""Image classifiers: trained, resumed, fine-tuned, asked; and what they refuse."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dragoman import ImageClassifier
from dragoman.data.images.shifting import shift_images
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.loss import Loss
from dragoman.tasks.image_classification.task import TASK
from dragoman.tasks.training import train_model
from dragoman.training import Callback
from dragoman.training.interrupts import Interrupts
from dragoman.training.loop import Training
from tests.drawn_images import drawn, write_folder, write_idx
from tests.nearness import assert_near
from tests.tasks.image_classification.models import tiny
from tests.tasks.items import check_items

NEW, NAMES = drawn(60, seed=9)


@pytest.mark.ledger("B-7.5-images")
def test_shapes_are_told_apart_by_a_vision_transformer(shapes):
    model = ImageClassifier.load(shapes)
    assert model.classes.names == ("cross", "disc", "square")
    probabilities = model.probabilities(list(NEW))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    found = model.predict(list(NEW))
    assert np.mean([each.label == name for each, name in zip(found, NAMES, strict=True)]) >= 0.9
    np.testing.assert_allclose(model.probabilities([NEW[3]])[0], probabilities[3], atol=1e-5)
    assert model.predict([]) == []


def test_files_and_arrays_give_the_same(shapes, tmp_path):
    model = ImageClassifier.load(shapes)
    Image.fromarray(NEW[0]).save(tmp_path / "a.png")
    by_file, by_array = model.predict([tmp_path / "a.png", NEW[0]])
    assert_near(by_file.as_dict(), by_array.as_dict())
    Image.fromarray(NEW[0]).resize((16, 24)).save(tmp_path / "large.png")
    with pytest.raises(DataError, match=r"large\.png has 24 x 16 pixels .* expected 8 x 8.*--resize"):
        model.predict([tmp_path / "large.png"])
    assert model.predict([tmp_path / "large.png"], resize=True)[0].label in model.classes.names


def test_one_image_or_any_iterable_of_them(shapes, tmp_path):
    model = ImageClassifier.load(shapes)
    Image.fromarray(NEW[0]).save(tmp_path / "a.png")
    check_items(model.predict, [str(tmp_path / "a.png"), tmp_path / "a.png"], "an image")
    check_items(model.predict, [NEW[0], NEW[0]], "an image")
    assert len(model.predict(NEW[:2])) == 2
    with pytest.raises(ConfigurationError, match="a list of images"):
        model.probabilities(str(tmp_path / "a.png"))


def test_evaluation_has_the_reports_of_a_classifier_and_pictures_of_mistakes(shapes):
    samples = TASK.load_testing(shapes)
    report = TASK.evaluate(ImageClassifier.load(shapes), samples)
    assert report.metrics["accuracy"] >= 0.85
    assert "images are classified right" in report.headline
    titles = [table.title for table in report.tables]
    assert titles == ["Beside a baseline", "By class", "Confusion", "Worst mistakes"]
    assert {"Confusion", "ROC", "Calibration"} <= set(report.figures)
    wrong = TASK.evaluate(ImageClassifier.load(shapes), [(picture, "disc") for picture, _ in samples])
    assert len(wrong.figures["Worst mistakes"]().axes) == 12


def test_the_testing_part_is_kept_and_damage_is_named(shapes, tmp_path):
    samples = TASK.load_testing(shapes)
    assert len(samples) > 20
    assert samples[0][0].pixels.shape == (8, 8, 1)
    from dragoman.tasks.model import save_samples

    save_samples([("a.png", "8x8x1", "AAAA", "disc")], ("image", "shape", "pixels", "label"), tmp_path)
    with pytest.raises(FileFormatError, match=r"testing image a\.png is damaged"):
        TASK.load_testing(tmp_path)


class Interrupting(Callback):
    """Somebody stops the training after a step."""

    def __init__(self, step: int) -> None:
        self.at, self.interrupts = step, Interrupts()

    def step(self, step: int, loss: Loss, training: Training) -> None:
        if step == self.at:
            self.interrupts.signal = signal.SIGINT


def test_a_stopped_training_ends_with_the_same_bits(own_cache, tmp_path):
    changes: dict[str, Any] = {"data": {"shift": 1}, "network": {"dropout": 0.2}, "stopping": {"epochs": 2}}
    train_model(tiny(changes), tmp_path / "whole")
    watch = Interrupting(18)
    assert not train_model(tiny(changes), tmp_path / "stopped", watch, watch.interrupts)[1].finished
    assert train_model(tiny(changes), tmp_path / "stopped")[1].finished
    for name in ("weights.safetensors", "testing.jsonl.gz", "image-encoder.json", "label-classes.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes(), name


@pytest.mark.parametrize("architecture", ["convolutional", "two-layer", "class-token"])
def test_other_architectures_learn_too(own_cache, architecture):
    network = {"convolutional": {"filters": 4, "units": 16, "dropout": 0.0}}.get(architecture, {"depth": 12})
    settings = tiny({"architecture": architecture, "stopping": {"epochs": 6}})
    model, _ = train_model({**settings, "network": network})
    right = [each.label == name for each, name in zip(model.predict(list(NEW)), NAMES, strict=True)]
    assert np.mean(right) > 0.45
    if architecture == "convolutional":
        with pytest.raises(ConfigurationError, match="pays no attention to patches"):
            model.attention(NEW[0])


def test_fine_tuning_keeps_size_classes_and_statistics(shapes, tmp_path):
    write_folder(tmp_path / "more", 60, seed=5)
    changes = {"data": {"files": [str(tmp_path / "more")]}, "start": {"model": str(shapes)}, "stopping": {"epochs": 1}}
    model, _ = train_model({**tiny(changes), "network": {}}, tmp_path / "tuned")
    assert model.images == ImageClassifier.load(shapes).images
    before = ImageClassifier.load(shapes).metadata.network
    assert model.metadata.network == before.model_copy(update={"dropout": model.metadata.network.dropout})
    write_folder(tmp_path / "larger", 30, size=12)
    changes["data"] = {"files": [str(tmp_path / "larger")]}
    with pytest.raises(DataError, match=r"has 12 x 12 pixels .* expected 8 x 8"):
        train_model({**tiny(changes), "network": {}}, tmp_path / "other")


def test_parts_of_mnist_are_used_and_some_training_images_validate(own_cache, tmp_path):
    for part, count in (("train", 90), ("t10k", 30)):
        images, names = drawn(count, seed=count)
        write_idx(tmp_path / f"{part}-images-idx3-ubyte", images)
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte", np.unique(names, return_inverse=True)[1].astype(np.uint8))
    settings = tiny({"data": {"files": [str(tmp_path)]}, "stopping": {"epochs": 1}})
    parts = train_model(settings)[0].metadata.data.parts
    assert parts["testing"] == 30
    assert parts["training"] + parts["validation"] == 90
    assert parts["validation"] > 3


def check_error(folder: Path, message: str, **data: Any) -> None:
    with pytest.raises(DataError, match=message):
        train_model(tiny({"data": {"files": [str(folder)], **data}}))


def test_bad_folders_are_refused(own_cache, tmp_path):
    (tmp_path / "empty").mkdir()
    check_error(tmp_path / "empty", "holds no images; expected a sub-folder for each class")
    write_folder(tmp_path / "a", 30)
    Image.fromarray(NEW[0]).resize((9, 9)).save(tmp_path / "a" / "disc" / "odd.png")
    check_error(tmp_path / "a", r"odd\.png has 9 x 9 pixels .* expected 8 x 8")
    model, _ = train_model(tiny({"data": {"files": [str(tmp_path / "a")], "resize": "12"}, "stopping": {"steps": 1}}))
    assert model.images.shape == (12, 12, 1)
    write_folder(tmp_path / "b", 6)
    check_error(tmp_path / "b", "images? to train on: a model needs at least 10")


def test_a_class_with_one_image_is_warned_of(own_cache, tmp_path):
    write_folder(tmp_path, 30)
    (tmp_path / "single").mkdir()
    Image.fromarray(NEW[0]).save(tmp_path / "single" / "1.png")
    told: list[str] = []

    class Listening(Callback):
        def warn(self, text: str) -> None:
            told.append(text)

    train_model(tiny({"data": {"files": [str(tmp_path)]}, "stopping": {"steps": 1}}), watch=Listening())
    assert any("1 of 4 classes with a single training example ('single')" in line for line in told)


def test_images_are_shifted_and_their_edges_repeated():
    x = np.arange(9, dtype=np.uint8).reshape(1, 3, 3, 1)
    moved = shift_images(np.repeat(x, 2, axis=0), np.array([[1, 0], [0, -1]]))[:, :, :, 0]
    np.testing.assert_array_equal(moved[0], [[0, 1, 2], [0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(moved[1], [[1, 2, 2], [4, 5, 5], [7, 8, 8]])


def test_settings_that_make_no_sense_are_refused(own_cache):
    with pytest.raises(ConfigurationError, match=r"a size is a height and a width in pixels, such as 28x28"):
        train_model(tiny({"data": {"resize": "big"}}))
    with pytest.raises(ConfigurationError, match="trained as a whole"):
        train_model(tiny({"start": {"train": "decoder"}}))
