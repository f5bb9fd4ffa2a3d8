"""Files of contextual vectors: .npz for programs, .tsv for people; written while a large input is read.

.npz  vectors [n, d], offsets [S + 1], words [n], sentences [S]: the words of sentence i are those from offsets[i] to
      offsets[i + 1]. Texts are fixed-width Unicode, so `numpy.load(path, allow_pickle=False)` reads all of it.
      One vector for each sentence: words is empty, and offsets counts the sentences.
.tsv  a word, a tab, its numbers between tabs; a blank line after each sentence. Or a sentence and its numbers.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, Literal, Protocol, TextIO

import numpy as np

from dragoman.data.output import write_atomically, write_text_atomically
from dragoman.errors import ConfigurationError, DataError
from dragoman.graph import Array
from dragoman.tasks.features import TextFeatures

Level = Literal["word", "sentence"]
MOST_TEXT = 1 << 31  # bytes of a fixed-width array of texts, which takes the room of the longest for each
CHUNK = 4096  # texts that are turned into an array at once


class Writer(Protocol):
    """Takes texts and their vectors in order."""

    def add(self, texts: Sequence[str], features: Sequence[TextFeatures]) -> None: ...


def check_name(path: Path) -> None:
    """An error for a name that says no format."""
    if path.suffix.lower() != ".npz" and not path.name.lower().endswith((".tsv", ".tsv.gz")):
        raise ConfigurationError(f"{path}: vectors are written as .npz, .tsv or .tsv.gz")


@contextmanager
def written_vectors(path: Path, level: Level) -> Iterator[Writer]:
    """A file that gets its name when it is complete."""
    check_name(path)
    if path.suffix.lower() == ".npz":
        with tempfile.TemporaryFile() as spool:
            arrays = NpzWriter(spool, level)
            yield arrays
            with write_atomically(path) as file:
                arrays.finish(file)
        return
    with write_text_atomically(path) as text:
        yield TsvWriter(text, level)


class TsvWriter:
    """Lines of numbers."""

    def __init__(self, file: TextIO, level: Level) -> None:
        self.file, self.level = file, level

    def add(self, texts: Sequence[str], features: Sequence[TextFeatures]) -> None:
        for text, found in zip(texts, features, strict=True):
            if self.level == "sentence":
                self._line(text, found.sentence)
                continue
            for word, vector in zip(found.words, found.vectors, strict=True):
                self._line(word, vector)
            self.file.write("\n")

    def _line(self, text: str, vector: Array) -> None:
        numbers = "\t".join(f"{number:.6g}" for number in vector.tolist())
        self.file.write(f"{' '.join(text.split())}\t{numbers}\n")


class NpzWriter:
    """Arrays of all texts; the vectors wait in a file, so that memory holds the texts alone."""

    def __init__(self, spool: BinaryIO, level: Level) -> None:
        self.spool, self.level = spool, level
        self.words: list[str] = []
        self.sentences: list[str] = []
        self.offsets = [0]
        self.depth = 0

    def add(self, texts: Sequence[str], features: Sequence[TextFeatures]) -> None:
        for text, found in zip(texts, features, strict=True):
            rows = found.vectors if self.level == "word" else found.sentence[None]
            self.depth = rows.shape[1]
            self.spool.write(np.ascontiguousarray(rows, "<f4").tobytes())
            self.offsets.append(self.offsets[-1] + len(rows))
            self.sentences.append(text)
            self.words += found.words if self.level == "word" else ()

    def finish(self, file: BinaryIO) -> None:
        """Write the archive, its members stamped with no time: the same vectors, the same bytes."""
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            with _member(archive, "vectors") as member:
                _header(member, "<f4", (self.offsets[-1], self.depth))
                self.spool.seek(0)
                shutil.copyfileobj(self.spool, member, 1 << 20)
            with _member(archive, "offsets") as member:
                np.lib.format.write_array(member, np.array(self.offsets, "<i8"), allow_pickle=False)
            for name, texts in (("words", self.words), ("sentences", self.sentences)):
                with _member(archive, name) as member:
                    _write_texts(member, texts, name)


@contextmanager
def _member(archive: zipfile.ZipFile, name: str) -> Iterator[IO[bytes]]:
    about = zipfile.ZipInfo(f"{name}.npy")
    about.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(about, "w", force_zip64=True) as member:
        yield member


def _header(file: IO[bytes], kind: str, shape: tuple[int, ...]) -> None:
    np.lib.format.write_array_header_2_0(
        file,
        {"descr": kind, "fortran_order": False, "shape": shape},
    )


def _write_texts(file: IO[bytes], texts: Sequence[str], name: str) -> None:
    width = max(map(len, texts), default=1) or 1
    if 4 * width * len(texts) > MOST_TEXT:
        raise DataError(
            f"{len(texts):,} {name}, the longest of {width:,} characters, are too many for an .npz file; write .tsv, "
            "or cut the file into several"
        )
    _header(file, f"<U{width}", (len(texts),))
    for start in range(0, len(texts), CHUNK):
        file.write(np.array(texts[start : start + CHUNK], f"<U{width}").tobytes())


def nearest(
    query: Array, chunks: Iterable[tuple[Sequence[str], Sequence[TextFeatures]]], top: int
) -> list[tuple[float, int, str]]:
    """(cosine, number from 1, text) of the texts whose vectors are most similar to the query, the best first."""
    best: list[tuple[float, int, str]] = []
    before = 0
    for texts, features in chunks:
        vectors = np.stack([found.sentence for found in features])
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
        cosines = vectors @ query / np.maximum(lengths, np.finfo(np.float32).tiny)
        best += [
            (float(cosine), before + i, text)
            for i, (cosine, text, found) in enumerate(zip(cosines, texts, features, strict=True), start=1)
            if found.words
        ]
        best = sorted(best, key=lambda found: (-found[0], found[1]))[:top]
        before += len(texts)
    return best
