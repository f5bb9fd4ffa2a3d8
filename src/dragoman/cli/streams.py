"""Handle a standard output that is closed, full or no longer read: one line on standard error, no traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.errors import DragomanError

BROKEN_PIPE = (errno.EPIPE, errno.EINVAL)  # EINVAL: on Windows


class OutputError(DragomanError):
    """Standard output that cannot be written to."""


class UnreadOutput(DragomanError):
    """The reader of standard output has stopped, as `head` does: not an error, and nothing to print."""


class CheckedOutput(io.TextIOWrapper):
    """Standard output whose errors can be told from other OSErrors."""

    def write(self, text: str) -> int:
        with self._reported():
            return super().write(text)

    def flush(self) -> None:
        with self._reported():
            super().flush()

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in BROKEN_PIPE:
                raise UnreadOutput from None
            reason = error.strerror or str(error)
            raise OutputError(f"standard output could not be written, so it is incomplete: {reason}") from None


class ClosedOutput(io.TextIOBase):
    """Replaces a closed standard output: printing raises an error instead of being lost."""

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        raise OutputError("standard output is closed; redirect it to a file, or to /dev/null if it is not needed")


def prepare_streams() -> None:
    """Make both streams safe to print any text to."""
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    elif type(sys.stdout) is io.TextIOWrapper:  # a stream that a test or another program replaced
        old = sys.stdout
        how = old.encoding, old.errors, None, old.line_buffering, old.write_through
        sys.stdout = CheckedOutput(old.detach(), *how)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters that a console cannot show become escapes
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Discard buffered output: Python would flush it at exit and print a second error."""
    if isinstance(sys.stdout, CheckedOutput):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
