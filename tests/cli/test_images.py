"""Image classifiers on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cli.running import Run
from tests.drawn_images import drawn, png_header, write_folder
from tests.tasks.image_classification import models


@pytest.fixture(scope="module")
def shapes(own_cache: None) -> Path:
    return models.shapes()


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A folder of six images, and one beside it."""
    write_folder(tmp_path / "new", 6, seed=3)
    Image.fromarray(drawn(1, seed=4)[0][0]).save(tmp_path / "one.png")
    return tmp_path


def test_train_and_inspect(run: Run, images: Path, own_cache: None) -> None:
    write_folder(images / "digits", 60)
    size = ["--set", "network.depth=8", "--set", "network.heads=2", "--set", "data.shares=[0.6,0.2,0.2]"]
    done = run(
        "train", images / "digits", "--task", "image-classification", "--out", images / "m", "--epochs", "1", *size
    )
    assert done.code == 0, done.err
    assert "8 x 8 pixels, grey; 3 classes (cross " in done.out
    assert "are classified right" in done.out
    assert f"dragoman predict {images / 'm'} image.png" in done.out
    inspected = run("inspect", images / "m")
    assert "8 x 8 pixels, grey" in inspected.out
    assert "learned positions" in inspected.out


def test_predict_files_and_folders(run: Run, shapes: Path, images: Path) -> None:
    done = run("predict", shapes, images / "one.png", images / "new")
    assert done.code == 0, done.err
    rows = [line.split("\t") for line in done.lines]
    assert rows[0][0] == str(images / "one.png")
    assert len(rows) == 7
    assert sum(label == Path(name).parent.name for name, label, _ in rows[1:]) >= 5
    as_json = json.loads(run("predict", shapes, images / "one.png", "--json").out)
    assert as_json["image"] == str(images / "one.png")
    assert sum(as_json["probabilities"].values()) == pytest.approx(1, abs=1e-4)


def test_bad_images_are_named_or_skipped(run: Run, shapes: Path, images: Path) -> None:
    (images / "new" / "bomb.png").write_bytes(png_header(50_000, 50_000))
    (images / "new" / "corrupt.png").write_bytes(b"\x89PNG\r\n\x1a\nno image")
    done = run("predict", shapes, images / "new")
    assert done.code == 2
    assert "bomb.png has 2,500,000,000 pixels, more than the" in done.err
    skipping = run("predict", shapes, images / "new", "--on-bad-line", "skip")
    assert skipping.code == 0
    assert len(skipping.lines) == 6
    assert "2 images of 8 skipped" in skipping.err
    assert "corrupt.png is damaged" in skipping.err


def test_another_size_is_resized_on_request(run: Run, shapes: Path, images: Path) -> None:
    Image.fromarray(np.zeros((20, 30), np.uint8)).save(images / "large.png")
    done = run("predict", shapes, images / "large.png")
    assert done.code == 2
    assert "large.png has 20 x 30 pixels (height x width), expected 8 x 8" in done.err
    assert "--resize" in done.err
    assert run("predict", shapes, images / "large.png", "--resize").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give images to predict"),
        (["missing.png"], "missing.png does not exist"),
        (["one.png", "--explain"], "--explain is for models of texts"),
    ],
)
def test_wrong_uses_of_predict(run: Run, shapes: Path, images: Path, arguments: list[str], message: str) -> None:
    places = [str(images / each) if each.endswith(".png") else each for each in arguments]
    done = run("predict", shapes, *places)
    assert done.code == 2
    assert message in done.err


def test_commands_for_texts_refuse_a_model_of_images(run: Run, shapes: Path) -> None:
    assert "is a model of images" in run("features", shapes, "a text").err
    assert "is a model for image-classification; use `dragoman predict" in run("translate", shapes, "a text").err


def test_evaluate(run: Run, shapes: Path, images: Path, tmp_path: Path) -> None:
    done = run("evaluate", shapes, "--out", tmp_path / "report")
    assert done.code == 0, done.err
    assert "images are classified right" in done.out
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "Confusion" in page
    again = run("evaluate", shapes, images / "new", "--out", tmp_path / "report", "--json")
    assert json.loads(again.out)["metrics"]["samples"] == 6


def test_attention_over_an_image_is_drawn(run: Run, shapes: Path, images: Path) -> None:
    path = images / "attention.png"
    done = run("plot", shapes, "attention", "--image", images / "one.png", "--out", path)
    assert done.code == 0, done.err
    drawing = np.array(Image.open(path).convert("RGB"))
    assert drawing.std() > 20
    assert run("plot", shapes, "attention", "--image", images / "one.png", "--head", "9").code == 2
    assert "--image digit.png" in run("plot", shapes, "attention").err
    assert "there is no figure 'embeddings' of images" in run("plot", shapes, "embeddings").err
    assert run("plot", shapes, "history", "--out", images / "history.png").code == 0
