"""Restore missing or damaged files of a model from its other files, for `train`."""

from __future__ import annotations

import gzip
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dragoman.data.cache import file_digest
from dragoman.data.dataset import Dataset
from dragoman.data.schema import Encoders
from dragoman.errors import ConfigurationError, DragomanError, FileFormatError
from dragoman.networks import Network, load_weights
from dragoman.tasks import model as directory_of
from dragoman.tasks.model import COPY, WEIGHTS, ModelMetadata
from dragoman.tasks.task import Task
from dragoman.training.checkpoints import BEST, LATEST, Checkpoints, DamagedError, replace_file

Tell = Callable[[str], None]


def restore_encoders(metadata: ModelMetadata, directory: Path, encoders: Encoders, tell: Tell) -> dict[str, str]:
    """Write those again that cannot be used; the checksums of all files.

    encoders  made from the data, or found with the prepared dataset: the same as when the training began
    """
    for field, encoder in encoders.items():
        path, made = directory_of.encoder_path(directory, field, encoder), encoder.to_json()
        try:
            same = directory_of.load_encoder(metadata, directory, field).to_json() == made
            damage = None
        except DragomanError as error:
            same = metadata.encoders.get(field) in (None, directory_of.encoder_checksums(encoders)[field])
            damage = str(error)
        if not same:
            raise _other_encoder(directory, field, encoder)
        if damage is not None:
            replace_file(path, made)
            tell(f"{damage}; restored from the data")
    return {field: file_digest(directory_of.encoder_path(directory, field, each)) for field, each in encoders.items()}


def restore_files(metadata: ModelMetadata, directory: Path, files: Mapping[str, str], tell: Tell) -> None:
    """Write what the task adds again, where it is missing, damaged or not what the data give now."""
    made = directory_of.text_checksums(files)
    for name, text in files.items():
        path = directory / name
        if path.is_file() and file_digest(path) == made[name]:
            continue
        if name in metadata.files and not (path.is_file() and file_digest(path) == metadata.files[name]):
            tell(f"{path} is {'damaged' if path.exists() else 'missing'}; restored from the data")
        replace_file(path, text)


def check_same_samples(directory: Path, dataset: Dataset, task: Task, name: str) -> None:
    """Refuse other data than a model was trained on where model.json cannot tell: its testing part would differ."""
    kept = list(directory.glob("testing.*.gz"))
    if not kept:  # nothing to compare with; other encoders would still be refused
        return
    with tempfile.TemporaryDirectory() as work:
        task.save_testing(dataset, Path(work))
        for file in kept:
            now = Path(work) / file.name
            if not now.exists() or _content(now) != _content(file):
                raise other_data(directory, name)


def _content(file: Path) -> bytes:
    """What a compressed file holds; what cannot be read is never the same."""
    try:
        return gzip.decompress(file.read_bytes())
    except (OSError, EOFError, zlib.error):
        return b"unreadable"


def other_data(directory: Path, name: str) -> ConfigurationError:
    return ConfigurationError(f"{directory} was trained on other data than {name} holds now; choose another --out")


def _other_encoder(directory: Path, field: str, encoder: Any) -> ConfigurationError:
    return ConfigurationError(
        f"the {field} {encoder.file} made from the data is not the one that {directory} was trained with, so the "
        "training cannot be resumed; use the version of the tokenizers library that it was begun with, or another --out"
    )


def load_best(network: Network, directory: Path, checkpoints: Checkpoints, averaged: bool, tell: Tell) -> None:
    """Load the best weights; where their file is missing or damaged, from the best checkpoint, and write it again."""
    path, which = directory / WEIGHTS, BEST
    try:
        load_weights(network, path)
        return
    except FileFormatError as error:
        damage = str(error) if path.exists() else f"{path} is missing"
    if checkpoints.named(BEST) is None:  # there was no evaluation yet
        which = LATEST
    try:
        found = checkpoints.load(which)
    except DamagedError as error:
        raise FileFormatError(f"{damage}, and the {which} checkpoint cannot be used: {error.reason}; {COPY}") from None
    if found is None:
        raise FileFormatError(f"{damage}, and there is no checkpoint; {COPY}")
    network.theta.assign(found[0]["average" if averaged else "theta"])
    directory_of.save_network(network, directory)
    tell(f"{damage}; restored from the {which} checkpoint, {checkpoints.named(which)}")
