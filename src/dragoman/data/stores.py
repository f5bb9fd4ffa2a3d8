"""Store sequences in memory-mapped files: a corpus need not fit in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from dragoman.errors import FileFormatError
from dragoman.graph import Array

LABEL = np.dtype("<i4")
OFFSET = np.dtype("<i8")


class StoreWriter:
    """Append items to `name.data`, and write their offsets to `name.offsets` at the end."""

    def __init__(self, path: Path, item_size: int) -> None:
        self._data = path.with_suffix(".data").open("wb")
        self._path = path
        self._item_size = item_size
        self._offsets = array("q", [0])

    def append(self, content: bytes) -> None:
        self._data.write(content)
        self._offsets.append(self._offsets[-1] + len(content) // self._item_size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._data.close()
        if kind is None:
            np.asarray(self._offsets, OFFSET).tofile(self._path.with_suffix(".offsets"))


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


def mapped(path: Path, dtype: np.dtype[np.generic]) -> Array:
    try:
        if path.stat().st_size == 0:  # an empty file cannot be mapped
            return np.zeros(0, dtype)
        return np.memmap(path, dtype, mode="r")
    except (OSError, ValueError) as error:
        raise FileFormatError(f"{path} cannot be read: {error}") from None
