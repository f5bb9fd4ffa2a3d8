"""Captioned images of a folder, or the built-in corpus of scenes, read when they are asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dragoman.data import scenes
from dragoman.data.cache import cached_dataset, file_digest
from dragoman.data.captioned_images import CaptionedImages
from dragoman.data.captions import CaptionTable, find_table, without_caption
from dragoman.data.dataset import Dataset
from dragoman.data.images import Picture, Shape, read_picture
from dragoman.data.images.picture import COLOUR
from dragoman.data.schema import Encoders
from dragoman.data.splits import PARTS, Splitting
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.captioning.settings import CaptionData
from dragoman.tasks.parts import find_parts, refuse_splitting

SCENES = "scenes"
VERSION = 1  # of the drawn scenes
TESTED = 1000  # scenes at most to validate on, to test on, and with pairs that are held out
Sample = tuple[Picture, str]


@dataclass
class FolderImages:
    """The images of a table with their captions, decoded each time they are iterated over."""

    table: CaptionTable
    settings: CaptionData

    def __iter__(self) -> Iterator[Sample]:
        channels: int | None = self.settings.channels
        last: tuple[Path, Picture] | None = None
        for line in self.table:
            try:
                if last is None or last[0] != line.image:
                    last = line.image, read_picture(line.image, channels, self.settings.resize)
            except DataError as error:
                problems = self.table.reading.problems
                problems.add("an image that cannot be read", line.file, line.number, line.name, str(error))
                continue
            if channels is None and last[1].shape.channels == COLOUR:
                channels = COLOUR  # nothing of a grey one is lost
            yield last[1], line.caption

    def shape(self) -> Shape:
        """That of the first image: all others must have it."""
        for picture, _ in self:
            return picture.shape
        raise DataError(f"{self.table.table} names no image that can be read")

    def digests(self) -> list[str]:
        """Of the table and of the images it names."""
        images = dict.fromkeys(line.image for line in self.table)
        return [file_digest(self.table.table), *(file_digest(image) for image in images)]

    def left_out(self) -> list[str]:
        unnamed = self.table.images_without_caption()
        return [*self.table.reading.problems.lines(), *([without_caption(unnamed)] if unnamed else [])]


@dataclass(frozen=True)
class Corpus:
    """The samples of a training, by part or to be split."""

    settings: CaptionData
    digest: str  # of the contents and of how they are read
    shape: Shape
    samples: Iterable[Sample] | Mapping[str, Iterable[Sample]]
    folders: tuple[FolderImages, ...] = ()

    @property
    def name(self) -> str:
        return ", ".join(self.settings.files)

    def left_out(self) -> list[str]:
        """What was not used, in sentences."""
        return [line for folder in self.folders for line in folder.left_out()]

    def tested(self) -> Iterator[Sample]:
        """The samples to evaluate a model on: the testing part if there are parts, else all."""
        if isinstance(self.samples, Mapping):
            yield from self.samples.get("testing", self.samples["training"])
        else:
            yield from self.samples

    def check_formats(self, saved: CaptionData) -> None:
        """Tables have one format."""

    def dataset(self, seed: int, encoders: Encoders | None = None) -> Dataset:
        """The prepared samples."""
        s = self.settings
        schema = CaptionedImages(*self.shape, s.tokenizer, s.vocabulary, s.maximum)
        splitting = None if s.split == "given" else Splitting(s.shares, "source", seed)
        return cached_dataset(self.samples, [self.digest], schema, splitting, (), encoders)


def open_corpus(settings: CaptionData, given: Mapping[str, Any] | None = None) -> Corpus:
    """A folder of images with captions, its table, or the built-in corpus; `given` are the settings the user named."""
    if len(settings.files) != 1:
        raise ConfigurationError("captions are read from one folder, or are the built-in corpus `scenes`; name one")
    name = settings.files[0]
    path = Path(name)
    if name == SCENES and not path.exists():
        return _open_scenes(settings, given or {})
    if (given or {}).get("scenes") is not None:
        raise ConfigurationError("data.scenes is the size of the built-in corpus `scenes`; leave it out")
    if not path.exists():
        raise DataError(f"{name} does not exist; expected a folder with captions.tsv, or the built-in corpus `scenes`")
    parts = _part_tables(path) if path.is_dir() else {}
    if parts:
        refuse_splitting(name, given or {})
        settings = settings.model_copy(update={"split": "given"})
    elif settings.split == "given":
        raise ConfigurationError(f"data.split = 'given' uses training.tsv and others of a folder; {name} has none")
    else:
        parts = {"training": find_table(path) if path.is_dir() else path}
    folders = {part: open_table(table, settings) for part, table in parts.items()}
    how = settings.model_dump(mode="json", include={"encoding", "on_bad_line", "channels", "resize"})
    digests = [f"{part} {digest}" for part, folder in folders.items() for digest in folder.digests()]
    digest = hashlib.sha256("\n".join([*digests, json.dumps(how, sort_keys=True)]).encode()).hexdigest()
    samples: Any = folders if settings.split == "given" else folders["training"]
    return Corpus(settings, digest, folders["training"].shape(), samples, tuple(folders.values()))


def open_table(table: Path, settings: CaptionData) -> FolderImages:
    return FolderImages(CaptionTable(table, settings.encoding, settings.on_bad_line), settings)


def _part_tables(folder: Path) -> dict[str, Path]:
    """training.tsv, validation.tsv and testing.tsv, where the parts are given."""
    if (folder / "captions.tsv").is_file():
        return {}
    try:
        found = find_parts(str(folder), ("tsv",))
    except DataError:
        return {}
    return {part: found[part] for part in PARTS if part in found} if len(found) > 1 else {}


# The built-in corpus


def _open_scenes(settings: CaptionData, given: Mapping[str, Any]) -> Corpus:
    refused = [name for name in ("shares", "resize", "channels") if given.get(name) is not None]
    if refused and given.get("split") != "given":
        raise ConfigurationError(f"`scenes` come in parts, with one size; leave data.{refused[0]} out")
    settings = settings.model_copy(update={"split": "given"})
    digest = hashlib.sha256(f"scenes {VERSION} {settings.scenes}".encode()).hexdigest()
    parts = {part: SceneImages(settings.scenes, part) for part in PARTS}
    return Corpus(settings, digest, Shape(scenes.SIZE, scenes.SIZE, COLOUR), parts)


@dataclass(frozen=True)
class SceneImages:
    """Drawn scenes of a part. Those to test on end with scenes whose pairs of colour and shape are held out."""

    count: int
    part: str

    def __iter__(self) -> Iterator[Sample]:
        for i, scene in enumerate(_scenes_of(self.count)[self.part]):
            yield Picture(f"{self.part} scene {i + 1}", scenes.draw(scene)), scene.caption


@cache
def _scenes_of(count: int) -> dict[str, list[scenes.Scene]]:
    others = max(10, min(TESTED, count // 20))
    drawn = scenes.training_scenes(count + 2 * others)
    testing = drawn[count + others :] + scenes.held_out_scenes(others)
    return {"training": drawn[:count], "validation": drawn[count : count + others], "testing": testing}
