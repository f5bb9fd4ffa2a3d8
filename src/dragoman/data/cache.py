"""Cache prepared datasets by their contents: a second start with the same files and settings is instant."""

from __future__ import annotations

import atexit
import functools
import hashlib
import json
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from dragoman.data.dataset import VERSION, Dataset, Samples, default_schema, described_splitting, prepare
from dragoman.data.schema import Encoders, Schema
from dragoman.data.splits import Splitting
from dragoman.errors import DataError, DragomanWarning

CHUNK = 1 << 20
D = TypeVar("D", bound=Dataset)

logger = logging.getLogger(__name__)


_uncached: ContextVar[Path | None] = ContextVar("uncached", default=None)


@contextmanager
def uncached(wanted: bool = True) -> Iterator[None]:
    """Prepare datasets in a temporary directory, which is removed at the end; the cache is neither read nor written."""
    if not wanted:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="dragoman-private-", ignore_cleanup_errors=True) as place:
        token = _uncached.set(Path(place))
        try:
            yield
        finally:
            _uncached.reset(token)


def cache_directory() -> Path | None:
    """Return the cache directory: $XDG_CACHE_HOME/dragoman, by default ~/.cache/dragoman; None without a home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dragoman"
    except RuntimeError:
        return None


def _datasets() -> Path:
    """Return where to prepare datasets: the cache, or a temporary directory if it cannot be written."""
    cache = cache_directory()
    if cache is None:
        return _temporary("there is no home directory for the cache")
    try:
        (cache / "datasets").mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=cache / "datasets").close()
    except OSError as error:
        return _temporary(f"{cache} cannot be written ({error.strerror or error})")
    return cache / "datasets"


@functools.cache
def _temporary(why: str) -> Path:
    place = Path(tempfile.mkdtemp(prefix="dragoman-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    warnings.warn(
        f"{why}, so the dataset is prepared for this run only; set XDG_CACHE_HOME to a writable directory to keep it",
        DragomanWarning,
        stacklevel=2,
    )
    return place


def file_digest(path: Path) -> str:
    """Compute the SHA-256 of a file in bounded memory."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(CHUNK):
                digest.update(piece)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    return digest.hexdigest()


def dataset_key(contents: Sequence[str], *settings: Any) -> str:
    """Compute the cache key of contents (their digests, in order) and settings."""
    described = json.dumps([VERSION, list(contents), *settings], sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()[:32]


def cached_dataset(
    samples: Samples,
    contents: Sequence[str],
    schema: Schema | None = None,
    splitting: Splitting | None = None,
    held_out: Collection[str] = (),
    encoders: Encoders | None = None,
    directory: Path | None = None,
) -> Dataset:
    """The dataset of these samples, prepared now or found from before.

    `contents` are digests of what the samples are read from (`file_digest`), and of how, if that changes them; the
    samples themselves are not looked at when the dataset is there already.
    """
    schema, how = schema or default_schema(), described_splitting(samples, splitting, held_out)
    given = [hashlib.sha256(encoder.to_json().encode()).hexdigest() for encoder in (encoders or {}).values()]
    settings = asdict(schema)  # type: ignore[call-overload]
    key = dataset_key(contents, schema.name, settings, how, sorted(held_out), given)
    return cached(key, Dataset, lambda place: prepare(samples, place, schema, splitting, held_out, encoders), directory)


def cached(key: str, found: Callable[[Path], D], made: Callable[[Path], D], directory: Path | None = None) -> D:
    """The dataset of a key, found from before or made now."""
    cache, directory = cache_directory(), directory or _uncached.get()
    known = directory or (cache and cache / "datasets")
    if known is not None and (known / key / "about.json").is_file():  # a read-only cache is fine then
        logger.info("using the cached dataset %s", known / key)
        return found(known / key)
    place = (directory or _datasets()) / key
    if (place / "about.json").is_file():
        return found(place)
    dataset = made(place)
    logger.info("prepared the dataset %s", place)
    return dataset
