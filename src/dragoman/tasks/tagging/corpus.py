"""Tagged sentences of some files, read when they are asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.data.cache import cached_dataset, file_digest
from dragoman.data.classes import Classes
from dragoman.data.dataset import Dataset, Samples
from dragoman.data.readers import FORMATS, Layout, Reading, Record, find_format, read_records
from dragoman.data.readers.conll import SEPARATOR
from dragoman.data.readers.layout import zero_based
from dragoman.data.schema import Encoders
from dragoman.data.source import STANDARD_INPUT, Source
from dragoman.data.splits import PARTS, Splitting
from dragoman.data.tagged_words import TaggedWords
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.parts import find_parts, refuse_splitting
from dragoman.tasks.tagging.settings import TaggedData

Sentence = tuple[str, str]  # words and tags, each between tabs
EXTENSIONS = tuple(ending for name in ("conll", "jsonl") for ending in FORMATS[name].extensions)


@dataclass
class FileSentences:
    """The sentences of some files, read each time they are iterated over.

    allowed  the tags that are expected, and `why`; they are filled in while the training part is read, if that comes
             before
    """

    reading: Reading
    part: str = ""
    allowed: Collection[str] | None = None
    seen: set[str] = field(default_factory=set)
    why: str = ""

    def __iter__(self) -> Iterator[Sentence]:
        for record in self.reading:
            words, tags = record.fields
            found = tags.split(SEPARATOR)
            if self.allowed is None:
                self.seen.update(found)
            else:
                self._check(found, record)
            yield words, tags

    def _check(self, tags: list[str], record: Record) -> None:
        for number, tag in enumerate(tags):
            if self.allowed is not None and tag not in self.allowed:
                word = record.fields[0].split(SEPARATOR)[number]
                listed = ", ".join(sorted(self.allowed)[:20])
                place = f"{record.file}, sentence at line {record.line}"
                raise DataError(f"{place}: '{word}' has the tag '{tag}', {self.why} ({listed})")


@dataclass(frozen=True)
class Corpus:
    """The files of a training."""

    settings: TaggedData
    digest: str  # of the contents and of how they are read
    files: Mapping[str, tuple[str, ...]]  # by part; training alone where it is split
    readings: list[Reading] = field(default_factory=list)

    @property
    def name(self) -> str:
        return ", ".join(self.settings.files)

    @property
    def given(self) -> bool:
        return self.settings.split == "given"

    def left_out(self) -> list[str]:
        return [line for reading in self.readings for line in reading.problems.lines()]

    def check_formats(self, saved: TaggedData) -> None:
        """An error when contents that are the same by their digest were read in another format."""
        for now, then in zip(self.settings.files, saved.files, strict=False):
            if Path(now).is_dir():
                continue
            formats = [
                find_format(Source(name), layout_of(s), s.format).name
                for name, s in ((now, self.settings), (then, saved))
            ]
            if formats[0] != formats[1]:
                raise ConfigurationError(
                    f"{then} was read as {formats[1]}, {now} would be read as {formats[0]}; "
                    "give it the extension it had, or choose another --out"
                )

    def dataset(self, seed: int, encoders: Encoders | None = None, room: int | None = None) -> Dataset:
        """The prepared sentences; `room`: pieces that the network has positions for, if they are limited."""
        s = self.settings
        schema = TaggedWords(s.tokenizer, s.vocabulary, s.maximum if room is None else min(s.maximum, room))
        splitting = None if self.given else Splitting(s.shares, "source" if s.split == "source" else "sample", seed)
        return cached_dataset(self._samples(encoders), [self.digest], schema, splitting, (), encoders)

    def _samples(self, encoders: Encoders | None) -> Samples:
        self.readings[:] = [read_sentences(self.settings, names) for names in self.files.values()]
        parts = {name: FileSentences(reading, name) for name, reading in zip(self.files, self.readings, strict=True)}
        if encoders is not None:
            classes: Classes = encoders["tags"]
            for sentences in parts.values():
                sentences.allowed = classes.names
                sentences.why = "which the model to start from does not know; correct it, or train a new model"
        elif self.given:
            for sentences in list(parts.values())[1:]:
                sentences.allowed = parts["training"].seen
                sentences.why = (
                    f"which does not occur in the training part; correct it, or move the sentence from the "
                    f"{sentences.part} part to the training part"
                )
        return parts if self.given else parts["training"]


def open_corpus(settings: TaggedData, given: Mapping[str, Any] | None = None) -> Corpus:
    """The files of the settings, or a folder of parts; `given` are the data settings that the user named."""
    if not settings.files:
        raise ConfigurationError("data.files names no file; give files of tagged words, such as words.conll")
    parts = _given_parts(settings, given or {})
    files = parts or {"training": settings.files}
    for name in [name for names in files.values() for name in names]:
        if name == STANDARD_INPUT:
            raise DataError("a training reads its files more than once, so not standard input; save it to a file")
        if not Path(name).exists():
            raise DataError(f"{name} does not exist; check the path")
        find_format(Source(name), layout_of(settings), settings.format)
    if parts:
        settings = settings.model_copy(update={"split": "given"})
    elif settings.split == "given":
        raise ConfigurationError(
            "data.split = 'given' uses the parts of a folder, or the files of data.validation and data.testing; "
            f"{', '.join(settings.files)} is not a folder"
        )
    digests = [f"{part} {file_digest(Path(name))}" for part, names in files.items() for name in names]
    how = settings.model_dump(mode="json", include={"format", "columns", "encoding", "on_bad_line"})
    digest = hashlib.sha256("\n".join([*digests, json.dumps(how, sort_keys=True)]).encode()).hexdigest()
    return Corpus(settings, digest, files)


def _given_parts(settings: TaggedData, given: Mapping[str, Any]) -> dict[str, tuple[str, ...]] | None:
    """The files by part, where they come that way."""
    folders = [name for name in settings.files if name and Path(name).is_dir()]
    named = {"validation": settings.validation, "testing": settings.testing}
    if folders and (len(settings.files) > 1 or any(named.values())):
        raise ConfigurationError(f"'{folders[0]}' is a folder and is trained on alone; name its files instead")
    if folders:
        refuse_splitting(folders[0], given)
        found = find_parts(folders[0], EXTENSIONS)
        return {name: (str(found[name]),) for name in PARTS if name in found}
    if not any(named.values()):
        return None
    if "shares" in given and given.get("split") != "given":
        raise ConfigurationError("data.validation and data.testing are parts as they are; leave data.shares out")
    return {"training": settings.files, **{name: files for name, files in named.items() if files}}


def layout_of(settings: TaggedData) -> Layout:
    return Layout("tagged", zero_based(settings.columns))


def read_sentences(settings: TaggedData, names: tuple[str, ...] | None = None) -> Reading:
    """The records of some files: the words of each sentence, and its tags."""
    return read_records(
        names or settings.files, layout_of(settings), settings.format, settings.encoding, settings.on_bad_line
    )
