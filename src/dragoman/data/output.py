"""Write files atomically, compressed if the name ends in .gz; cells of tables."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from dragoman.errors import DataError


@contextmanager
def write_atomically(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file for writing; it replaces an existing file only when it is complete."""
    if path.is_dir():
        raise DataError(f"{path} could not be written: it is a directory; give a file name")
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        if path.exists() and not path.is_file():  # write to devices and pipes directly
            with opened(path, "wb") as file:
                yield cast(BinaryIO, file)
            return
        place = path.resolve()  # keep symbolic links
        work = place.with_name(f".{path.name}.part")
        try:
            with opened(work, "wb") as file:
                yield cast(BinaryIO, file)
            work.replace(place)
        finally:
            with suppress(OSError):
                work.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error}") from None


@contextmanager
def write_text_atomically(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 text file for writing; it replaces an existing file only when it is complete."""
    with (
        write_atomically(path) as file,
        io.TextIOWrapper(file, "utf-8", errors="backslashreplace", newline="\n") as text,
    ):
        yield text


def cell(text: str) -> str:
    """Replace tabs and line breaks, which a TSV field cannot contain."""
    return re.sub(r"[\t\r\n]+", " ", text)


def one_line(text: str) -> str:
    """Replace line breaks, where each line stands for a text."""
    return re.sub(r"\s*[\r\n]\s*", " ", text)
