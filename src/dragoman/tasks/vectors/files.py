"""Word vectors on disk, in the two formats of word2vec, which gensim and most others read and write.

text    "V d", then a line for each word: the word and its d numbers, with spaces between (GloVe's files lack the first)
binary  "V d" and a line end, then for each word: the word, a space, d float32 numbers, maybe a line end

The sizes in a header are not trusted: memory grows with what has been read.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np

from dragoman.data.output import write_atomically
from dragoman.data.source import Source
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.graph import Array
from dragoman.tasks.vectors.words import WordVectors

NUMBER = np.dtype("<f4")
LARGEST_DEPTH = 65_536
LONGEST_WORD = 2_000  # bytes
CHUNK = 1 << 20


def is_binary(path: Path | str) -> bool:
    """Return whether a name ends in .bin or .bin.gz, which is binary; others are text."""
    return Source(str(path)).extension == "bin"


def check_name(path: Path) -> None:
    """Check that vectors can be written there, before hours of training."""
    if not path.parent.is_dir():
        raise ConfigurationError(f"{path} cannot be written: {path.parent} is not a directory; create it first")
    if path.is_dir():
        raise ConfigurationError(f"{path} is a directory; give a file name, such as {path / 'vectors.bin'}")
    if Source(str(path)).compression not in ("", ".gz"):
        raise ConfigurationError(f"{path}: only .gz compression is supported; choose another name")


def save_vectors(vectors: WordVectors, path: Path) -> None:
    """Write vectors atomically: binary if the name is .bin, compressed if it ends in .gz."""
    for word in vectors.words:
        if not word or any(character.isspace() or "\ud800" <= character <= "\udfff" for character in word):
            raise DataError(
                f"{path}: the word {word!r} cannot be written: in these formats, words are UTF-8 without spaces"
            )
    numbers = vectors.vectors.astype(NUMBER, copy=False)
    if not np.isfinite(numbers).all():
        raise DataError(f"{path}: vectors with NaN or infinity are not written; train again with a lower rate")
    encoded = _binary_row if is_binary(path) else _text_row
    with write_atomically(path) as file:
        file.write(f"{len(vectors)} {vectors.depth}\n".encode())
        for word, row in zip(vectors.words, numbers, strict=True):
            file.write(encoded(word, row))


def _binary_row(word: str, row: Array) -> bytes:
    return word.encode() + b" " + row.tobytes() + b"\n"


def _text_row(word: str, row: Array) -> bytes:
    """Format a row; nine digits restore every float32 exactly."""
    return f"{word} {' '.join(f'{number:.9g}' for number in row.tolist())}\n".encode()


def load_vectors(path: Path | str, only: Container[str] | None = None) -> WordVectors:
    """Read vectors of word2vec, gensim, fastText (.vec) or GloVe; compressed files too.

    only   the words to read: others are skipped and take no memory
    """
    source = Source(str(path))
    with source.open() as stream:
        reader = _Reader(source.shown, stream, only)
        return reader.binary() if is_binary(path) else reader.text()


def depth_of(path: Path | str) -> int:
    """Return the depth of the vectors, from the beginning of a file."""
    source = Source(str(path))
    with source.open() as stream:
        reader = _Reader(source.shown, stream, None)
        if is_binary(path):
            reader.begin_binary()
        else:
            reader.begin_text()
        return reader.depth


class _Reader:
    """Collects words and numbers, and checks each of them."""

    def __init__(self, name: str, stream: BinaryIO, only: Container[str] | None) -> None:
        self.name, self.stream, self.only = name, stream, only
        self.numbers: dict[str, int] = {}
        self.values = bytearray()
        self.count: int | None = None  # words, as the file says
        self.depth = 0
        self.read = 0  # words, also skipped ones

    def begin_binary(self) -> None:
        first = self.stream.readline(LONGEST_WORD)
        if not self._header(first.split()):
            self._refuse(
                f"it begins with {first[:40]!r}, not with two numbers, words and depth; text is called .txt or .vec "
                "(fastText's own .bin is a model: take the .vec beside it)"
            )

    def binary(self) -> WordVectors:
        self.begin_binary()
        size = self.depth * NUMBER.itemsize
        left, place = b"", 0
        while self.read < (self.count or 0):
            space = left.find(b" ", place, place + LONGEST_WORD)
            while (space < 0 and len(left) - place < LONGEST_WORD) or (space >= 0 and len(left) < space + 1 + size):
                more = self.stream.read(max(CHUNK, size))
                if not more:
                    self._refuse(f"it ends after {self.read:,} of {self.count:,} words; it was cut short, get it again")
                left, place = left[place:] + more, 0
                space = left.find(b" ", place, place + LONGEST_WORD)
            if space < 0:
                self._refuse(f"no word after word {self.read:,}: {left[place : place + 20]!r}; it is damaged")
            word = left[place:space].lstrip(b"\r\n")
            place = space + 1 + size
            self._add(word, left[space + 1 : place], f"word {self.read + 1:,}")
        if (left[place:] + self.stream.read(LONGEST_WORD)).strip():
            self._refuse(f"there is more after the {self.count:,} words it says it has; it is damaged")
        return self._vectors()

    def begin_text(self) -> tuple[bytes, int]:
        """Return the first line with a vector, and its number."""
        line, number = self._line(1), 1
        if self._header(line.split()):
            line, number = self._line(2), 2
        elif line:
            self.depth = self._believed(len(_fields(line)) - 1)
        return line, number

    def text(self) -> WordVectors:
        line, number = self.begin_text()
        while line:
            fields = _fields(line)
            if len(fields) <= self.depth:
                self._refuse_line(number, line)
            word, parts = b" ".join(fields[: -self.depth]), fields[-self.depth :]
            try:
                self._add(word, parts, f"line {number:,}")
            except ValueError:  # one that is no number
                self._refuse_line(number, line)
            number += 1
            line = self._line(number)
        if self.count not in (None, self.read):
            self._refuse(
                f"it says it has {self.count:,} words, but there are {self.read:,}; it was cut short or edited"
            )
        return self._vectors()

    def _line(self, number: int) -> bytes:
        """Return the next line; too long ones are refused."""
        limit = LONGEST_WORD + 32 * (self.depth or LARGEST_DEPTH)
        line = self.stream.readline(limit)
        if len(line) >= limit:
            self._refuse(f"line {number:,} is longer than {limit:,} bytes; is it a text of word vectors?")
        return line

    def _header(self, fields: list[bytes]) -> bool:
        """Return whether these fields are the header, and keep its numbers."""
        if len(fields) != 2 or not all(field.isdigit() and len(field) < 16 for field in fields):
            return False
        self.count, self.depth = int(fields[0]), self._believed(int(fields[1]))
        return True

    def _believed(self, depth: int) -> int:
        if not 1 <= depth <= LARGEST_DEPTH:
            self._refuse(f"vectors of {depth:,} numbers; expected 1 to {LARGEST_DEPTH:,}")
        return depth

    def _add(self, encoded: bytes, numbers: bytes | list[bytes], place: str) -> None:
        """numbers: as they lie in a binary file, or as text; a ValueError if one is none."""
        self.read += 1
        try:
            word = encoded.decode()
        except UnicodeDecodeError:
            self._refuse(f"{place} is not UTF-8: {encoded[:40]!r}; convert the file, or take the word out")
        if not word:
            self._refuse(f"{place} has no word before its numbers; take it out")
        if self.only is not None and word not in self.only:
            return
        if word in self.numbers:
            self._refuse(f"{place} is '{word}' a second time; take one of them out")
        row = np.frombuffer(numbers, NUMBER) if isinstance(numbers, bytes) else _parsed(numbers)
        if not np.isfinite(row).all():
            self._refuse(f"{place}, '{word}', has NaN, infinity or a number too large among its numbers; take it out")
        self.numbers[word] = len(self.numbers)
        self.values += row.tobytes()

    def _vectors(self) -> WordVectors:
        if not self.read:
            self._refuse("it holds no words")
        values = np.frombuffer(self.values, NUMBER).astype(np.float32, copy=False)
        return WordVectors(list(self.numbers), values.reshape(-1, self.depth))

    def _refuse_line(self, number: int, line: bytes) -> NoReturn:
        self._refuse(f"line {number:,} is not a word and {self.depth:,} numbers: {line[:40]!r}; binary is called .bin")

    def _refuse(self, found: str) -> NoReturn:
        raise FileFormatError(f"{self.name} cannot be read as word vectors: {found}")


def _fields(line: bytes) -> list[bytes]:
    return line.rstrip(b"\r\n ").split(b" ")


def _parsed(parts: list[bytes]) -> Array:
    """Parse numbers; one that is too large becomes infinity."""
    with np.errstate(over="ignore"):
        return np.array([float(part) for part in parts]).astype(NUMBER)
