"""Checkpoints: everything a training needs to resume as if it had never stopped.

    checkpoints/
        step-00001200/   arrays.safetensors (theta, moments, average), state.json
        latest, best     one line: the name of a directory

A directory is complete before its name appears, and the two pointers are replaced by a rename: a kill at any moment
leaves the last good checkpoint where it was.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from safetensors import SafetensorError

from dragoman.errors import ConfigurationError, DataError, FileFormatError, NonFiniteError
from dragoman.graph import Array
from dragoman.networks.tensors import CHECKSUM, read_tensors, write_tensors

VERSION = 1
LATEST, BEST = "latest", "best"
PARTIAL = ".partial-"
DAMAGED = "damaged-"

Saved: TypeAlias = tuple[dict[str, Array], dict[str, Any]]  # arrays and state

logger = logging.getLogger(__name__)


class DamagedError(FileFormatError):
    """A damaged checkpoint; `reason` is the message without advice."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"{reason}; {advice}")
        self.reason = reason


class Checkpoints:
    """The checkpoints of one training: `latest`, `best`, and the last `keep`."""

    def __init__(self, directory: Path, keep: int = 2) -> None:
        if keep < 1:
            raise ConfigurationError(f"at least one checkpoint must be kept, got {keep}")
        self.directory, self.keep = directory, keep

    def prepare(self) -> None:
        """Make the directory; remove partial files of a killed run."""
        with explain_write_errors(self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
            for left in self.directory.glob(f"{PARTIAL}*"):
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)

    def save(self, step: int, arrays: dict[str, Array], state: dict[str, Any], best: bool) -> Path:
        """Write a checkpoint, make it latest (and best), and delete those older than the last `keep`."""
        check_finite(step, arrays, self.named(LATEST))
        place = self.directory / f"step-{step:08d}"
        with explain_write_errors(self.directory):
            work = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=self.directory))
            before = work.with_name(f"{work.name}-before")
            try:
                write_tensors(arrays, work / "arrays.safetensors", {"version": str(VERSION)})
                checked = {**state, CHECKSUM: state_checksum(state)}
                (work / "state.json").write_text(json.dumps(checked, indent=2), encoding="utf-8")
                for file in work.iterdir():
                    _to_disk(file)
                if place.exists():  # left by a killed run; `best` may name it
                    place.rename(before)
                work.rename(place)
            finally:
                if before.exists() and not place.exists():
                    before.rename(place)
                for left in (work, before):
                    shutil.rmtree(left, ignore_errors=True)
            _to_disk(self.directory)
            if best:
                self._point(BEST, place.name)
            self._point(LATEST, place.name)
            self._forget()
        logger.info("wrote checkpoint %s%s", place, " (the best so far)" if best else "")
        return place

    def _point(self, name: str, target: str) -> None:
        replace_file(self.directory / name, target + "\n")

    def _forget(self) -> None:
        wanted = {self.named(LATEST), self.named(BEST)}
        for old in self.steps()[: -self.keep]:
            if old.name not in wanted:
                shutil.rmtree(old, ignore_errors=True)

    def steps(self) -> list[Path]:
        """List all complete checkpoints, oldest first."""
        return sorted(path for path in self.directory.glob("step-*") if path.is_dir())

    def named(self, name: str) -> str | None:
        """Return the directory that `latest` or `best` names, or None."""
        try:
            found = (self.directory / name).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{self.directory / name} cannot be read: {error}") from None
        if not found.startswith("step-") or not found[5:].isdigit():  # a name, not a path
            raise FileFormatError(
                f"{self.directory / name} should name a checkpoint, such as step-00001200; write the name of one of "
                f"the directories beside it into it, or delete {self.directory} to start over"
            )
        return found

    def load(self, name: str = LATEST) -> Saved | None:
        """Load arrays and state of the latest or best checkpoint; None if there is none yet."""
        found = self.named(name)
        return None if found is None else self._read(self.directory / found)

    def load_intact(
        self, tell: Callable[[str], None], check: Callable[[dict[str, Any]], None] = lambda state: None
    ) -> Saved | None:
        """Load the latest checkpoint; if it is damaged, the newest intact one, which becomes the latest.

        tell   is called with what is damaged and what is used instead
        check  raises a FileFormatError for a state that has a wrong value, which is damage too
        """
        latest = self.named(LATEST)
        if latest is None:
            return None
        try:
            return self._read(self.directory / latest, check)
        except DamagedError as error:
            damaged = self.directory / latest
            for place in reversed(self.steps()):
                if place != damaged and (found := self._intact(place, check)) is not None:
                    self._go_back(damaged, place, error, tell)
                    return found
            raise FileFormatError(f"{error.reason}, and no other is intact; {self._begin_again()}") from None

    def _intact(self, place: Path, check: Callable[[dict[str, Any]], None]) -> Saved | None:
        try:
            return self._read(place, check)
        except FileFormatError:
            return None

    def _go_back(self, damaged: Path, place: Path, error: DamagedError, tell: Callable[[str], None]) -> None:
        kept, aside = "", damaged.with_name(DAMAGED + damaged.name)
        with explain_write_errors(self.directory):
            if damaged.exists():  # renamed, so that it is not read again
                shutil.rmtree(aside, ignore_errors=True)
                damaged.rename(aside)
                kept = f"; the damaged one is now {aside.name} and can be deleted"
            self._point(LATEST, place.name)
        tell(f"{error.reason}; resuming from {place.name} instead{kept}")

    def _read(self, place: Path, check: Callable[[dict[str, Any]], None] = lambda state: None) -> Saved:
        try:
            state = _read_state(place / "state.json")
            arrays, _ = read_tensors(place / "arrays.safetensors")
            version = state["version"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError, FileFormatError) as error:
            raise DamagedError(f"the checkpoint {place} is damaged ({error})", self.advice(place.name)) from None
        if version != VERSION:
            raise FileFormatError(f"the checkpoint {place} has version {version}, this program reads {VERSION}")
        try:
            check(state)
        except FileFormatError as error:
            reason = f"the checkpoint {place} is damaged (state.json: {error})"
            raise DamagedError(reason, self.advice(place.name)) from None
        return arrays, state

    def advice(self, name: str) -> str:
        """Return advice about a checkpoint that cannot be used."""
        others = [path.name for path in self.steps() if path.name != name]
        if others:
            return f"delete it and write {others[-1]} into {self.directory / LATEST} to resume from there"
        return self._begin_again()

    def _begin_again(self) -> str:
        return f"delete the directory {self.directory} to start over"


def state_checksum(state: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _read_state(path: Path) -> dict[str, Any]:
    """Read the state; verify its checksum if there is one."""
    state = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(state, dict):
        raise FileFormatError(f"{path.name} holds {type(state).__name__}, expected an object")
    expected = state.pop(CHECKSUM, None)  # earlier versions wrote no checksum
    if expected is not None and expected != state_checksum(state):
        raise FileFormatError(f"{path.name} does not match its checksum")
    return state


def check_finite(step: int, arrays: Mapping[str, Array], latest: str | None) -> None:
    """Raise an error instead of saving NaN or infinity; `latest` names the last good checkpoint."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            good = f"; the last good checkpoint is {latest}" if latest else ""
            raise NonFiniteError(
                f"step {step}: {name} holds values that are not finite, so nothing is written{good}. "
                "Lower the learning rate or clip the gradient"
            )


def average(checkpoints: Sequence[Path], name: str = "theta") -> Array:
    """Average one vector over several checkpoints."""
    if not checkpoints:
        raise ConfigurationError("there are no checkpoints to average")
    total = np.zeros(0)
    for place in checkpoints:
        arrays, _ = read_tensors(path := place / "arrays.safetensors")
        if name not in arrays:
            raise FileFormatError(f"{path} has no array {name}; it has {', '.join(sorted(arrays))}")
        vector = arrays[name]
        total = vector.astype(np.float64) if not total.size else total + vector
    mean: Array = (total / len(checkpoints)).astype(vector.dtype)
    return mean


def replace_file(path: Path, text: str) -> None:
    """Write a small file atomically."""
    work = path.with_name(f"{PARTIAL}{path.name}")
    try:
        work.write_text(text, encoding="utf-8")
        _to_disk(work)
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    """Flush a file to disk: otherwise a rename may reach the disk before the contents."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def explain_write_errors(place: Path, what: str = "a checkpoint") -> Iterator[None]:
    """Turn write errors into a DataError with advice."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise DataError(
            f"{place}: {what} could not be written ({error}); what was saved before is intact. {write_advice(error)}"
        ) from None


def write_advice(error: OSError | SafetensorError) -> str:
    """Return advice about a write error."""
    number = error.errno if isinstance(error, OSError) else _error_number(str(error))
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "Make room, then run the same command again"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Choose a directory that may be written to"
    return "Fix that, then run the same command again"


def _error_number(message: str) -> int | None:
    """Extract the error number of the operating system from a safetensors message."""
    found = re.search(r"os error (\d+)", message)
    return None if found is None else int(found[1])
