"""ImageEncoder: what a network has to know about its images."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.data.images.picture import COLOUR, GREY, LARGEST, Picture, Shape, as_pixels, read_picture
from dragoman.errors import DataError, FileFormatError
from dragoman.graph import Array

CHUNK = 256
LEAST = 1 / 255  # deviation of a channel that hardly varies


@dataclass(frozen=True)
class ImageEncoder:
    """Size and channels of images, and the mean and deviation of each channel of pixels / 255 in the training part."""

    height: int
    width: int
    channels: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    file: ClassVar[str] = "encoder"

    @property
    def shape(self) -> Shape:
        return Shape(self.height, self.width, self.channels)

    @property
    def size(self) -> int:
        """Numbers of an image."""
        return self.height * self.width * self.channels

    @classmethod
    def learn(cls, pixels: Array, training: Array) -> ImageEncoder:
        """From the training part alone; pixels [n, H, W, C] uint8 may be a memory map."""
        channels = int(pixels.shape[3])
        total, squares, count = np.zeros(channels), np.zeros(channels), 0
        for start in range(0, len(training), CHUNK):
            x = pixels[training[start : start + CHUNK]].reshape(-1, channels) / 255
            total, squares, count = total + x.sum(axis=0), squares + (x * x).sum(axis=0), count + len(x)
        mean = total / count
        deviation = np.sqrt(np.maximum(squares / count - mean * mean, LEAST**2))
        height, width = (int(n) for n in pixels.shape[1:3])
        return cls(height, width, channels, _rounded(mean), _rounded(deviation))

    def read(self, image: Any, resize: bool = False) -> Picture:
        """A picture of this shape: from a file, a Picture or an array; another size is resized only on request."""
        if isinstance(image, str | Path):
            found = read_picture(image, self.channels, (self.height, self.width) if resize else None)
        elif isinstance(image, Picture):
            found = image
        else:
            found = Picture("the image", as_pixels(image))
        return fitting(found, self.shape)

    def batch(self, images: Sequence[Any], resize: bool = False) -> Array:
        """[n, H, W, C] uint8"""
        if not len(images):
            return np.zeros((0, *self.shape), np.uint8)
        return np.stack([self.read(image, resize).pixels for image in images])

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def load(cls, path: Path) -> ImageEncoder:
        try:
            found: Any = json.loads(path.read_text(encoding="utf-8"))
            sizes = [found[name] for name in ("height", "width", "channels")]
            mean, deviation = (tuple(float(x) for x in found[name]) for name in ("mean", "deviation"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"{path} cannot be read as the encoder of images: {error!r}") from None
        if not all(type(n) is int and 1 <= n <= LARGEST for n in sizes) or sizes[2] not in (GREY, COLOUR):
            raise FileFormatError(f"{path}: height and width are 1 to {LARGEST}, channels 1 or 3; got {sizes}")
        numbers = all(map(math.isfinite, (*mean, *deviation))) and min(deviation, default=0) > 0
        if not numbers or len(mean) != sizes[2] or len(deviation) != sizes[2]:
            raise FileFormatError(f"{path}: mean and deviation are a number for each channel, deviation above 0")
        return cls(sizes[0], sizes[1], sizes[2], mean, deviation)


def _rounded(x: Array) -> tuple[float, ...]:
    return tuple(round(float(value), 9) for value in x)


def fitting(picture: Picture, shape: Shape) -> Picture:
    """The picture in this shape: grey ones may become coloured; anything else that differs is an error."""
    found = picture.shape
    if found[:2] != shape[:2]:
        raise DataError(
            f"{picture.name} has {found.height} x {found.width} pixels (height x width), expected {shape.height} x "
            f"{shape.width}: images have one size; --resize resizes them on request"
        )
    if found.channels == shape.channels:
        return picture
    if found.channels > shape.channels:
        raise DataError(
            f"{picture.name} is in colour, but grey images are expected; --set data.channels=1 reads all images as "
            "grey, --set data.channels=3 all in colour"
        )
    return Picture(picture.name, np.repeat(picture.pixels, COLOUR, axis=2))
