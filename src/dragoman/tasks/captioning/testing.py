"""Captioned images that a captioner was not trained on, kept with it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dragoman.data.dataset import Part
from dragoman.data.images.npz import read_npz
from dragoman.data.images.schema import ImageSchema
from dragoman.errors import DataError, FileFormatError
from dragoman.graph import Array
from dragoman.training.checkpoints import PARTIAL, explain_write_errors

NAME = "testing.npz"


@dataclass(frozen=True)
class CaptionedImage:
    """An image with all its captions: pixels [H, W, C] uint8."""

    name: str
    pixels: Array
    captions: tuple[str, ...]


def grouped(samples: Iterable[tuple[str, Array, str]]) -> list[CaptionedImage]:
    """Captions of equal images together, in the order of the first of each."""
    captions: dict[bytes, list[str]] = {}
    images: dict[bytes, tuple[str, Array]] = {}
    for name, pixels, caption in samples:
        key = pixels.tobytes()
        images.setdefault(key, (name, pixels))
        captions.setdefault(key, []).append(caption)
    return [CaptionedImage(*images[key], tuple(captions[key])) for key in images]


def testing_images(part: Part) -> list[CaptionedImage]:
    """The images of a part."""
    schema = part.dataset.schema
    assert isinstance(schema, ImageSchema)
    pixels = schema.pixels(part.dataset.encoded[0])
    values = zip(part.samples, part.values(), strict=True)
    return grouped((name, np.asarray(pixels[i]), caption) for i, (name, caption) in values)


def save_testing(images: list[CaptionedImage], directory: Path) -> None:
    """Pixels and captions in one archive, which gets its name when it is complete."""
    if not images:
        return
    path, work = directory / NAME, directory / f"{PARTIAL}{NAME}"
    described = [json.dumps({"name": image.name, "captions": image.captions}) for image in images]
    with explain_write_errors(directory, "the testing part"):
        try:
            with work.open("wb") as file:
                np.savez_compressed(file, images=np.stack([i.pixels for i in images]), labels=np.array(described))
            work.replace(path)
        finally:
            work.unlink(missing_ok=True)


def load_testing(directory: Path) -> list[CaptionedImage]:
    """The images that `save_testing` kept."""
    path = directory / NAME
    if not path.is_file():
        raise FileFormatError(f"{directory} keeps no testing images; name a folder to evaluate on")
    try:
        images, described = read_npz(path)["training"]
        found = [json.loads(str(text)) for text in described]
        captions = [tuple(str(caption) for caption in each["captions"]) for each in found]
        if images.ndim != 4 or images.dtype != np.uint8 or len(images) != len(found) or not all(captions):
            raise ValueError(f"images {images.shape} and captions of {len(found)} do not fit")
        return [
            CaptionedImage(str(each["name"]), pixels, some)
            for each, pixels, some in zip(found, images, captions, strict=True)
        ]
    except (DataError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None
