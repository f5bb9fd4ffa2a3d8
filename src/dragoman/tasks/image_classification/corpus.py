"""From folders, tables, IDX and npz files to a prepared dataset of images with classes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dragoman.data.cache import cached_dataset, file_digest
from dragoman.data.dataset import Dataset
from dragoman.data.images import LabelledImages, Picture, Shape
from dragoman.data.images.sources import Pictures, Reading, Sample, find_pictures
from dragoman.data.schema import Encoders
from dragoman.data.splits import Splitting, group_numbers
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.image_classification.settings import ImageData
from dragoman.tasks.parts import refuse_splitting


@dataclass(frozen=True)
class Held:
    """The share of some pictures that is held out to validate on, or the others; equal ones stay together."""

    pictures: Pictures
    share: float
    seed: int
    validation: bool

    def __iter__(self) -> Iterator[Sample]:
        for picture, label in self.pictures:
            if (self._number(picture) < self.share) == self.validation:
                yield picture, label

    def _number(self, picture: Picture) -> float:
        key = hashlib.blake2b(picture.pixels.tobytes(), digest_size=16).hexdigest()
        return float(group_numbers([key], Splitting(seed=self.seed), ())[0])


@dataclass(frozen=True)
class Corpus:
    """Images with classes, decoded when they are asked for.

    pictures  to be split, or by part
    """

    settings: ImageData
    digest: str  # of the contents and of how they are read
    pictures: Any

    @property
    def name(self) -> str:
        return ", ".join(self.settings.files)

    @property
    def parts(self) -> dict[str, Pictures]:
        found: dict[str, Pictures] = (
            dict(self.pictures) if isinstance(self.pictures, Mapping) else {"training": self.pictures}
        )
        return found

    def left_out(self) -> list[str]:
        return [line for pictures in self.parts.values() for line in pictures.left_out()]

    def check_formats(self, saved: ImageData) -> None:
        """The digest covers formats."""

    def dataset(self, seed: int, encoders: Encoders | None = None) -> Dataset:
        """The prepared images; those of a model that is fine-tuned have its shape."""
        shape: Shape = self.parts["training"].shape() if encoders is None else encoders["image"].shape
        schema = LabelledImages(*shape, given=self.settings.split == "given")
        samples, contents = self._samples(seed)
        splitting = None if schema.given else self._splitting(seed)
        return cached_dataset(samples, contents, schema, splitting, (), encoders)

    def _splitting(self, seed: int) -> Splitting:
        return Splitting(self.settings.shares, "sample" if self.settings.split == "sample" else "source", seed)

    def _samples(self, seed: int) -> tuple[Any, list[str]]:
        """The samples, and what they are made from. Parts without one to validate on leave a share of the first."""
        if self.settings.split != "given":
            return self.pictures, [self.digest]
        parts: dict[str, Any] = {**self.parts}
        training, validation, _ = self.settings.shares
        if "validation" in parts or not validation:
            return parts, [self.digest]
        share = validation / (training + validation)
        held = {name: Held(parts["training"], share, seed, name == "validation") for name in ("training", "validation")}
        return {**parts, **held}, [self.digest, f"held out {share} by {seed}"]


def open_corpus(settings: ImageData, given: Mapping[str, Any] | None = None) -> Corpus:
    """The pictures that the settings name; `given` are the data settings that the user named."""
    if not settings.files:
        raise ConfigurationError(
            "data.files names no file; give a folder with a sub-folder for each class, a table of files and labels, "
            "an .npz archive or IDX files"
        )
    found = find_pictures(settings.files)
    parts = found if isinstance(found, dict) else {"training": found}
    reading = reading_of(settings)
    for pictures in parts.values():
        pictures.reading = reading
    if isinstance(found, dict):
        shares = {name: value for name, value in (given or {}).items() if name != "shares"}
        refuse_splitting(settings.files[0], shares)
        settings = settings.model_copy(update={"split": "given"})
    elif settings.split == "given":
        raise ConfigurationError(
            f"data.split = 'given' needs parts, such as the folders train and test in {settings.files[0]}"
        )
    if settings.channels is None:
        shape = parts["training"].shape()  # of the first picture: all are read as it is
        for pictures in parts.values():
            pictures.reading = replace(reading, channels=3 if shape.channels == 3 else None)
    return Corpus(settings, _digest(parts, settings), found)


def reading_of(settings: ImageData, channels: int | None = None) -> Reading:
    return Reading(settings.channels or channels, settings.resize, settings.on_bad_line == "skip")


def _digest(parts: Mapping[str, Pictures], settings: ImageData) -> str:
    digest = hashlib.sha256()
    for part, pictures in parts.items():
        for name, path in pictures.files:
            digest.update(f"{part} {name} {file_digest(path)}\n".encode(errors="surrogateescape"))
    digest.update(repr((settings.channels, settings.resize, settings.on_bad_line)).encode())
    return digest.hexdigest()


def read_samples(settings: ImageData, shape: Shape, resize: bool) -> tuple[list[Sample], list[str]]:
    """All pictures of a file or folder in a model's shape, of parts those to test on; and what was left out."""
    found = find_pictures(settings.files)
    pictures = found.get("testing", found["training"]) if isinstance(found, dict) else found
    reading = reading_of(settings, shape.channels)
    pictures.reading = replace(reading, resize=shape[:2] if resize else None)
    samples = list(pictures)
    if not samples:
        raise DataError(f"{', '.join(settings.files)} holds no image that can be read")
    return samples, pictures.left_out()
