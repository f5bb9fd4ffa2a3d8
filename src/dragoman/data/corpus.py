"""Sentence pairs on disk, to be looked at more than once.

Texts are written to a store and read in chunks, so a corpus of any size needs only a few numbers of memory per pair.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from dragoman.data.records import Record
from dragoman.data.stores import StoreWriter, TextStore
from dragoman.graph import Array

SIDES = ("source", "reference")
CHUNK = 4096
EXAMPLES = 3


class Corpus:
    """Pairs on disk, with the file and line of each."""

    def __init__(self, records: Iterable[Record], directory: Path) -> None:
        numbers: dict[str, int] = {}
        places = array("q")
        with StoreWriter(directory / "source", 1) as sources, StoreWriter(directory / "reference", 1) as references:
            for (source, reference), file, line in records:
                sources.append(source.encode())
                references.append(reference.encode())
                places.extend((numbers.setdefault(file, len(numbers)), line))
        self.files = list(numbers)
        self.places: Array = np.asarray(places, np.int64).reshape(-1, 2)
        self.texts = [TextStore(directory / side) for side in SIDES]

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Record]:
        texts = (zip(*each, strict=True) for each in zip(self.chunks(0), self.chunks(1), strict=True))
        for (file, line), pair in zip(self.places.tolist(), (pair for chunk in texts for pair in chunk), strict=True):
            yield Record(pair, self.files[file], line)

    def examples(self, items: Array) -> tuple[str, ...]:
        """Format some pairs as examples for a report."""
        shown = []
        for i in items[:EXAMPLES]:
            file, line = self.places[i]
            source, reference = (_short(store.text(int(i))) for store in self.texts)
            shown.append(f"{self.files[file]}, line {line}: {source} | {reference}")
        return tuple(shown)

    def chunks(self, side: int) -> Iterator[list[str]]:
        for start in range(0, len(self), CHUNK):
            yield list(self.texts[side].texts(range(start, min(start + CHUNK, len(self)))))


def _short(text: str, longest: int = 50) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
