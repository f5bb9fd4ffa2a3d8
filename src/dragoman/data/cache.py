"""Prepared datasets, found again by what went into them: a second start with the same files and settings is instant."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.data.dataset import VERSION, Dataset, Encoding, prepare
from dragoman.data.splits import Splitting
from dragoman.data.tokenizer import Tokenizer
from dragoman.errors import DataError

CHUNK = 1 << 20


def cache_directory() -> Path:
    """Where prepared datasets are kept: $XDG_CACHE_HOME/dragoman, by default ~/.cache/dragoman."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dragoman"


def file_digest(path: Path) -> str:
    """sha256 of a file's bytes, read in pieces."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(CHUNK):
                digest.update(piece)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    return digest.hexdigest()


def dataset_key(contents: Sequence[str], *settings: Any) -> str:
    """One name for the contents (their digests, in order) and everything that decides what becomes of them."""
    told = json.dumps([VERSION, list(contents), *settings], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def cached_dataset(
    pairs: Iterable[tuple[str, str]],
    contents: Sequence[str],
    encoding: Encoding | None = None,
    splitting: Splitting | None = None,
    held_out: Collection[str] = (),
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
    directory: Path | None = None,
) -> Dataset:
    """The dataset of these pairs, prepared now or found from before.

    `contents` are digests of what the pairs are read from (`file_digest`), and of how, if that changes them; the pairs
    themselves are not looked at when the dataset is there already.
    """
    encoding, splitting = encoding or Encoding(), splitting or Splitting()
    given = [hashlib.sha256(tokenizer.to_json().encode()).hexdigest() for tokenizer in tokenizers or ()]
    key = dataset_key(contents, asdict(encoding), asdict(splitting), sorted(held_out), given)
    place = (directory or cache_directory() / "datasets") / key
    if (place / "about.json").is_file():
        return Dataset(place)
    return prepare(pairs, place, encoding, splitting, held_out, tokenizers)
