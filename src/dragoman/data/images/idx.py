"""IDX: the format of MNIST's files, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import zlib
from math import prod
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from dragoman.errors import DataError
from dragoman.graph import Array

UNSIGNED_BYTES = 0x08
MOST_AXES = 4
MOST_BYTES = 1 << 31
CHUNK = 1 << 20
GZIP = b"\x1f\x8b"


def is_idx(path: Path) -> bool:
    """Whether a file begins as IDX does: two zeros, a type, a number of axes."""
    try:
        with _opened(path) as file:
            head = file.read(4)
    except (OSError, EOFError, zlib.error):
        return False
    return len(head) == 4 and head[:2] == b"\0\0" and 0x08 <= head[2] <= 0x0E and 1 <= head[3] <= MOST_AXES


def read_idx(path: Path) -> Array:
    """The array of bytes in a file, read through a memory map where it is not compressed.

    The header is checked against what the file holds before anything is allocated.
    """
    try:
        with _opened(path) as file:
            shape = _shape(file, path)
            begin, size = 4 + 4 * len(shape), prod(shape)
            if not isinstance(file, gzip.GzipFile):
                held = path.stat().st_size - begin
                _check_held(path, shape, size, held)
                return np.memmap(path, np.uint8, "r", begin, shape) if size else np.zeros(shape, np.uint8)
            return _decompressed(file, path, shape, size)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; check the path") from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        compressed = file.read(2) == GZIP
    return cast(BinaryIO, gzip.open(path, "rb")) if compressed else path.open("rb")


def _shape(file: BinaryIO, path: Path) -> tuple[int, ...]:
    head = file.read(4)
    if len(head) < 4 or head[:2] != b"\0\0" or not 1 <= head[3] <= MOST_AXES:
        raise DataError(f"{path} is not an IDX file: it does not begin as one")
    if head[2] != UNSIGNED_BYTES:
        raise DataError(f"{path} holds numbers of type 0x{head[2]:02X}; expected unsigned bytes (0x08)")
    sizes = file.read(4 * head[3])
    if len(sizes) < 4 * head[3]:
        raise DataError(f"{path} ends inside its header; copy it again")
    return tuple(int(n) for n in np.frombuffer(sizes, ">u4"))


def _check_held(path: Path, shape: tuple[int, ...], size: int, held: int) -> None:
    if held != size:
        listed = " x ".join(map(str, shape))
        raise DataError(
            f"{path} promises {listed} = {size:,} bytes after its header, but holds {held:,}; copy or download it again"
        )


def _decompressed(file: BinaryIO, path: Path, shape: tuple[int, ...], size: int) -> Array:
    """Read in pieces: memory grows with what the file holds, not with what its header promises."""
    if size > MOST_BYTES:
        raise DataError(f"{path} promises {size:,} bytes; more than {MOST_BYTES:,} are not read from a compressed file")
    content = bytearray()
    while len(content) <= size and (piece := file.read(min(CHUNK, size + 1 - len(content)))):
        content += piece
    _check_held(path, shape, size, len(content))
    return np.frombuffer(bytes(content), np.uint8).reshape(shape)
