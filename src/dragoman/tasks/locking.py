"""One training at a time in a model directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TextIO

from dragoman.errors import ConfigurationError
from dragoman.training.checkpoints import explain_write_errors

LOCK = ".lock"
SIGNED = re.compile(r"pid \d+, since [\d :-]+")


def _refuse_other(out: Path) -> None:
    """Raise an error for a directory that holds something else; a training that was killed at once left its lock."""
    if not out.is_dir():
        raise ConfigurationError(f"{out} is a file; --out names a directory")
    names = sorted(path.name for path in out.iterdir())
    if names and not {LOCK, "configuration.toml"} & {*names}:
        raise ConfigurationError(f"{out} exists and holds no training ({names[0]} ...); choose another --out")


@contextmanager
def _tidied(out: Path, made: bool) -> Iterator[None]:
    """Remove the directory again if the training could not begin."""
    try:
        yield
    finally:
        if made and [path.name for path in out.iterdir()] == [LOCK]:
            (out / LOCK).unlink()
            out.rmdir()


@contextmanager
def locked(out: Path | None) -> Iterator[None]:
    """Lock the directory of a training. The operating system releases the lock when the process ends."""
    if out is None:
        yield
        return
    made = not out.exists()
    if not made:
        _refuse_other(out)
    with explain_write_errors(out, "the model"):
        out.mkdir(parents=True, exist_ok=True)
        handle = (out / LOCK).open("a+", encoding="utf-8")  # not truncated: it says who holds the lock
    with handle, _tidied(out, made):
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows has no such lock
            pass
        except OSError:
            raise ConfigurationError(
                f"another process is training in {out}{_holder(handle)}; wait, or choose another --out"
            ) from None
        with _signed(handle):
            yield


@contextmanager
def _signed(handle: TextIO) -> Iterator[None]:
    """Write into the lock who holds it, and since when."""
    handle.truncate(0)
    handle.write(f"pid {os.getpid()}, since {datetime.now().astimezone():%Y-%m-%d %H:%M:%S}")
    handle.flush()
    try:
        yield
    finally:
        handle.truncate(0)


def _holder(handle: TextIO) -> str:
    handle.seek(0)
    signed = SIGNED.fullmatch(handle.read(100))
    return f" ({signed[0]})" if signed else ""
