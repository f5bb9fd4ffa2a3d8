"""Restore missing or damaged files of a model from its other files, for `train`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dragoman.data.cache import file_digest
from dragoman.data.dataset import Dataset
from dragoman.data.splits import collapsed
from dragoman.data.tokenizer import Tokenizer
from dragoman.errors import ConfigurationError, DragomanError, FileFormatError
from dragoman.networks import SequenceModel, load_weights
from dragoman.tasks import model as directory_of
from dragoman.tasks.model import COPY, SIDES, WEIGHTS, ModelMetadata, Side
from dragoman.training.checkpoints import BEST, LATEST, Checkpoints, DamagedError, replace_file

Tell = Callable[[str], None]


def restore_tokenizers(
    metadata: ModelMetadata, directory: Path, tokenizers: tuple[Tokenizer, Tokenizer], tell: Tell
) -> dict[str, str]:
    """Rewrite tokenizers that are missing or damaged; return the checksums of all.

    tokenizers  made from the data, or found with the prepared dataset: the same as when the training began
    """
    for side, tokenizer in zip(SIDES, tokenizers, strict=True):
        path, made = directory_of.tokenizer_path(directory, side), tokenizer.to_json()
        try:
            same = directory_of.load_tokenizer(metadata, directory, side).to_json() == made
            damage = None
        except DragomanError as error:
            same = metadata.tokenizers.get(side) in (None, directory_of.tokenizer_checksums(tokenizers)[side])
            damage = str(error)
        if not same:
            raise _other_tokenizer(directory, side)
        if damage is not None:
            replace_file(path, made)
            tell(f"{damage}; restored from the data")
    return {side: file_digest(directory_of.tokenizer_path(directory, side)) for side in SIDES}


def check_same_pairs(directory: Path, dataset: Dataset, name: str) -> None:
    """Raise an error if the data differ from those of the model, by comparing testing pairs."""
    try:
        kept = directory_of.load_testing(directory)
    except FileFormatError:  # nothing to compare with; the tokenizers are still compared
        return
    part = dataset.part("testing")
    texts = ([collapsed(text) for text in part.texts(side)] for side in ("source", "reference"))
    if kept != list(zip(*texts, strict=True)):
        raise other_data(directory, name)


def other_data(directory: Path, name: str) -> ConfigurationError:
    return ConfigurationError(f"{directory} was trained on other data than {name} holds now; choose another --out")


def _other_tokenizer(directory: Path, side: Side) -> ConfigurationError:
    return ConfigurationError(
        f"the {side} tokenizer made from the data is not the one that {directory} was trained with, so the training "
        "cannot be resumed; use the version of the tokenizers library that it was begun with, or another --out"
    )


def load_best(network: SequenceModel, directory: Path, checkpoints: Checkpoints, averaged: bool, tell: Tell) -> None:
    """Load the best weights; if their file is missing or damaged, restore it from the best checkpoint."""
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
