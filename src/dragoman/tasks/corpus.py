"""From the data settings of a configuration to a prepared dataset, found again when nothing changed."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from dragoman.data.builtin import NAMES, BuiltIn, built_in
from dragoman.data.cache import cached_dataset, file_digest
from dragoman.data.dataset import Dataset, Encoding
from dragoman.data.readers import Layout, Reading, read_records
from dragoman.data.readers.aligned import parts as named_files
from dragoman.data.source import STANDARD_INPUT, Source
from dragoman.data.splits import Splitting
from dragoman.data.tokenizer import Tokenizer
from dragoman.data.toys import Task
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.configuration import DataSettings

Pair = tuple[str, str]


@dataclass(frozen=True)
class Corpus:
    """Pairs of sentences, read when they are asked for."""

    settings: DataSettings
    digest: str  # of the contents and of how they are read
    held_out: tuple[str, ...]
    pairs: Iterable[Pair]

    @property
    def name(self) -> str:
        return ", ".join(self.settings.files)

    def left_out(self) -> list[str]:
        """Lines that could not be used, counted by why, when they were read just now."""
        return self.pairs.reading.problems.lines() if isinstance(self.pairs, _Told) else []

    def dataset(self, seed: int, tokenizers: tuple[Tokenizer, Tokenizer] | None = None) -> Dataset:
        s = self.settings
        encoding = Encoding(s.tokenizer, s.vocabulary or (None, None), s.joint, s.maximum or (None, None), s.protect)
        splitting = Splitting(s.shares, s.split, seed)
        return cached_dataset(self.pairs, [self.digest], encoding, splitting, self.held_out, tokenizers)


def open_corpus(settings: DataSettings) -> Corpus:
    """The files of the settings, or a corpus that comes with Dragoman, by its name."""
    if not settings.files:
        raise ConfigurationError("data.files names no file; give files of sentence pairs, or a built-in corpus")
    known = [name for name in settings.files if name in NAMES and not Path(name).exists()]
    if known:
        if len(settings.files) > 1:
            raise ConfigurationError(f"'{known[0]}' is a built-in corpus and is trained on alone")
        found = built_in(known[0])
        if known[0] in get_args(Task):  # its numbers are what is to be learnt
            settings = settings.model_copy(update={"protect": False})
        return Corpus(settings, _digest_of(found), found.held_out, found.pairs)
    for name in settings.files:
        close = difflib.get_close_matches(name, NAMES, 1, 0.7)
        if close and "." not in name and not Path(name).exists():
            raise DataError(f"{name} does not exist; did you mean '{close[0]}', a built-in corpus?")
    reading = _reading(settings)
    files = [file for name in settings.files for file in named_files(Source(name))]
    if any(file.name == STANDARD_INPUT for file in files):
        raise DataError("a training reads its pairs more than once, so not from standard input; save them to a file")
    for file in files:
        if not Path(file.name).exists():
            raise DataError(f"{file.name} does not exist; check the path")
    how = settings.model_dump_json(include={"format", "columns", "header", "languages", "encoding", "on_bad_line"})
    digests = [file_digest(Path(file.name)) for file in files]
    digest = hashlib.sha256("\n".join([*digests, how]).encode()).hexdigest()
    return Corpus(settings, digest, (), _Told(reading))


def _reading(settings: DataSettings) -> Reading:
    layout = Layout("pairs", settings.columns, settings.header, settings.languages)
    return read_records(settings.files, layout, settings.format, settings.encoding, settings.on_bad_line)


def read_pairs(settings: DataSettings) -> list[Pair]:
    """All pairs of some files, as they are."""
    return list(_Told(_reading(settings)))


class _Told:
    """The pairs of a reading."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def __iter__(self) -> Iterator[Pair]:
        for record in self.reading:
            yield record.fields[0], record.fields[1]


def _digest_of(corpus: BuiltIn) -> str:
    digest = hashlib.sha256()
    for pair in corpus.pairs:
        digest.update("\t".join(pair).encode() + b"\n")
    return digest.hexdigest()
