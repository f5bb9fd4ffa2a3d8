"""Open the corpus of a configuration and prepare its dataset, cached."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from dragoman.data.addresses import is_address
from dragoman.data.builtin import NAMES, BuiltIn, built_in
from dragoman.data.cache import cached_dataset, file_digest
from dragoman.data.dataset import Dataset
from dragoman.data.pair_encoding import SIDES, Encoding, Pairs
from dragoman.data.readers import Layout, Reading, find_format, read_records
from dragoman.data.readers.aligned import parts as named_files
from dragoman.data.readers.layout import zero_based
from dragoman.data.source import STANDARD_INPUT, Source
from dragoman.data.splits import Splitting
from dragoman.data.tokenizer import Tokenizer
from dragoman.data.toys import Task
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.parts import files_of, is_folder, is_prepared, refuse_splitting
from dragoman.tasks.translation.settings import PairData
from dragoman.text.language_codes import Languages, common_languages, language_codes

Pair = tuple[str, str]
CHOOSING = ("tmx", "xliff")  # formats that read the pairs of the languages that are given; JSON Lines of suggestions do


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs, read lazily.

    digest     of the contents and of how they are read
    languages  the codes of source and target, if the settings or the files tell
    """

    settings: PairData
    digest: str
    held_out: tuple[str, ...]
    pairs: Pairs
    languages: Languages | None = None

    @property
    def name(self) -> str:
        return ", ".join(self.settings.files)

    def left_out(self) -> list[str]:
        """Report the lines that were skipped, if the files were read now."""
        readings = self.pairs.values() if isinstance(self.pairs, Mapping) else [self.pairs]
        return [line for pairs in readings if isinstance(pairs, FilePairs) for line in pairs.reading.problems.lines()]

    def check_formats(self, saved: PairData) -> None:
        """An error when contents that are the same by their digest were read in another format."""
        if not isinstance(self.pairs, FilePairs):
            return
        for now, then in zip(self.settings.files, saved.files, strict=False):
            format_now, format_then = _format_of(now, self.settings), _format_of(then, saved)
            if format_now != format_then:
                raise ConfigurationError(
                    f"{then} was read as {format_then}, {now} would be read as {format_now}; "
                    "give it the extension it had, or choose another --out"
                )

    def dataset(
        self, seed: int, tokenizers: tuple[Tokenizer, Tokenizer] | None = None, room: int | None = None
    ) -> Dataset:
        """Prepare the dataset; `room`: number of positions of the network, if it is limited.

        Pairs of which none is kept apart are taught as they are, without stand-ins for their words.
        """
        s, none = self.settings, (None, None)
        augment = s.shares[0] < 1
        encoding = Encoding(
            s.tokenizer, s.vocabulary or none, s.joint, s.maximum or none, s.protect, room, augment=augment
        )
        splitting = None if s.split == "given" else Splitting(s.shares, s.split, seed)
        encoders = None if tokenizers is None else dict(zip(SIDES, tokenizers, strict=True))
        return cached_dataset(self.pairs, [self.digest], encoding, splitting, self.held_out, encoders)


def open_corpus(settings: PairData, given: Mapping[str, Any] | None = None) -> Corpus:
    """The files of the settings, a folder of parts or of prepared pairs, or a corpus of Dragoman's own, by its name.

    given  the data settings that the user gave, without those of the recipe
    """
    if not settings.files:
        raise ConfigurationError("data.files names no file; give files of sentence pairs, or a built-in corpus")
    if is_folder(settings):
        if is_prepared(settings.files[0]):
            from dragoman.tasks.translation.prepared import open_prepared

            return open_prepared(settings, given or {})
        refuse_splitting(settings.files[0], given or {})
        return _open_folder(settings.model_copy(update={"split": "given"}))
    built_ins = [name for name in settings.files if name in NAMES and not Path(name).exists()]
    if built_ins:
        if len(settings.files) > 1:
            raise ConfigurationError(f"'{built_ins[0]}' is a built-in corpus and must be the only one")
        found = built_in(built_ins[0])
        if built_ins[0] in get_args(Task):  # its numbers are what is to be learned
            settings = settings.model_copy(update={"protect": False})
        return Corpus(settings, _digest_of(found), found.held_out, found.pairs, settings.languages or found.languages)
    for name in settings.files:
        close = difflib.get_close_matches(name, NAMES, 1, 0.7)
        if close and "." not in name and not Path(name).exists():
            raise DataError(f"{name} does not exist; did you mean '{close[0]}', a built-in corpus?")
    reading = _reading(settings)
    files = [file for name in settings.files for file in named_files(Source(name))]
    if any(file.name == STANDARD_INPUT for file in files):
        raise DataError(
            "training reads the pairs more than once, so they cannot come from standard input; save them to a file"
        )
    for file in files:
        if is_address(file.name):
            raise DataError(f"{file.name} is read once: dragoman data prepare {file.name} --out pairs; train on pairs")
        if not Path(file.name).exists():
            raise DataError(f"{file.name} does not exist; check the path")
    digest = _digest([file_digest(Path(file.name)) for file in files], settings, settings.files)
    return Corpus(settings, digest, (), FilePairs(reading), settings.languages or _languages_of(settings))


def _open_folder(settings: PairData) -> Corpus:
    """A folder that `dragoman data split` wrote, its parts as they are."""
    files = files_of(settings.files[0])
    digests = [f"{name} {file_digest(path)}" for name, path in files.items()]
    pairs = {name: FilePairs(_reading(settings, str(path))) for name, path in files.items()}
    digest = _digest(digests, settings, [str(path) for path in files.values()])
    return Corpus(settings, digest, (), pairs, settings.languages)


def _languages_of(settings: PairData) -> Languages | None:
    """The languages that the files name, if all name the same."""
    return common_languages([_named_languages(name, settings) for name in settings.files])


def _named_languages(name: str, settings: PairData) -> Languages | None:
    source = Source(name, settings.encoding)
    named = find_format(source, _layout(settings), settings.format).languages
    return None if named is None else language_codes(named(source))


def _digest(contents: list[str], settings: PairData, names: Sequence[str]) -> str:
    """One digest for what is read, and for how it is read: languages count where they choose what is read."""
    counted_from_0 = settings.model_copy(update={"columns": zero_based(settings.columns)})
    dumped = counted_from_0.model_dump(mode="json")
    if not any(_reads_by_language(name, settings) for name in names):
        dumped["languages"] = None
    order = ("format", "columns", "header", "languages", "encoding", "on_bad_line")
    how = json.dumps({name: dumped[name] for name in order}, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256("\n".join([*contents, how]).encode()).hexdigest()


def _reads_by_language(name: str, settings: PairData) -> bool:
    format = _format_of(name, settings)
    return format in CHOOSING or (format == "jsonl" and _named_languages(name, settings) is not None)


def _layout(settings: PairData) -> Layout:
    return Layout("pairs", zero_based(settings.columns), settings.header, settings.languages)


def _format_of(name: str, settings: PairData) -> str:
    return find_format(Source(name), _layout(settings), settings.format).name


def _reading(settings: PairData, *names: str) -> Reading:
    files = names or settings.files
    return read_records(files, _layout(settings), settings.format, settings.encoding, settings.on_bad_line)


def read_pairs(settings: PairData, tell: Callable[[str], None] = lambda line: None) -> list[Pair]:
    """All pairs of some files, as they are; `tell` receives a line about each kind of line that was skipped."""
    reading = _reading(settings)
    pairs = list(FilePairs(reading))
    for line in reading.problems.lines():
        tell(line)
    return pairs


class FilePairs:
    """The pairs of some files, read each time they are iterated over."""

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
