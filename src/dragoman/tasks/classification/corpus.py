"""From files or folders to a prepared dataset of texts with classes or numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from dragoman.data.cache import cached_dataset, file_digest
from dragoman.data.dataset import Dataset
from dragoman.data.labelled_texts import OFTEN, LabelledTexts, NumberedTexts, as_number, json_list
from dragoman.data.readers import Layout, ReadErrors, Reading, find_format, read_records
from dragoman.data.records import clean
from dragoman.data.schema import Encoders
from dragoman.data.source import STANDARD_INPUT, Source
from dragoman.data.splits import Splitting
from dragoman.errors import ConfigurationError, DataError
from dragoman.tasks.classification.columns import LOOKED_AT, Columns, find_columns
from dragoman.tasks.classification.settings import LabelData, TextData
from dragoman.tasks.parts import files_of, is_folder, refuse_splitting

Sample = tuple[str, str]  # text, label


class FileTexts:
    """The texts of some files with their labels, read each time they are iterated over."""

    def __init__(self, files: Sequence[str], settings: TextData, columns: Columns | None, number: bool) -> None:
        self.number, s = number, settings
        layout = Layout("labelled") if columns is None else Layout("labelled", columns.layout(), columns.header)
        self.reading: Reading = read_records(files, layout, s.format, s.encoding, s.on_bad_line)

    @property
    def problems(self) -> ReadErrors:
        return self.reading.problems

    def __iter__(self) -> Iterator[Sample]:
        for record in self.reading:
            label, text = record.fields
            if self.number and as_number(label) is None:
                self.problems.add("not a number", record.file, record.line, label, "the label")
                continue
            yield text, label


class FolderTexts:
    """The .txt files of a folder with one sub-folder for each class."""

    def __init__(self, folder: Path, settings: TextData) -> None:
        self.folder, self.settings = folder, settings
        self.problems = ReadErrors(settings.on_bad_line)

    def files(self) -> Iterator[tuple[str, Path]]:
        """Class and file, in order."""
        for place in sorted(path for path in self.folder.iterdir() if path.is_dir() and path.name[0] != "."):
            for path in sorted(place.glob("*.txt")):
                yield place.name, path

    def __iter__(self) -> Iterator[Sample]:
        self.problems = ReadErrors(self.settings.on_bad_line)
        for label, path in self.files():
            try:
                text = clean(" ".join(path.read_text(encoding=self.settings.encoding).split()))
            except (UnicodeError, LookupError) as error:
                self.problems.add("cannot be read as text", str(path), 1, detail=str(error))
                continue
            except OSError as error:
                raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
            if not text or "\0" in text:
                self.problems.add("empty text" if not text else "a NUL character", str(path), 1)
                continue
            yield text, label


@dataclass(frozen=True)
class Corpus:
    """Texts with labels, read when they are asked for."""

    settings: Any
    digest: str  # of the contents and of how they are read
    texts: Any  # to be split, or by part
    columns: Columns | None = None
    several: bool = False
    number: bool = field(default=False)

    @property
    def name(self) -> str:
        """The files, and the columns where they were chosen."""
        files = ", ".join(self.settings.files)
        return f"{files} ({self.columns})" if self.columns is not None and self.columns.chosen else files

    def left_out(self) -> list[str]:
        """Lines that could not be used, counted by why, when they were read just now."""
        readings = self.texts.values() if isinstance(self.texts, Mapping) else [self.texts]
        return [line for texts in readings for line in texts.problems.lines()]

    def check_formats(self, saved: TextData) -> None:
        """The digest covers formats."""

    def dataset(
        self, seed: int, encoders: Encoders | None = None, base: Any = None, room: int | None = None, often: int = OFTEN
    ) -> Dataset:
        """The prepared texts.

        base   the model.json of the model that is fine-tuned, if there is one
        room   labels that the network has positions for, if they are limited
        often  times that a word occurs before it gets a label of its own
        """
        s = self.settings
        lowercase, maximum = (s.lowercase, s.maximum) if base is None else (base.lowercase, base.maximum)
        given = s.split == "given"
        kind = NumberedTexts if self.number else LabelledTexts
        schema = kind(
            s.tokenizer,
            s.vocabulary,
            maximum if room is None else min(maximum, room),
            lowercase,
            self.several,
            getattr(s, "separator", None) if self.several else None,
            given,
            often,
        )
        splitting = None if given else Splitting(s.shares, s.split, seed)
        return cached_dataset(self.texts, [self.digest], schema, splitting, (), encoders)


def open_corpus(settings: TextData, given: Mapping[str, Any] | None = None, number: bool = False) -> Corpus:
    """The files of the settings, a folder of parts, or a folder of classes.

    number  targets are numbers
    """
    if not settings.files:
        raise ConfigurationError("data.files names no file; give a table of texts and labels, or a folder of classes")
    if not is_folder(settings):
        return _of_files(settings, number)
    folder = Path(settings.files[0])
    if not (folder / "training.tsv").is_file():
        return _of_classes(folder, settings, number)
    refuse_splitting(str(folder), given or {})
    settings = settings.model_copy(update={"split": "given"})
    files = files_of(str(folder))
    columns = _columns(str(files["training"]), settings, number)
    texts = {name: FileTexts([str(path)], settings, columns, number) for name, path in files.items()}
    digests = [f"{name} {file_digest(path)}" for name, path in files.items()]
    return _corpus(settings, digests, texts, columns, number)


def _of_files(settings: TextData, number: bool) -> Corpus:
    sources = [Source(name, settings.encoding) for name in settings.files]
    if any(source.name == STANDARD_INPUT for source in sources):
        raise DataError("a training reads its texts more than once, so not from standard input; save them to a file")
    for name in settings.files:
        if not Path(name).exists():
            raise DataError(f"{name} does not exist; check the path")
    columns = _columns(settings.files[0], settings, number)
    texts = FileTexts(settings.files, settings, columns, number)
    return _corpus(settings, [file_digest(Path(name)) for name in settings.files], texts, columns, number)


def _columns(name: str, settings: TextData, number: bool) -> Columns | None:
    source = Source(name, settings.encoding)
    return find_columns(source, find_format(source, Layout("labelled"), settings.format), settings, number)


def _of_classes(folder: Path, settings: TextData, number: bool) -> Corpus:
    texts = FolderTexts(folder, settings)
    files = list(texts.files())
    if not files:
        raise DataError(
            f"{folder} holds neither training.tsv, as `dragoman data split` writes it, nor sub-folders with .txt "
            "files, one for each class"
        )
    if number:
        raise DataError(
            f"{folder}: folders name classes, not numbers; give a table, or train with --task classification"
        )
    digests = [f"{label}/{path.name} {file_digest(path)}" for label, path in files]
    return _corpus(settings, digests, texts, None, number)


def _corpus(settings: TextData, digests: list[str], texts: Any, columns: Columns | None, number: bool) -> Corpus:
    several = not number and _several(settings, texts)
    read = {name: getattr(settings, name, None) for name in ("format", "encoding", "on_bad_line", "separator")}
    chosen = None if columns is None else [columns.label, *columns.text, columns.header]
    how = json.dumps([read, chosen, several, number], ensure_ascii=False)
    digest = hashlib.sha256("\n".join([*digests, how]).encode()).hexdigest()
    return Corpus(settings, digest, texts, columns, several, number)


def _several(settings: Any, texts: Any) -> bool:
    """Whether texts have any number of classes: as it is said, or when labels are JSON lists."""
    if settings.several is not None:
        return bool(settings.several)
    if settings.separator is not None:
        return True
    first = texts["training"] if isinstance(texts, Mapping) else texts
    return any(json_list(label) is not None for _, label in islice(first, LOOKED_AT))


def read_texts(
    settings: TextData, number: bool, tell: Callable[[str], None] = lambda line: None
) -> tuple[list[Sample], bool]:
    """All texts of some files with their labels, as they are, and whether they have several labels.

    tell  receives a line about each kind of line that was skipped
    """
    texts: Any
    if len(settings.files) == 1 and Path(settings.files[0]).is_dir():
        texts = FolderTexts(Path(settings.files[0]), settings)
    else:
        texts = FileTexts(settings.files, settings, _columns(settings.files[0], settings, number), number)
    samples = list(texts)
    for line in texts.problems.lines():
        tell(line)
    return samples, isinstance(settings, LabelData) and _several(settings, samples)
