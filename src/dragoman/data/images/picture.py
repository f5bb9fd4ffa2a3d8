"""One PNG or JPEG file, decoded with Pillow in bounded memory."""

from __future__ import annotations

import importlib
import re
import struct
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from dragoman.errors import DataError
from dragoman.graph import Array

EXTENSIONS = (".png", ".jpg", ".jpeg")
FORMATS = ("PNG", "JPEG")
MOST_PIXELS = 1 << 25  # of a file, before it is decoded: 96 MB in colour
LARGEST = 1024  # pixels of a side that a network reads
GREY, COLOUR = 1, 3  # channels
GREY_MODES = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "F")
BROKEN = (OSError, SyntaxError, ValueError, EOFError, TypeError, IndexError, OverflowError, struct.error, zlib.error)


class Shape(NamedTuple):
    """The shape of an image."""

    height: int
    width: int
    channels: int

    def __str__(self) -> str:
        return f"{self.height} x {self.width} pixels, {'grey' if self.channels == GREY else 'colour'}"


@dataclass(frozen=True, eq=False)
class Picture:
    """An image with the name of where it comes from: a file, or an archive and a number.

    pixels  [H, W, C] uint8
    """

    name: str
    pixels: Array

    def __str__(self) -> str:
        return self.name

    @property
    def shape(self) -> Shape:
        return Shape(*self.pixels.shape)


def read_picture(
    path: str | Path | BinaryIO,
    channels: int | None = None,
    resize: tuple[int, int] | None = None,
    name: str | None = None,
) -> Picture:
    """Read a PNG or JPEG file, or one that is open already.

    channels  1 for grey, 3 for colour; None: as the file has them
    resize    to (height, width)
    name      by which errors and the picture call the file; its path unless given

    The size is checked before anything is decoded. A photograph is turned as its camera says, transparent parts lie
    over white, 16 bits become 8. An animation is refused.
    """
    shown = str(path) if name is None else name
    pillow = _pillow(shown)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large files, which are refused here, and of odd metadata
            with pillow.Image.open(path, formats=FORMATS) as image:
                _check_header(image, shown)
                image.load()
                turned = pillow.ImageOps.exif_transpose(image)
                return Picture(shown, _pixels(pillow, turned, channels, resize))
    except FileNotFoundError:
        raise DataError(f"{shown} does not exist; check the path") from None
    except IsADirectoryError:
        raise DataError(f"{shown} is a folder; expected a PNG or JPEG file") from None
    except pillow.Image.DecompressionBombError as error:
        count = re.search(r"\d+", str(error))
        raise _too_large(shown, "too many" if count is None else f"{int(count[0]):,}") from None
    except pillow.UnidentifiedImageError:
        raise DataError(f"{shown} is not a PNG or JPEG image; convert it first, or remove it") from None
    except BROKEN as error:
        raise DataError(f"{shown} is damaged and cannot be decoded: {error}; replace it, or remove it") from None


def _pillow(name: str) -> Any:
    """Import Pillow; the error says how to install it."""
    try:
        importlib.import_module("PIL.ImageOps")
        return importlib.import_module("PIL")
    except ImportError:
        raise DataError(
            f"{name}: images are decoded and resized by the package Pillow; pip install 'dragoman[images]'"
        ) from None


def _check_header(image: Any, name: str) -> None:
    """Refuse what would take much memory, before it is decoded."""
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise _too_large(name, f"{width:,} x {height:,}")
    if getattr(image, "n_frames", 1) > 1:
        raise DataError(f"{name} is an animation of {image.n_frames} images; save one of them as a file of its own")


def _too_large(name: str, size: str) -> DataError:
    return DataError(f"{name} has {size} pixels, more than the {MOST_PIXELS:,} that are read; make it smaller first")


def _pixels(pillow: Any, image: Any, channels: int | None, resize: tuple[int, int] | None) -> Array:
    """[H, W, C] uint8"""
    grey = image.mode in GREY_MODES
    if image.mode.startswith("I;16") or image.mode == "I":
        deep = np.asarray(image).astype(np.int64)
        image = pillow.Image.fromarray(np.clip(deep >> 8, 0, 255).astype(np.uint8))
    if "A" in image.mode or "a" in image.mode or "transparency" in image.info:
        image = image.convert("RGBA")
        background = pillow.Image.new("RGBA", image.size, "white")
        image = pillow.Image.alpha_composite(background, image)
    image = image.convert("L" if (channels or (GREY if grey else COLOUR)) == GREY else "RGB")
    if resize is not None and image.size != (resize[1], resize[0]):
        image = image.resize((resize[1], resize[0]), pillow.Image.Resampling.BILINEAR, reducing_gap=2.0)
    pixels = np.array(image, np.uint8)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def converted(pixels: Array, channels: int | None, resize: tuple[int, int] | None, name: str) -> Array:
    """Pixels [H, W, C] as grey or in colour, and resized, where that is asked for and not the case already."""
    same = channels in (None, pixels.shape[2]) and resize in (None, pixels.shape[:2])
    if same:
        return pixels
    pillow = _pillow(name)
    return _pixels(
        pillow, pillow.Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == GREY else pixels), channels, resize
    )


def as_pixels(image: Any, name: str = "the image") -> Array:
    """[H, W, C] uint8 of an array [H, W] or [H, W, C] of whole numbers from 0 to 255."""
    x = np.asarray(image)
    if x.ndim == 2:
        x = x[:, :, None]
    if x.ndim != 3 or x.shape[2] not in (GREY, COLOUR) or not x.size:
        raise DataError(f"{name} has shape {x.shape}; expected [H, W], [H, W, 1] or [H, W, 3]")
    if x.dtype != np.uint8:
        if x.dtype.kind not in "biuf" or not ((x >= 0) & (x <= 255) & (x == np.floor(x))).all():
            raise DataError(f"{name} holds other numbers than whole ones from 0 to 255; scale it to that range")
        x = x.astype(np.uint8)
    return x
