"""What `dragoman translate` is given: a text, lines of plain text, or a column of a table. Documents are refused."""

from __future__ import annotations

import io
import queue
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TextIO, cast

import typer

from dragoman.data.documents import BY_EXTENSION, PlainText, document_by_bytes, document_by_name
from dragoman.data.readers import FORMATS, Layout, read_records
from dragoman.data.readers.aligned import is_two_files
from dragoman.data.source import COMPRESSIONS, LONGEST_LINE, STANDARD_INPUT, Source
from dragoman.errors import ConfigurationError, DataError

TOGETHER = 1024  # lines translated together at most
PLAIN = "plain"
TABLES = ("tsv", "csv", "jsonl", "parquet")
TABLE_EXTENSIONS = {extension: name for name in TABLES for extension in FORMATS[name].extensions if extension != "txt"}
KNOWN_EXTENSIONS = {*BY_EXTENSION, *TABLE_EXTENSIONS, "txt", "text", *(ending[1:] for ending in COMPRESSIONS)}
_ANCHORED = re.compile(r"(?:~|\.{1,2})?[/\\](?=\S)|[A-Za-z]:[/\\]")
_LANGUAGE_FILE = re.compile(r"[\w.,-]{2,}\.[a-z]{2}")  # test.en


@dataclass(frozen=True)
class Input:
    """A text, the name of a file, or '-' for standard input; and how a file is read.

    format       plain, or one of TABLES; None: by its extension
    column       of a table: the column that is translated, by number from 1 or by name; None: the first, or the key
                 'source' of JSON Lines
    on_bad_line  what is done with a row that cannot be used: error or skip
    """

    given: str
    format: str | None = None
    column: str | None = None
    on_bad_line: str = "error"

    def __post_init__(self) -> None:
        if self.format not in (None, PLAIN, *TABLES):
            raise ConfigurationError(f"--format is one of {PLAIN}, {', '.join(TABLES)}; got '{self.format}'")
        if self.on_bad_line not in ("error", "skip"):
            raise ConfigurationError(f"--on-bad-line is error or skip, got '{self.on_bad_line}'")
        if self.is_text and not (self.format is None and self.column is None):
            raise ConfigurationError("--format and --column say how a file is read; a text has neither")
        if self.column is not None and self.read_as == PLAIN:
            raise ConfigurationError(f"--column is that of a table; name its --format: {', '.join(TABLES)}")

    @property
    def is_text(self) -> bool:
        return self.given != STANDARD_INPUT and not _exists(self.given)

    @property
    def read_as(self) -> str:
        """The format of a file."""
        return self.format or TABLE_EXTENSIONS.get(Source(self.given).extension, PLAIN)

    def chunks(self) -> Iterator[list[str]]:
        """The texts, some at a time, each on one line."""
        if self.is_text:
            _refuse_path(self.given)
            return iter([[" ".join(self.given.splitlines())]])
        if self.given != STANDARD_INPUT and Path(self.given).is_dir():
            raise DataError(f"{self.given} is a directory; name a file in it. {_as_text()}")
        if self.read_as != PLAIN:
            return _chunks(self._cells())
        source = Source(self.given)
        lines = as_they_come(_standard_input()) if self.given == STANDARD_INPUT else _chunks(self._lines(source))
        return lines if self.format == PLAIN else _checked(lines, source.shown)

    def _lines(self, source: Source) -> Iterator[str]:
        kind = document_by_name(self.given)
        if kind and self.format is None:
            raise kind.refuse(self.given)
        with source.open() as stream:
            kind = document_by_bytes(_beginning(stream))
            if kind:
                raise kind.refuse(self.given)
            text = io.TextIOWrapper(stream, "utf-8-sig", newline="\n")
            try:
                yield from _bounded(text)
            except UnicodeDecodeError as error:
                raise DataError(f"{self.given} cannot be read as UTF-8 text: {error}") from None
            finally:
                text.detach()

    def _cells(self) -> Iterator[str]:
        columns: tuple[int | str, ...] | None = None if self.column is None else (_column(self.column),)
        if self.read_as == "jsonl" and columns is None:
            columns = ("source",)
        layout = Layout("text", columns)
        how = cast(Literal["error", "skip"], self.on_bad_line)
        reading = read_records([self.given], layout, self.read_as, on_bad_line=how)
        for record in reading:
            yield " ".join(record.fields[0].splitlines())
        for line in reading.problems.lines():
            typer.echo(line, err=True)


def _column(told: str) -> int | str:
    """'2' counts from 1, as people do; readers count from 0."""
    if not told.isdigit():
        return told
    if int(told) == 0:
        raise ConfigurationError("--column counts from 1")
    return int(told) - 1


def _exists(name: str) -> bool:
    try:
        return bool(name) and Path(name).exists()
    except (OSError, ValueError):  # too long for a name, or with a character that no name has
        return False


def _as_text() -> str:
    return "To translate the words themselves, pipe them in: echo WORDS | dragoman translate MODEL"


def _refuse_path(text: str) -> None:
    """A mistyped file name must not come back as a translation."""
    if is_two_files(text) and all(_exists(name.strip()) for name in text.split(",")):
        raise DataError(f"{text} names two files; name the one that is to be translated")
    if looks_like_path(text):
        raise DataError(f"{text} does not exist; check the path. {_as_text()}")


def looks_like_path(text: str) -> bool:
    """Whether a text that names no file was probably meant to name one. 'either/or?' and '9 km/h' are texts."""
    if "://" in text or "\n" in text:
        return False
    known = text.rpartition(".")[2].lower() in KNOWN_EXTENSIONS and "." in text
    anchored = bool(_ANCHORED.match(text))
    if re.search(r"\s", text):
        return known and (anchored or _is_directory(str(Path(text).parent)))
    if known or anchored or text.endswith(("/", "\\")) or _LANGUAGE_FILE.fullmatch(text):
        return True
    first, slash, _ = text.partition("/")
    return bool(slash) and _is_directory(first)


def _is_directory(name: str) -> bool:
    return name not in (".", "/") and _exists(name) and Path(name).is_dir()


def _beginning(stream: BinaryIO) -> bytes:
    """The first bytes, which are still there to be read."""
    peek = getattr(stream, "peek", None)
    return b"" if peek is None else bytes(peek(512))[:512]


def _bounded(stream: TextIO) -> Iterator[str]:
    """Lines without their ends, in bounded memory."""
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise DataError(f"line {number} is longer than {LONGEST_LINE:,} characters; cut it into lines first")
        yield line.rstrip("\r\n")


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == TOGETHER:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _checked(chunks: Iterable[list[str]], name: str) -> Iterator[list[str]]:
    plain = PlainText(name)
    for chunk in chunks:
        plain.check(chunk)
        yield chunk


def _standard_input() -> TextIO:
    if sys.stdin is None:
        raise DataError("there is no standard input to read: it is closed; give a text, or name a file")
    return sys.stdin


def as_they_come(stream: TextIO) -> Iterator[list[str]]:
    """Whatever lines have arrived, at least one: a program that waits for each answer gets it, a file goes fast."""
    if isinstance(stream, io.TextIOWrapper):  # never the encoding of the terminal, nor half a character
        stream.reconfigure(encoding="utf-8-sig", errors="strict")
    arrived: queue.Queue[str | BaseException | None] = queue.Queue(TOGETHER)

    def read() -> None:
        try:
            for line in _bounded(stream):
                arrived.put(line)
            arrived.put(None)
        except BaseException as error:  # told where lines are asked for
            arrived.put(error)

    threading.Thread(target=read, daemon=True).start()
    more = True
    while more:
        chunk: list[str] = []
        waiting = True
        while more and len(chunk) < TOGETHER and (waiting or not arrived.empty()):
            line = arrived.get()
            waiting = False
            if isinstance(line, str):
                chunk.append(line)
                continue
            more = False
            if isinstance(line, UnicodeDecodeError):
                raise DataError(f"standard input is not UTF-8: {line}")
            if isinstance(line, OSError):
                raise DataError(f"standard input cannot be read: {line.strerror or line}")
            if line is not None:
                raise line
        if chunk:
            yield chunk
