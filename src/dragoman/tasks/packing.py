"""A model in one file: what predicting needs, and none of the texts that its directory keeps.

The file is a ZIP archive without compression, so that nobody's archive can grow when it is read; the same model gives
the same bytes. Left out are the testing part, golden answers, evaluations, history, configuration and checkpoints, and
from model.json the names and the digest of the files it was trained on. Vocabularies stay, and hold words of the texts.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.tasks import model as directory_of
from dragoman.tasks.model import WEIGHTS, ModelMetadata
from dragoman.tasks.task import find_task
from dragoman.training.checkpoints import PARTIAL, explain_write_errors

METADATA = "model.json"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MOST = 64  # files
LARGEST_TEXT = 1 << 28  # bytes of model.json
CHUNK = 1 << 20
DAY = (1980, 1, 1, 0, 0, 0)  # of every entry, so that the same model gives the same bytes


@dataclass(frozen=True)
class Packed:
    """The files of a packed model with their sizes, and the names that were left out."""

    files: dict[str, int]
    left_out: tuple[str, ...]


def pack(directory: Path, out: Path) -> Packed:
    """Write what predicting needs of a model into one file, once it is certain that the model can be loaded."""
    metadata = directory_of.load_metadata(directory)
    directory_of.check_files(metadata, directory)
    if not (directory / WEIGHTS).exists():
        raise FileFormatError(f"{directory} has no weights yet: train it to its first evaluation")
    if out.is_dir():
        raise ConfigurationError(f"{out} is a directory; --out names a file, such as {out / 'model.zip'}")
    bare = metadata.data.model_copy(update={"files": (), "digest": ""})
    metadata = metadata.model_copy(update={"data": bare})
    text = json.dumps(metadata.model_dump(mode="json"), ensure_ascii=False, indent=2).encode()
    names = sorted(_needed(metadata, directory))
    work = out.with_name(f"{PARTIAL}{out.name}")
    with explain_write_errors(out, "the packed model"):
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            with zipfile.ZipFile(work, "w") as archive:
                archive.writestr(_entry(METADATA), text)
                for name in names:
                    with (directory / name).open("rb") as read, archive.open(_entry(name), "w", force_zip64=True) as to:
                        shutil.copyfileobj(read, to, CHUNK)
                sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
            work.replace(out)
        finally:
            work.unlink(missing_ok=True)
    left_out = sorted(path.name for path in directory.iterdir() if path.name not in sizes and path.name[0] != ".")
    return Packed(sizes, tuple(left_out))


def _needed(metadata: ModelMetadata, directory: Path) -> list[str]:
    """The files of a model that `TrainedModel.load` reads, besides model.json."""
    kinds = find_task(metadata.task).schema.encoders
    encoders = [directory_of.encoder_path(directory, field, kind).name for field, kind in kinds.items()]
    return [WEIGHTS, *encoders, *(Path(name).name for name in metadata.files)]


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, DAY)
    entry.create_system, entry.external_attr = 3, 0o644 << 16  # the same on every system
    return entry


def unpack(file: Path, out: Path) -> ModelMetadata:
    """Write the files of a packed model into a new directory, once all of them have been checked."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigurationError(f"{out} exists; choose another --out")
    with explain_write_errors(out, "the model"):
        out.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=out.parent))
        try:
            _extract(file, work)
            metadata = directory_of.load_metadata(work)
            directory_of.check_files(metadata, work)
            work.chmod(0o777 & ~directory_of._umask())
            work.replace(out)
        except FileFormatError as error:
            raise FileFormatError(f"{file} holds no whole model: {str(error).replace(str(work), file.name)}") from None
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return metadata


def _extract(file: Path, place: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _check_entries(entries)
            for entry in entries:
                with archive.open(entry) as read:
                    _copy(read, place / entry.filename)
    except FileNotFoundError:
        raise DataError(f"{file} does not exist; check the path") from None
    except (OSError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise FileFormatError(f"it cannot be read as what `dragoman pack` writes ({error})") from None


def _check_entries(entries: list[zipfile.ZipInfo]) -> None:
    """Refuse what `pack` does not write: other places, compression, more files."""
    names = [entry.filename for entry in entries]
    strange = [name for name in names if not NAME.fullmatch(name)]
    if strange or len(set(names)) != len(names) or len(names) > MOST:
        raise FileFormatError(f"it has entries that `dragoman pack` does not write ({(strange or names)[0]!r:.60})")
    if packed := [entry.filename for entry in entries if entry.compress_type != zipfile.ZIP_STORED]:
        raise FileFormatError(f"{packed[0]} is compressed, which `dragoman pack` does not do")
    if METADATA not in names or any(entry.file_size > LARGEST_TEXT for entry in entries if entry.filename == METADATA):
        raise FileFormatError("it has no model.json")


def _copy(read: IO[bytes], path: Path) -> None:
    with path.open("xb") as to:
        shutil.copyfileobj(read, to, CHUNK)
