"""Small images drawn for the tests: squares, discs and crosses at random places, with noise."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Array = np.ndarray[Any, Any]
CLASSES = ("cross", "disc", "square")


def draw(name: str, rng: np.random.Generator, size: int = 8) -> Array:
    """[size, size] uint8: a bright shape of half the size on a dark ground."""
    radius = size // 4
    y, x = np.mgrid[:size, :size] - rng.integers(radius, size - radius, (2, 1, 1))
    shape = {
        "cross": (np.minimum(abs(x), abs(y)) == 0) & (np.maximum(abs(x), abs(y)) <= radius),
        "disc": x * x + y * y <= radius * radius,
        "square": (np.maximum(abs(x), abs(y)) <= radius) & (np.maximum(abs(x), abs(y)) > radius - size / 8),
    }[name]
    image = 200 * shape + rng.integers(0, 40, (size, size))
    return image.astype(np.uint8)


def drawn(count: int, size: int = 8, seed: int = 0) -> tuple[Array, Array]:
    """[n, size, size] uint8 and [n] the names of their classes, one after the other"""
    rng = np.random.default_rng(seed)
    names = [CLASSES[i % len(CLASSES)] for i in range(count)]
    return np.stack([draw(name, rng, size) for name in names]), np.array(names)


def write_folder(folder: Path, count: int, size: int = 8, seed: int = 0) -> Path:
    """A sub-folder of PNG files for each class."""
    for i, (image, name) in enumerate(zip(*drawn(count, size, seed), strict=True)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / name / f"{i}.png")
    return folder


def write_idx(path: Path, x: Array) -> Path:
    """The array in MNIST's format."""
    path.write_bytes(bytes([0, 0, 8, x.ndim]) + struct.pack(f">{x.ndim}I", *x.shape) + x.tobytes())
    return path


def png_header(width: int, height: int, content: bytes = b"") -> bytes:
    """A PNG file that promises so many pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(content)) + chunk(b"IEND", b"")
