"""Files that get their name when they are complete, compressed if it ends in .gz."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from dragoman.errors import DataError


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """A file of bytes; what was there before stays until this one is whole."""
    if path.is_dir():
        raise DataError(f"{path} could not be written: it is a directory; name a file in it")
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        if path.exists() and not path.is_file():  # a device or a pipe is written to, never replaced
            with opened(path, "wb") as file:
                yield cast(BinaryIO, file)
            return
        place = path.resolve()  # a link stays a link
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
def written_text(path: Path) -> Iterator[TextIO]:
    """A file of UTF-8 lines."""
    with (
        written(path) as file,
        io.TextIOWrapper(file, "utf-8", errors="backslashreplace", newline="\n") as text,
    ):
        yield text
