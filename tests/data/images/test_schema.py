"""Datasets of images: pixels in a memory-mapped store, statistics of the training part, one size."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.data.dataset import prepare
from dragoman.data.images import ImageEncoder, LabelledImages, Picture
from dragoman.data.splits import Splitting
from dragoman.errors import DataError, FileFormatError
from tests.drawn_images import drawn


def samples(count=60, size=8):
    images, names = drawn(count, size)
    return [
        (Picture(f"{i}.png", image[:, :, None]), name)
        for i, (image, name) in enumerate(zip(images, names, strict=True))
    ]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    given = samples()
    repeated = [*given, *given[:10]]  # the same pictures once more
    return prepare(repeated, tmp_path_factory.mktemp("images") / "d", LabelledImages(8, 8, 1), Splitting())


def test_batches_hold_the_pixels_and_the_classes(dataset):
    images, names = drawn(60)
    part = dataset.part("training")
    batch = part.batch(np.array([2, 0]))
    assert batch.labels.dtype == np.uint8
    assert batch.labels.shape == (2, 8, 8, 1)
    assert batch.per == "sample"
    for pixels, target, item in zip(batch.labels, batch.targets, part.samples[[2, 0]], strict=True):
        np.testing.assert_array_equal(pixels[:, :, 0], images[item % 60])
        assert dataset.encoders["label"].names[target] == names[item % 60]
    assert isinstance(dataset.encoded[0].data, np.memmap)
    assert next(iter(part.values())) == (f"{part.samples[0]}.png", names[part.samples[0]])


def test_equal_pictures_go_to_one_part(dataset):
    np.testing.assert_array_equal(dataset.parts[60:], dataset.parts[:10])
    assert set(dataset.parts.tolist()) == {0, 1, 2}


def test_statistics_are_those_of_the_training_part(dataset, tmp_path):
    encoder = dataset.encoders["image"]
    training = np.concatenate([drawn(60)[0], drawn(60)[0][:10]])[dataset.parts == 0] / 255
    assert encoder.shape == (8, 8, 1)
    assert encoder.mean == pytest.approx([training.mean()])
    assert encoder.deviation == pytest.approx([training.std()])
    (tmp_path / "e.json").write_text(encoder.to_json())
    assert ImageEncoder.load(tmp_path / "e.json") == encoder


def test_statistics_of_many_images_and_of_a_channel_that_does_not_vary():
    """Images are read in chunks; a deviation of 0 would divide by 0."""
    pixels = np.random.default_rng(0).integers(0, 256, (600, 4, 4, 3), np.uint8)
    pixels[:, :, :, 1] = 51
    training = np.arange(0, 600, 2)
    encoder = ImageEncoder.learn(pixels, training)
    known = pixels[training].reshape(-1, 3) / 255
    assert encoder.mean == pytest.approx(known.mean(axis=0))
    assert encoder.mean[1] == pytest.approx(0.2)
    assert encoder.deviation == pytest.approx([known[:, 0].std(), 1 / 255, known[:, 2].std()])


def test_another_size_is_an_error_that_names_file_and_sizes(tmp_path):
    mixed = [*samples(5), (Picture("odd.png", np.zeros((9, 7, 1), np.uint8)), "disc")]
    with pytest.raises(DataError, match=r"odd\.png has 9 x 7 pixels .* expected 8 x 8.*--resize resizes them"):
        prepare(mixed, tmp_path / "d", LabelledImages(8, 8, 1))


def test_colour_among_grey_is_an_error_and_grey_among_colour_is_not(tmp_path):
    colour = (Picture("c.png", np.zeros((8, 8, 3), np.uint8)), "disc")
    with pytest.raises(DataError, match=r"c\.png is in colour, but grey images are expected"):
        prepare([*samples(5), colour], tmp_path / "d", LabelledImages(8, 8, 1))
    found = prepare([*samples(30), colour], tmp_path / "e", LabelledImages(8, 8, 3))
    assert found.encoders["image"].channels == 3


def test_one_class_and_too_large_images_are_refused(tmp_path):
    with pytest.raises(DataError, match="the same label, 'cross': there is nothing to tell apart"):
        prepare(samples(60)[::3], tmp_path / "d", LabelledImages(8, 8, 1))
    with pytest.raises(DataError, match="more than 1024 a side; make them smaller with --resize"):
        LabelledImages(2000, 8, 1)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"height": 0, "width": 8, "channels": 1, "mean": [0], "deviation": [1]}',
        '{"height": 8, "width": 8, "channels": 1, "mean": [0], "deviation": [0]}',
        '{"height": 8, "width": 8, "channels": 3, "mean": [0], "deviation": [1]}',
        '{"height": 8, "width": 8, "channels": 1, "mean": [NaN], "deviation": [1]}',
    ],
)
def test_damaged_encoders_are_refused(tmp_path, text):
    (tmp_path / "e.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"e\.json"):
        ImageEncoder.load(tmp_path / "e.json")
