"""Checkpoints: everything a training needs to go on as if it had never stopped.

    checkpoints/
        step-00001200/   arrays.safetensors (theta, moments, average), state.json
        latest, best     one line: the name of a directory

A directory is complete before its name appears, and the two pointers are replaced by a rename: a kill at any moment
leaves the last good checkpoint where it was.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from dragoman.errors import ConfigurationError, DataError, FileFormatError, NonFiniteError
from dragoman.graph import Array

VERSION = 1
LATEST, BEST = "latest", "best"
PARTIAL = ".partial-"


class Checkpoints:
    """The checkpoints of one training: `latest`, `best`, and the last `keep`."""

    def __init__(self, directory: Path, keep: int = 2) -> None:
        if keep < 1:
            raise ConfigurationError(f"at least one checkpoint is kept, got {keep}")
        self.directory, self.keep = directory, keep

    def prepare(self) -> None:
        """Make the directory; remove what a killed run left half written."""
        with told_failures(self.directory):
            self.directory.mkdir(parents=True, exist_ok=True)
            for left in self.directory.glob(f"{PARTIAL}*"):
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)

    def save(self, step: int, arrays: dict[str, Array], state: dict[str, Any], best: bool) -> Path:
        """Write a checkpoint, name it latest (and best), forget those that are older than the last `keep`."""
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                raise NonFiniteError(
                    f"step {step}: {name} holds values that are not finite, so no checkpoint is written; the last good "
                    f"one is {self.named(LATEST) or 'none'}. Lower the learning rate or clip the gradient"
                )
        place = self.directory / f"step-{step:08d}"
        with told_failures(self.directory):
            work = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=self.directory))
            before = work.with_name(f"{work.name}-before")
            try:
                save_file(arrays, work / "arrays.safetensors", metadata={"version": str(VERSION)})
                (work / "state.json").write_text(json.dumps(state, indent=2), encoding="utf-8")
                for file in work.iterdir():
                    _to_disk(file)
                if place.exists():  # left by a run that was killed before it could say so; `best` may name it
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
        return place

    def _point(self, name: str, target: str) -> None:
        replace_file(self.directory / name, target + "\n")

    def _forget(self) -> None:
        wanted = {self.named(LATEST), self.named(BEST)}
        for old in self.steps()[: -self.keep]:
            if old.name not in wanted:
                shutil.rmtree(old, ignore_errors=True)

    def steps(self) -> list[Path]:
        """All complete checkpoints, oldest first."""
        return sorted(path for path in self.directory.glob("step-*") if path.is_dir())

    def named(self, name: str) -> str | None:
        """What `latest` or `best` names, or None."""
        try:
            found = (self.directory / name).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise FileFormatError(f"{self.directory / name} cannot be read: {error}") from None
        if not found.startswith("step-") or not found[5:].isdigit():  # a name, never a path
            raise FileFormatError(f"{self.directory / name} should name a checkpoint, such as step-00001200")
        return found

    def load(self, name: str = LATEST) -> tuple[dict[str, Array], dict[str, Any]] | None:
        """Arrays and state of the checkpoint named latest or best; None when there is none yet."""
        found = self.named(name)
        return None if found is None else self._read(self.directory / found)

    def _read(self, place: Path) -> tuple[dict[str, Array], dict[str, Any]]:
        try:
            state = json.loads((place / "state.json").read_text(encoding="utf-8"))
            arrays = read_arrays(place / "arrays.safetensors")
            version = state["version"]
        except (OSError, ValueError, KeyError, TypeError, FileFormatError) as error:
            others = [path.name for path in self.steps() if path != place]
            instead = (
                f"delete it and write {others[-1]} into {self.directory / LATEST} to go on from there"
                if others
                else "delete the directory to begin again"
            )
            raise FileFormatError(f"the checkpoint {place} is damaged ({error}); {instead}") from None
        if version != VERSION:
            raise FileFormatError(f"the checkpoint {place} has version {version}, this program reads {VERSION}")
        return arrays, state


def read_arrays(path: Path, names: Sequence[str] | None = None) -> dict[str, Array]:
    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in names or file.keys()}
    except (SafetensorError, OSError, TypeError) as error:
        raise FileFormatError(f"{path} cannot be read as safetensors: {error}") from None


def average(checkpoints: Sequence[Path], name: str = "theta") -> Array:
    """The mean of one vector over several checkpoints."""
    if not checkpoints:
        raise ConfigurationError("there are no checkpoints to average")
    total = np.zeros(0)
    for place in checkpoints:
        vector = read_arrays(place / "arrays.safetensors", [name])[name]
        total = vector.astype(np.float64) if not total.size else total + vector
    mean: Array = (total / len(checkpoints)).astype(vector.dtype)
    return mean


def replace_file(path: Path, text: str) -> None:
    """Write a small file whole or not at all."""
    work = path.with_name(f"{PARTIAL}{path.name}")
    try:
        work.write_text(text, encoding="utf-8")
        _to_disk(work)
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    """A rename may reach the disk before the bytes it names: have them written first."""
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def told_failures(place: Path) -> Iterator[None]:
    """A full disk or a missing permission, told with what is still good."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise DataError(
            f"{place}: a checkpoint could not be written ({error}); what was saved before is intact. "
            "Make room, then give the same command again"
        ) from None
