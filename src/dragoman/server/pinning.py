"""A private copy of the models that are served: all workers load the same, whatever happens to the originals."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from dragoman.errors import ConfigurationError, FileFormatError

PREFIX = "dragoman-models-"
LOCK = "in-use"
SERVED = (".json", ".jsonl", ".safetensors")  # testing samples and checkpoints are not served
DECIDE = (".json", ".safetensors")  # of them, those that decide what is answered
REPORT = Path("evaluation", "report.json")
CHUNK = 2**20  # bytes


@dataclass(frozen=True)
class PinnedModels:
    """Copies of model directories, which only this server writes.

    places   directories of the copies, by the name of the model
    digests  SHA-256 of what decides a model's answers, by its name
    """

    folder: Path
    originals: Mapping[str, Path]
    places: Mapping[str, Path]
    digests: Mapping[str, str]
    lock: BinaryIO

    @classmethod
    def copy(cls, models: Mapping[str, Path]) -> PinnedModels:
        """Copy models as they are on disk now. Errors name the original directories."""
        _remove_abandoned()
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = (folder / f"{LOCK}-soon").open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / f"{LOCK}-soon").rename(folder / LOCK)  # nobody sees it without its lock
            places = {name: folder / str(number) for number, name in enumerate(models)}
            digests = {name: _copy_model(models[name], place) for name, place in places.items()}
        except BaseException:
            _remove(folder, lock)
            raise
        found = cls(folder, dict(models), places, digests, lock)
        weakref.finalize(found, _remove, folder, lock)  # when the server ends, however it does
        return found

    def for_operator(self, text: str) -> str:
        """A message with the directories that the operator knows."""
        return _replaced(text, {place: str(self.originals[name]) for name, place in self.places.items()})

    def for_clients(self, text: str) -> str:
        """A message with names of models in place of directories."""
        return named(self.for_operator(text), self.originals)

    def remove(self) -> None:
        _remove(self.folder, self.lock)


def _remove(folder: Path, lock: BinaryIO) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()


def named(text: str, models: Mapping[str, Path]) -> str:
    """A message with the names of models in place of their directories."""
    return _replaced(text, {place: name for name, place in models.items()})


def _replaced(text: str, by: Mapping[Path, str]) -> str:
    for place in sorted(by, key=lambda place: -len(str(place))):  # one may be inside another
        text = text.replace(str(place), by[place])
    return text


def _copy_model(model: Path, place: Path) -> str:
    """Copy the files of a model that serving needs; their digest."""
    place.mkdir()
    digest = hashlib.sha256()
    for path in _served_files(model):
        copy = place / path.relative_to(model)
        copy.parent.mkdir(exist_ok=True)
        found = _copy_file(path, copy)
        if path.suffix in DECIDE and path.parent == model:
            digest.update(f"{path.name} {found}\n".encode())
    return digest.hexdigest()


def _served_files(model: Path) -> Iterator[Path]:
    try:
        found = sorted(path for path in model.iterdir() if path.suffix in SERVED and path.name[0] != ".")
    except OSError as error:
        raise FileFormatError(f"{model} cannot be read: {error.strerror or error}") from None
    yield from found
    if (model / REPORT).is_file():
        yield model / REPORT


def _copy_file(path: Path, copy: Path) -> str:
    """Copy a regular file; its digest."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as source:  # a pipe would wait for a writer
            if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
                raise FileFormatError(f"{path} is not a regular file; copy the model again, or train it again")
            return _written(iter(partial(source.read, CHUNK), b""), copy)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror or error}") from None


def _written(chunks: Iterator[bytes], copy: Path) -> str:
    digest = hashlib.sha256()
    with copy.open("wb") as target:
        for chunk in chunks:
            digest.update(chunk)
            try:
                target.write(chunk)
                target.flush()
            except OSError as error:
                raise ConfigurationError(
                    f"the models cannot be copied to {copy.parents[1]}, where workers load them: {error.strerror}; "
                    "make room, or name another directory in the environment variable TMPDIR"
                ) from None
    return digest.hexdigest()


def _remove_abandoned() -> None:
    """Remove copies of servers that were killed: nobody holds their lock."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            with (folder / LOCK).open("rb+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # in use, another user's, or just being made
            continue
