"""Read a file or standard input, compressed or not, line by line in bounded memory."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from dragoman.data.addresses import is_address, open_address
from dragoman.data.extras import require_extra
from dragoman.data.records import ReadErrors
from dragoman.errors import ConfigurationError, DataError

LONGEST_LINE = 1 << 20  # characters; a longer line is not a sentence and must not fill the memory
COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
STANDARD_INPUT = "-"
NO_CHARACTER_SETS = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape")

NAME_ENCODING = "name its encoding, for example --encoding latin-1"

UNDECODABLE = "\udc80"  # replaces undecodable bytes; valid text never decodes to it
codecs.register_error("dragoman.undecodable", lambda error: (UNDECODABLE, cast(UnicodeDecodeError, error).end))


class Line(NamedTuple):
    """One line of a file, counted from 1, without its end; `fault` says why it cannot be used as text.

    A line that is too long keeps only one quote if it has an odd number of them: enough for CSV to know if a field is
    still open.
    """

    number: int
    text: str
    fault: str = ""

    @property
    def advice(self) -> str:
        """What the user can do about the fault, if that is known."""
        return NAME_ENCODING if self.fault.startswith("not ") else ""


@dataclass(frozen=True)
class Source:
    """A file to read: a path, an address such as s3://bucket/pairs.tsv, or '-' for standard input."""

    name: str
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if not self.name or "\0" in self.name:
            raise ConfigurationError(f"{self.name!r} is not a file name; give a path, or - for standard input")
        try:
            "a".encode(self.encoding)  # raises LookupError also for codecs that are not text encodings
            known = codecs.lookup(self.encoding).name.replace("-", "_") not in NO_CHARACTER_SETS
        except (LookupError, ValueError):
            known = False
        if not known:
            raise ConfigurationError(f"unknown encoding '{self.encoding}'; use utf-8, utf-16, latin-1, cp1252 ...")

    @property
    def shown(self) -> str:
        """The name in messages."""
        return "standard input" if self.name == STANDARD_INPUT else self.name

    @property
    def compression(self) -> str:
        suffix = Path(self.name).suffix.lower()
        return suffix if suffix in COMPRESSIONS else ""

    @property
    def extension(self) -> str:
        """The extension without compression, in lower case: 'tsv' for pairs.TSV.gz."""
        suffixes = [suffix.lower() for suffix in Path(self.name).suffixes]
        while suffixes and suffixes[-1] in COMPRESSIONS:
            suffixes.pop()
        return suffixes[-1][1:] if suffixes else ""

    @property
    def is_single_pass(self) -> bool:
        """Whether it can be read only once: standard input and named pipes."""
        try:
            return self.name == STANDARD_INPUT or Path(self.name).is_fifo()
        except OSError:  # opening it will report the error
            return False

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the decompressed bytes. Errors of the file system or the decompressor become a DataError."""
        try:
            if self.name == STANDARD_INPUT:
                yield _standard_input()
                return
            with _opened(self.name) as raw, _decompressed(raw, self.compression, self.name) as stream:
                yield stream
        except FileNotFoundError:
            raise DataError(f"{self.name} does not exist; check the path") from None
        except PermissionError:
            raise DataError(f"{self.shown} cannot be read: permission denied") from None
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            how = f" as {self.compression}; it may be damaged or cut short" if self.compression else ""
            raise DataError(f"{self.shown} cannot be read{how}: {error}") from None

    def lines(self, problems: ReadErrors) -> Iterator[tuple[int, str]]:
        """Yield (line number, text) of the lines that are valid text; add the others to `problems`."""
        for line in self.physical_lines():
            if line.fault:
                problems.add(line.fault, self.shown, line.number, line.text, line.advice)
            else:
                yield line.number, line.text

    def physical_lines(self) -> Iterator[Line]:
        """Yield all lines, valid or not, in bounded memory. An empty file is an error."""
        with self.open() as stream, self._decoded(stream) as text:
            number, line = 1, text.readline(LONGEST_LINE + 1).removeprefix("\ufeff")
            if not line:
                raise DataError(f"{self.shown} is empty; expected at least one line")
            while line:
                if len(line) > LONGEST_LINE:
                    quotes = line.count('"') + _discard_line(line, text)
                    yield Line(number, '"' * (quotes % 2), f"longer than {LONGEST_LINE:,} characters")
                elif UNDECODABLE in line:
                    yield Line(number, _without_end(line).replace(UNDECODABLE, "\ufffd"), f"not {self.encoding}")
                elif "\0" in line:
                    yield Line(number, _without_end(line), "a NUL character")
                else:
                    yield Line(number, _without_end(line))
                number, line = number + 1, text.readline(LONGEST_LINE + 1)

    @contextmanager
    def _decoded(self, stream: BinaryIO) -> Iterator[io.TextIOWrapper]:
        text = io.TextIOWrapper(stream, self.encoding, "dragoman.undecodable", newline="\n")
        try:
            yield text
        except UnicodeError as error:  # a UTF-16 stream without byte order mark, and the like
            raise DataError(f"{self.shown} is not {self.encoding}: {error}") from None
        finally:
            text.detach()


def _without_end(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _discard_line(line: str, text: io.TextIOWrapper) -> int:
    """Skip the rest of a line; return the number of quotes in it."""
    quotes = 0
    while line and not line.endswith("\n"):
        line = text.readline(LONGEST_LINE)
        quotes += line.count('"')
    return quotes


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if is_address(name):
        with open_address(name) as remote:
            yield remote
        return
    if Path(name).is_dir():
        raise DataError(f"{name} is a directory; name the files in it")
    with Path(name).open("rb") as local:
        yield local


def _standard_input() -> BinaryIO:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise DataError("there is no standard input to read; name a file instead of -")
    return cast(BinaryIO, stream)


@contextmanager
def _decompressed(raw: BinaryIO, compression: str, name: str) -> Iterator[BinaryIO]:
    if compression == ".gz":
        with gzip.open(raw) as stream:
            yield cast(BinaryIO, stream)
    elif compression == ".xz":
        with lzma.open(raw) as xz:
            yield cast(BinaryIO, xz)
    elif compression == ".bz2":
        with bz2.open(raw) as bz:
            yield cast(BinaryIO, bz)
    elif compression == ".zst":
        yield io.BufferedReader(_Zstd(raw, name))
    else:
        yield raw


class _Zstd(io.RawIOBase):
    """Decompress Zstandard frames. (The reader of the package does not notice a truncated file.)"""

    def __init__(self, raw: BinaryIO, name: str) -> None:
        self._zstandard = require_extra("zstandard", name, ".zst")
        self._raw, self._compressed, self._pending = raw, b"", memoryview(b"")
        self._frame = self._new_frame()

    def _new_frame(self) -> Any:
        self._inside = False
        return self._zstandard.ZstdDecompressor().decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._pending:
            # few bytes at a time: each may decompress to 32 KiB
            compressed = self._compressed or self._raw.read(256)
            if not compressed:
                if self._inside:
                    raise EOFError("the file ends in the middle of a frame")
                return 0
            self._pending = memoryview(self._decompress(compressed))
        count = min(len(buffer), len(self._pending))
        buffer[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count

    def _decompress(self, compressed: bytes) -> bytes:
        self._inside, self._compressed = True, b""
        try:
            found: bytes = self._frame.decompress(compressed)
        except self._zstandard.ZstdError as error:
            raise OSError(str(error)) from None
        if self._frame.eof:
            self._compressed = self._frame.unused_data
            self._frame = self._new_frame()
        return found
