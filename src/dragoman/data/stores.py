"""Store sequences in memory-mapped files: a corpus need not fit in memory."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from dragoman.errors import FileFormatError
from dragoman.graph import Array

LABEL = np.dtype("<i4")
OFFSET = np.dtype("<i8")
CHUNK = 1 << 16  # offsets in memory at a time
COPIED = 1 << 20  # bytes at a time


class StoreWriter:
    """Append items to `name.data` and their offsets to `name.offsets`, which is removed again after an error."""

    def __init__(self, path: Path, item_size: int) -> None:
        self._data = path.with_suffix(".data").open("wb")
        self._index_path = path.with_suffix(".offsets")
        self._index = self._index_path.open("wb")
        self._item_size = item_size
        self._offsets = array("q", [0])  # not written yet
        self._end = 0

    def append(self, content: bytes) -> None:
        self._data.write(content)
        self._end += len(content) // self._item_size
        self._offsets.append(self._end)
        if len(self._offsets) >= CHUNK:
            self._flush()

    def extend(self, packed: Array, lengths: Array) -> None:
        """Append many items at once: their contents one after the other, and the length of each."""
        self._flush()
        self._data.write(packed.tobytes())
        self._index.write((self._end + np.cumsum(lengths)).astype(OFFSET).tobytes())
        self._end += int(lengths.sum())

    def _flush(self) -> None:
        self._index.write(np.asarray(self._offsets, OFFSET).tobytes())
        self._offsets = array("q")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None:
            self._flush()
        self._data.close()
        self._index.close()
        if kind is not None:
            self._index_path.unlink(missing_ok=True)


class StoreJoiner:
    """Write one store from several, one after the other, each of which is removed once it is copied."""

    def __init__(self, path: Path) -> None:
        self._data = path.with_suffix(".data").open("wb")
        self._index = path.with_suffix(".offsets").open("wb")
        self._index.write(np.zeros(1, OFFSET).tobytes())
        self._end = 0
        self._digest = hashlib.sha256()

    def append(self, path: Path) -> None:
        data, index = path.with_suffix(".data"), path.with_suffix(".offsets")
        with data.open("rb") as file:
            while piece := file.read(COPIED):
                self._data.write(piece)
                self._digest.update(piece)
        with index.open("rb") as file:
            file.seek(OFFSET.itemsize)  # the first one is 0
            begin = self._end
            while len(offsets := np.fromfile(file, OFFSET, CHUNK)):
                moved = (begin + offsets).astype(OFFSET).tobytes()
                self._index.write(moved)
                self._digest.update(moved)
                self._end = begin + int(offsets[-1])
        data.unlink()
        index.unlink()

    def digest(self) -> str:
        """SHA-256 of all items and where each ends."""
        return self._digest.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._data.close()
        self._index.close()


class Store:
    """Read items by number; `gather` copies many at once, packed."""

    def __init__(self, path: Path, dtype: np.dtype[np.generic]) -> None:
        self.offsets: Array = mapped(path.with_suffix(".offsets"), OFFSET)
        self.data: Array = mapped(path.with_suffix(".data"), dtype)
        if not len(self.offsets) or self.offsets[-1] != len(self.data):
            raise FileFormatError(f"{path}: data and offsets do not match; delete the directory and try again")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Array:
        return self.data[self.offsets[i] : self.offsets[i + 1]]

    def lengths(self, items: Array | None = None) -> Array:
        if items is None:
            return np.diff(self.offsets)
        lengths: Array = self.offsets[items + 1] - self.offsets[items]
        return lengths

    def gather(self, items: Array) -> tuple[Array, Array]:
        """Return the items packed, and their offsets [len(items) + 1]."""
        starts, lengths = self.offsets[items], self.lengths(items)
        offsets = np.zeros(len(items) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        rows = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return self.data[rows], offsets


class TextStore(Store):
    """Texts as UTF-8."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, np.dtype(np.uint8))

    def text(self, i: int) -> str:
        return bytes(self[i]).decode()

    def texts(self, items: Iterable[int]) -> Iterator[str]:
        for i in items:
            yield self.text(int(i))


class LabelStore(Store):
    """Labels as 32-bit integers."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, LABEL)


def read_packed(path: Path, dtype: np.dtype[np.generic], start: int, stop: int) -> tuple[Array, Array]:
    """Read some items in a row into memory, without a map; packed, and their offsets [stop - start + 1]."""
    offsets = np.fromfile(path.with_suffix(".offsets"), OFFSET, stop - start + 1, offset=start * OFFSET.itemsize)
    size, begin = int(offsets[-1] - offsets[0]), int(offsets[0]) * dtype.itemsize
    data: Array = np.fromfile(path.with_suffix(".data"), dtype, size, offset=begin)
    return data, offsets - offsets[0]


def read_texts(path: Path, start: int, stop: int) -> list[str]:
    """Read some texts in a row into memory, without a map."""
    data, offsets = read_packed(path, np.dtype(np.uint8), start, stop)
    content, ends = data.tobytes(), offsets.tolist()
    return [content[begin:end].decode() for begin, end in pairwise(ends)]


def mapped(path: Path, dtype: np.dtype[np.generic]) -> Array:
    try:
        if path.stat().st_size == 0:  # an empty file cannot be mapped
            return np.zeros(0, dtype)
        return np.memmap(path, dtype, mode="r")
    except (OSError, ValueError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None
