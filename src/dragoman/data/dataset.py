"""Prepared samples in three parts, on disk."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.batch import Batch
from dragoman.data.schema import Encoders, Schema, find_schema
from dragoman.data.splits import PARTS, TRAINING, Splitting, assign_parts, check_training
from dragoman.data.stores import Store, StoreWriter, TextStore
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.graph import Array

VERSION = 7
GIVEN = "given"  # what stands for a splitting where samples come by part
LEFT_OUT = 255  # stands for a part where a sample belongs to none
CHUNK = 8192
CHUNKED = 1 << 20  # parts looked at together

Sample = tuple[Any, ...]  # the value of each field: a text, or what its schema writes
Samples = Iterable[Sample] | Mapping[str, Iterable[Sample]]  # to be split, or already by part


@dataclass(frozen=True)
class About:
    """What a dataset is, in words and numbers; saved beside it. Lists have a number for each field."""

    schema: str
    samples: int
    parts: dict[str, int]
    vocabularies: list[int]  # sizes of the encoders
    longest: list[int]
    truncated: list[int]
    unknown: list[int]
    encoding: dict[str, Any]
    splitting: dict[str, Any]
    left_out: int = 0  # samples that cannot be used
    left_out_example: str = ""
    version: int = VERSION


class Dataset:
    """Prepared samples: encoded values, texts and parts through memory maps; nothing is loaded until it is used."""

    schema: Schema
    version: ClassVar[int] = VERSION

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            about = json.loads((directory / "about.json").read_text(encoding="utf-8"))
            version = about.get("version")
        except (OSError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{directory} is not a prepared dataset: {error}") from None
        if version != self.version:
            raise FileFormatError(
                f"{directory} has dataset version {version}, this program reads {self.version}; prepare again"
            )
        self.about: dict[str, Any] = about
        self.schema = find_schema(about, directory)
        self.encoders: Encoders = {
            name: kind.load(self.schema.encoder_path(directory, name)) for name, kind in self.schema.encoders.items()
        }
        self._open()

    def _open(self) -> None:
        """Map the files with the samples."""
        directory, schema = self.directory, self.schema
        self.encoded = tuple(Store(directory / f"{name}-values", schema.dtype(name)) for name in schema.fields)
        self.texts = tuple(TextStore(directory / f"{name}-texts") for name in schema.fields)
        try:
            self.parts: Array = np.fromfile(directory / "parts", np.uint8)
        except OSError as error:
            raise FileFormatError(f"{directory} is not a prepared dataset: {error}") from None
        if (
            len({len(self.parts), *map(len, self.encoded), *map(len, self.texts)}) != 1
            or ((self.parts >= len(PARTS)) & (self.parts != LEFT_OUT)).any()
        ):
            raise FileFormatError(f"{directory}: its files do not match each other; delete the directory and try again")

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def tokenizers(self) -> tuple[Any, ...]:
        """The encoders in the order of the fields: of pairs, the tokenizers of source and reference."""
        return tuple(self.encoders.values())

    def part(self, name: str) -> Part:
        if name not in PARTS:
            raise ConfigurationError(f"unknown part '{name}'; available: {', '.join(PARTS)}")
        return Part(self, numbers_of(self.parts, PARTS.index(name)))


def numbers_of(parts: Array, part: int) -> Array:
    """The numbers of the samples of a part: 4 bytes for each, and little more on the way."""
    kind = np.int32 if len(parts) < 2**31 else np.int64
    pieces = [
        (start + np.flatnonzero(parts[start : start + CHUNKED] == part)).astype(kind)
        for start in range(0, len(parts), CHUNKED)
    ]
    return np.concatenate(pieces or [np.zeros(0, kind)])


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a dataset; its items are numbered from 0."""

    dataset: Dataset
    samples: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.samples)

    def lengths(self) -> Array:
        """[n, k] the lengths of samples that batches are grouped by."""
        return self.dataset.schema.lengths(self.dataset.encoded, self.samples)

    def batch(self, items: Array) -> Batch:
        """The packed batch of some items, from the stores."""
        return self.dataset.schema.batch(self.dataset.encoded, self.samples[items])

    def texts(self, name: str) -> Iterator[str]:
        """The values of a field as they were given, in order."""
        return self.dataset.texts[self.dataset.schema.fields.index(name)].texts(self.samples)

    def values(self) -> Iterator[Sample]:
        """The samples as they were given, in order."""
        return zip(*(store.texts(self.samples) for store in self.dataset.texts), strict=True)


def prepare(
    samples: Samples,
    directory: Path,
    schema: Schema | None = None,
    splitting: Splitting | None = None,
    held_out: Collection[str] = (),
    encoders: Encoders | None = None,
) -> Dataset:
    """Split, learn encoders from the training part (or use the given ones), encode; in bounded memory.

    samples  to be split; or by part, {"training": ..., "validation": ..., "testing": ...}, to be used as they are
    schema   what they are; pairs of sentences unless given

    The directory is created complete or not at all.
    """
    schema, how = schema or default_schema(), described_splitting(samples, splitting, held_out)
    with published(directory) as work:
        given = _write_split(samples, work, schema, splitting or Splitting(), held_out)
        _prepare_in(work, given, schema, how, encoders)
    return Dataset(directory)


@contextmanager
def published(directory: Path) -> Iterator[Path]:
    """A directory to write to, which gets its name when it is complete."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    except OSError as error:
        raise DataError(f"{directory} could not be written: {error}") from None
    try:
        yield work
        _move_into_place(work, directory)
    except OSError as error:
        raise DataError(f"{directory} could not be written: {error}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def default_schema() -> Schema:
    """Pairs of sentences."""
    from dragoman.data.pair_encoding import Encoding

    return Encoding()


def _prepare_in(work: Path, parts: Array, schema: Schema, how: dict[str, Any], encoders: Encoders | None) -> None:
    """Everything of a dataset but its texts, which are there already."""
    schema.rewrite(work, parts)
    check_training(parts, schema.samples)
    training = np.flatnonzero(parts == TRAINING)
    chosen = encoders or schema.learn_in(work, training)
    schema.adjust(work, chosen)
    counts = _encode(work, schema, chosen)
    parts[schema.left_out(work)] = LEFT_OUT
    about = _describe(parts, chosen, counts, schema, how, work)
    if not about.parts[PARTS[TRAINING]]:
        raise DataError(f"all training {schema.samples} are too long: {about.left_out_example}; {schema.advice}")
    parts.tofile(work / "parts")
    for name in schema.fields:
        if schema.texts_of(name) != f"{name}-texts":
            for left in work.glob(f"{schema.texts_of(name)}.*"):
                left.unlink()
    (work / "about.json").write_text(json.dumps(asdict(about), indent=2), encoding="utf-8")


def described_splitting(
    samples: Samples, splitting: Splitting | None, held_out: Collection[str] = ()
) -> dict[str, Any]:
    """How samples come into parts, in words and numbers."""
    if not isinstance(samples, Mapping):
        return asdict(splitting or Splitting())
    if splitting is not None or held_out:
        raise ConfigurationError("samples given in parts are not split; leave out splitting and held_out")
    if unknown := sorted(set(samples) - set(PARTS)):
        raise ConfigurationError(f"unknown part '{unknown[0]}'; available: {', '.join(PARTS)}")
    return {"by": GIVEN}


def _write_split(
    samples: Samples, work: Path, schema: Schema, splitting: Splitting, held_out: Collection[str]
) -> Array:
    """Write the texts; [n] the part of each sample."""
    if not isinstance(samples, Mapping):
        _write_given(samples, work, schema)
        return assign_parts(schema.keys(work), splitting, held_out)
    counts: Counter[str] = Counter()

    def one_after_the_other() -> Iterator[Sample]:
        for name in PARTS:
            for sample in samples.get(name, ()):
                counts[name] += 1
                yield sample

    _write_given(one_after_the_other(), work, schema)
    return np.repeat(np.arange(len(PARTS), dtype=np.uint8), [counts[name] for name in PARTS])


def _write_given(samples: Iterable[Sample], work: Path, schema: Schema) -> None:
    if not schema.write(samples, work):
        raise DataError(f"there are no {schema.samples} to learn from")


def _encode(work: Path, schema: Schema, encoders: Encoders) -> Counter[tuple[str, str]]:
    """Write the encoded values of every field and the encoders; what was cut or unknown, by field."""
    counts: Counter[tuple[str, str]] = Counter()
    fields = [name for name in schema.fields if name not in schema.stored]
    stores = [TextStore(work / schema.texts_of(name)) for name in fields]
    samples = zip(*(store.texts(range(len(store))) for store in stores), strict=True)
    with ExitStack() as stack:
        writers = [
            stack.enter_context(StoreWriter(work / f"{name}-values", schema.dtype(name).itemsize)) for name in fields
        ]
        while chunk := list(islice(samples, CHUNK)):
            encoded = schema.encode(list(zip(*chunk, strict=True)), encoders, counts)
            for name, writer, rows in zip(fields, writers, encoded, strict=True):
                for row in rows:
                    writer.append(row.astype(schema.dtype(name), copy=False).tobytes())
    for name in schema.encoders:
        schema.encoder_path(work, name).write_text(encoders[name].to_json(), encoding="utf-8")
    return counts


def _describe(
    parts: Array,
    encoders: Encoders,
    counts: Counter[tuple[str, str]],
    schema: Schema,
    splitting: dict[str, Any],
    work: Path,
) -> About:
    left_out = np.flatnonzero(parts == LEFT_OUT)
    lengths = [Store(work / f"{name}-values", schema.dtype(name)).lengths() for name in schema.fields]
    return About(
        schema.name,
        len(parts),
        {name: int((parts == i).sum()) for i, name in enumerate(PARTS)},
        [encoders[name].size for name in schema.encoders],
        [int(each[parts != LEFT_OUT].max(initial=0)) for each in lengths],
        [counts["truncated", name] for name in schema.fields],
        [counts["unknown", name] for name in schema.fields],
        asdict(schema),  # type: ignore[call-overload]
        splitting,
        len(left_out),
        schema.example(work, int(left_out[0])) if len(left_out) else "",
    )


def _move_into_place(work: Path, directory: Path) -> None:
    """Rename the finished directory; keep an equal one that another process made first."""
    try:
        work.rename(directory)
    except OSError:
        theirs = directory / "about.json"
        if not theirs.is_file():
            raise
        if theirs.read_bytes() != (work / "about.json").read_bytes():
            raise DataError(f"{directory} holds another dataset; choose another directory or delete it") from None
