"""What `dragoman translate` and `predict` read: a text, lines, or a column of a table. Documents are refused."""

from __future__ import annotations

import io
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, Literal, TextIO, cast

import typer

from dragoman.cli.paths import TABLE_EXTENSIONS, TABLES, as_text, exists, refuse_path
from dragoman.cli.tables import Table
from dragoman.data.documents import (
    BINARY,
    HEAD,
    UTF_16,
    Document,
    PlainText,
    document_by_bytes,
    document_by_name,
    document_in_table,
)
from dragoman.data.output import one_line
from dragoman.data.readers import ReadErrors
from dragoman.data.source import LONGEST_LINE, NAME_ENCODING, STANDARD_INPUT, Line, Source
from dragoman.errors import ConfigurationError, DataError
from dragoman.ranks import current

TOGETHER = 1024  # maximum number of lines that a rank translates at a time
PLAIN = "plain"
UTF_8 = "utf-8"
FEW_NULS = 8  # undecodable characters in the first bytes of a table; with more it is not text


@dataclass(frozen=True)
class Input:
    """A text, the name of a file, or '-' for standard input; and how a file is read.

    format       plain, or one of TABLES; None: by its extension
    column       of a table: the column to translate, by number from 1 or by name; None: the first, or the key
                 'source' of JSON Lines
    on_bad_line  what to do with a bad row: error or skip
    header       whether the first line of a table is a header; None: if the column is given by name
    encoding     of a file
    command      what reads it, for messages
    key          of JSON Lines that holds the text unless a column is given
    """

    given: str
    format: str | None = None
    column: str | None = None
    on_bad_line: str = "error"
    header: bool | None = None
    encoding: str = UTF_8
    command: str = "translate"
    key: str = "source"

    def __post_init__(self) -> None:
        if self.format not in (None, PLAIN, *TABLES):
            raise ConfigurationError(f"unknown format '{self.format}'; available: {PLAIN}, {', '.join(TABLES)}")
        if self.on_bad_line not in ("error", "skip"):
            raise ConfigurationError(f"--on-bad-line must be error or skip, got '{self.on_bad_line}'")
        of_tables = {"--column": self.column is not None, "--header": self.header is not None}
        if self.is_text and (self.format is not None or any(of_tables.values()) or self.encoding != UTF_8):
            raise ConfigurationError(
                "--format, --column, --header and --encoding are for files; they do not apply to a text"
            )
        for option, given in of_tables.items():
            if given and self.read_as == PLAIN:
                raise ConfigurationError(f"{option} needs a table; give its --format: {', '.join(TABLES)}")

    @property
    def is_text(self) -> bool:
        return self.given != STANDARD_INPUT and not exists(self.given)

    @property
    def read_as(self) -> str:
        """The format of a file."""
        return self.format or TABLE_EXTENSIONS.get(Source(self.given).extension, PLAIN)

    @property
    def is_table(self) -> bool:
        return not self.is_text and self.read_as != PLAIN

    def chunks(self) -> Iterator[list[str]]:
        """Yield the texts, some at a time: lines, or cells, which may have line breaks."""
        if self.is_text:
            refuse_path(self.given, self.command)
            return iter([[self.given]])
        if self.given != STANDARD_INPUT and Path(self.given).is_dir():
            raise DataError(f"{self.given} is a directory; give a file in it. {as_text(self.command)}")
        if self.read_as != PLAIN:
            return _chunks(self._cells())
        source = Source(self.given, self.encoding)
        lines = (
            as_they_come(_standard_input(), self.encoding)
            if self.given == STANDARD_INPUT
            else _chunks(self._lines(source))
        )
        return lines if self.format == PLAIN else _checked(lines, source.shown)

    def _lines(self, source: Source) -> Iterator[str]:
        kind = document_by_name(self.given)
        if kind and self.format is None:
            raise kind.refuse(self.given)
        with source.open() as stream:
            kind = _by_bytes(_beginning(stream), self.encoding)
            if kind:
                raise kind.refuse(self.given)
            text = io.TextIOWrapper(stream, self.encoding, newline="\n")
            try:
                yield from _bounded(text)
            except UnicodeError as error:
                raise _not_text(self.given, self.encoding, error) from None
            finally:
                text.detach()

    def _cells(self) -> Iterator[str]:
        yield from self._table.texts()
        for line in self._table.problems.lines():
            typer.echo(line, err=True)

    @cached_property
    def _table(self) -> Table:
        problems = ReadErrors(cast(Literal["error", "skip"], self.on_bad_line))
        column = None if self.column is None else _column(self.column)
        source = TableSource(self.given, self.encoding, self.read_as)
        return Table(source, self.read_as, column, self.header, self.key, problems)

    def table_format(self, out: Path | None, as_json: bool) -> str:
        """The format in which the rows are written again with their results; "" if results are written as lines."""
        format = "" if out is None else TABLE_EXTENSIONS.get(Source(str(out)).extension, "")
        if not format or as_json or not self.is_table:
            return ""
        return format if self._table.writes(format) else ""

    def results(
        self, file: TextIO, format: str, names: Sequence[str]
    ) -> Callable[[Sequence[str], Sequence[str]], None]:
        """A function that writes the results of the next text.

        It takes lines, and the values of the columns with these names (none for a text that is empty).
        """
        if not format or not current().first:  # rows wait for their results on the first rank only
            shown = one_line if self.is_table else str
            return lambda lines, values: print(*map(shown, lines), sep="\n", file=file)
        write = self._table.writer(file, format, names)
        return lambda lines, values: write(values)


@dataclass(frozen=True)
class TableSource(Source):
    """A file that is read as a table. Other kinds of documents are refused, whatever the file name."""

    format: str = "tsv"

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with super().open() as stream:
            beginning = b"" if self.format == "parquet" else _beginning(stream)
            kind = _by_bytes(beginning, self.encoding)
            if kind and (kind is not BINARY or beginning.count(0) > FEW_NULS):
                raise kind.refuse(self.shown)
            yield stream

    def physical_lines(self) -> Iterator[Line]:
        lines = super().physical_lines()
        head = list(islice(lines, HEAD))
        kind = document_in_table([line.text for line in head], self.format)
        if kind:
            raise kind.refuse(self.shown)
        return chain(head, lines)


def _by_bytes(beginning: bytes, encoding: str) -> Document | None:
    """Detect a document by its first bytes, as far as the encoding allows."""
    kind = document_by_bytes(beginning)
    return None if kind in (UTF_16, BINARY) and len("a".encode(encoding)) > 1 else kind


def _not_text(name: str, encoding: str, error: UnicodeError) -> DataError:
    shown = "UTF-8" if encoding == UTF_8 else encoding
    return DataError(f"{name} cannot be read as {shown} text: {error}; {NAME_ENCODING}")


def _column(text: str) -> int | str:
    """Parse a column: a number, counted from 1 (readers count from 0), or a name."""
    if not text.isdigit():
        return text
    if int(text) == 0:
        raise ConfigurationError("--column counts from 1")
    return int(text) - 1


def _beginning(stream: BinaryIO) -> bytes:
    """Return the first bytes without consuming them."""
    peek = getattr(stream, "peek", None)
    return b"" if peek is None else bytes(peek(512))[:512]


def _bounded(stream: TextIO) -> Iterator[str]:
    """Yield lines without line ends, in bounded memory."""
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise DataError(f"line {number} is longer than {LONGEST_LINE:,} characters; cut it into lines first")
        if number == 1:
            line = line.removeprefix("\ufeff")  # a byte order mark
        yield line.rstrip("\r\n")


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    most = TOGETHER * current().size
    for line in lines:
        chunk.append(line)
        if len(chunk) == most:
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
        raise DataError("standard input is closed; give a text or a file")
    return sys.stdin


def as_they_come(stream: TextIO, encoding: str = UTF_8) -> Iterator[list[str]]:
    """Yield the lines that have arrived, at least one: interactive programs get each answer, files are fast."""
    if isinstance(stream, io.TextIOWrapper):  # not the encoding of the terminal; waits for whole characters
        stream.reconfigure(encoding=encoding, errors="strict")
    most = TOGETHER * current().size
    arrived: queue.Queue[str | BaseException | None] = queue.Queue(most)

    def read() -> None:
        try:
            for line in _bounded(stream):
                arrived.put(line)
            arrived.put(None)
        except BaseException as error:  # raised in the thread that reads the lines
            arrived.put(error)

    threading.Thread(target=read, daemon=True).start()
    more = True
    while more:
        chunk: list[str] = []
        waiting = True
        while more and len(chunk) < most and (waiting or not arrived.empty()):
            line = arrived.get()
            waiting = False
            if isinstance(line, str):
                chunk.append(line)
                continue
            more = False
            if isinstance(line, UnicodeError):
                raise _not_text("standard input", encoding, line)
            if isinstance(line, OSError):
                raise DataError(f"standard input cannot be read: {line.strerror or line}")
            if line is not None:
                raise line
        if chunk:
            yield chunk
