"""Sequence transduction (thesis 2.2): pairs of label sequences with start and end labels, in three parts, on disk."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.batch import END, PAD, START, UNKNOWN, Batch
from dragoman.data.protection import EVERY_STANDIN, mask_pair
from dragoman.data.splits import PARTS, TRAINING, Splitting, assign_parts
from dragoman.data.stores import LABEL, LabelStore, StoreWriter, TextStore
from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.graph import Array

VERSION = 3
SIDES = ("source", "reference")
MASKED = "masked-texts"
OFTEN = 100  # times that a tokenizer reads every stand-in, so that none falls off a small vocabulary
CHUNK = 8192


@dataclass(frozen=True)
class Encoding:
    """How text becomes labels.

    sizes    of the source and reference vocabulary; None derives them from the training part
    joint    one vocabulary for both sides, of the first size
    maximum  longest source (m_S) and reference (m_R + 1) in labels, start and end included; None: as long as they come
    protect  numbers, addresses and placeholders are encoded as stand-ins (data/protection.py); texts are stored whole
    """

    kind: Kind = "wordpiece"
    sizes: tuple[int | None, int | None] = (None, None)
    joint: bool = False
    maximum: tuple[int | None, int | None] = (None, None)
    protect: bool = False

    def __post_init__(self) -> None:
        if any(longest is not None and longest < 2 for longest in self.maximum):
            raise ConfigurationError(
                f"a sequence has at least its start and end labels, got a maximum of {self.maximum}"
            )


def add_marks(labels: Array, maximum: int | None) -> tuple[Array, bool]:
    """[start, ..., end], cut to the maximum with its end label kept; and whether it was cut."""
    cut = maximum is not None and len(labels) + 2 > maximum
    kept = labels[: maximum - 2] if cut and maximum is not None else labels
    return np.concatenate(([START], kept, [END])).astype(LABEL), cut


def pad_to(labels: Array, length: int) -> Array:
    """The thesis's fixed length m: pad labels after the end."""
    if len(labels) > length:
        raise ConfigurationError(f"a sequence of {len(labels)} labels does not fit into {length}; cut it first")
    return np.concatenate((labels, np.full(length - len(labels), PAD, labels.dtype)))


@dataclass(frozen=True)
class About:
    """What a dataset is, in words and numbers; saved beside it."""

    samples: int
    parts: dict[str, int]
    vocabularies: tuple[int, int]
    longest: tuple[int, int]
    truncated: tuple[int, int]
    unknown: tuple[int, int]
    encoding: dict[str, Any]
    splitting: dict[str, Any]
    version: int = VERSION


class Dataset:
    """A prepared corpus: labels, texts and parts through memory maps; nothing is loaded until it is used."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            about = json.loads((directory / "about.json").read_text(encoding="utf-8"))
            version = about.get("version")
        except (OSError, ValueError, AttributeError) as error:
            raise FileFormatError(f"{directory} is not a prepared dataset: {error}") from None
        if version != VERSION:
            raise FileFormatError(
                f"{directory} has dataset version {version}, this program reads {VERSION}; prepare again"
            )
        self.about: dict[str, Any] = about
        self.labels = tuple(LabelStore(directory / f"{side}-labels") for side in SIDES)
        self.texts = tuple(TextStore(directory / f"{side}-texts") for side in SIDES)
        try:
            self.parts: Array = np.fromfile(directory / "parts", np.uint8)
        except OSError as error:
            raise FileFormatError(f"{directory} is not a prepared dataset: {error}") from None
        source, reference = (Tokenizer.load(directory / f"{side}-tokenizer.json") for side in SIDES)
        self.tokenizers = source, reference
        if (
            len({len(self.parts), *map(len, self.labels), *map(len, self.texts)}) != 1
            or (self.parts >= len(PARTS)).any()
        ):
            raise FileFormatError(f"{directory}: its files do not belong together; delete the directory and try again")

    def __len__(self) -> int:
        return len(self.parts)

    def part(self, name: str) -> Part:
        if name not in PARTS:
            raise ConfigurationError(f"there is no part '{name}'; choose one of {', '.join(PARTS)}")
        return Part(self, np.flatnonzero(self.parts == PARTS.index(name)))


@dataclass(frozen=True, eq=False)
class Part:
    """Some samples of a dataset. Items are numbered from 0 within the part."""

    dataset: Dataset
    samples: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.samples)

    def lengths(self) -> Array:
        """[n, 2] labels of source and reference, start and end included."""
        return np.stack([store.lengths(self.samples) for store in self.dataset.labels], axis=1)

    def batch(self, items: Array) -> Batch:
        """The packed batch of some items: sources beside references shifted by one (Batch.pairs, from the store)."""
        chosen = self.samples[items]
        source, source_offsets = self.dataset.labels[0].gather(chosen)
        rows, offsets = self.dataset.labels[1].gather(chosen)
        first = np.ones(len(rows), bool)
        first[offsets[:-1]] = False
        last = np.ones(len(rows), bool)
        last[offsets[1:] - 1] = False
        targets = rows[first]
        shifted = offsets - np.arange(len(offsets))
        weights = (targets != PAD).astype(np.float32)
        return Batch(rows[last], shifted, targets, weights, Batch(source, source_offsets))

    def padded_batch(self, items: Array, source_length: int, reference_length: int) -> Batch:
        """The thesis's layout: every source m_S long, every reference m_R + 1, pads as ordinary rows of weight 0."""
        chosen = self.samples[items]
        sources = [pad_to(self.dataset.labels[0][i], source_length) for i in chosen]
        references = [pad_to(self.dataset.labels[1][i], reference_length) for i in chosen]
        return Batch.pairs(sources, references)

    def texts(self, side: str) -> Iterator[str]:
        """Source or reference texts, in order."""
        return self.dataset.texts[SIDES.index(side)].texts(self.samples)


def prepare(
    pairs: Iterable[tuple[str, str]],
    directory: Path,
    encoding: Encoding | None = None,
    splitting: Splitting | None = None,
    held_out: Collection[str] = (),
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
) -> Dataset:
    """Split, train tokenizers on the training part (or use the given ones), encode; in bounded memory.

    The directory appears complete or not at all.
    """
    encoding, splitting = encoding or Encoding(), splitting or Splitting()
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    except OSError as error:
        raise DataError(f"{directory} could not be written: {error}") from None
    try:
        _write_texts(pairs, work)
        parts = assign_parts(_texts(work, "source-texts"), splitting, held_out)
        if encoding.protect:
            both = zip(_texts(work, "source-texts"), _texts(work, "reference-texts"), strict=True)
            _write_texts((mask_pair(*pair) for pair in both), work, MASKED)
        parts.tofile(work / "parts")
        if not (parts == TRAINING).any():
            raise DataError(f"of {len(parts)} pairs none fell into the training part; more pairs or another seed")
        chosen = tokenizers or _train_tokenizers(work, np.flatnonzero(parts == TRAINING), encoding)
        counts = [_encode_side(work, *side, encoding) for side in zip(SIDES, chosen, (0, 1), strict=True)]
        about = _describe(parts, chosen, counts, encoding, splitting)
        for left in work.glob(f"*{MASKED}*"):
            left.unlink()
        (work / "about.json").write_text(json.dumps(asdict(about), indent=2), encoding="utf-8")
        _publish(work, directory)
    except OSError as error:
        raise DataError(f"{directory} could not be written: {error}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Dataset(directory)


def _write_texts(pairs: Iterable[tuple[str, str]], work: Path, name: str = "texts") -> None:
    with StoreWriter(work / f"source-{name}", 1) as sources, StoreWriter(work / f"reference-{name}", 1) as references:
        empty = True
        for source, reference in pairs:
            sources.append(source.encode())
            references.append(reference.encode())
            empty = False
    if empty:
        raise DataError("there is not a single pair to learn from")


def _texts(work: Path, name: str) -> Iterator[str]:
    store = TextStore(work / name)
    return store.texts(range(len(store)))


def _encoded(side: str, encoding: Encoding) -> str:
    """The store of the texts that are encoded."""
    return f"{side}-{MASKED if encoding.protect else 'texts'}"


def _train_tokenizers(work: Path, training: Array, encoding: Encoding) -> tuple[Tokenizer, Tokenizer]:
    stores = [TextStore(work / _encoded(side, encoding)) for side in SIDES]
    always = [EVERY_STANDIN] * OFTEN if encoding.protect else []
    if encoding.joint:
        both = (text for store in stores for text in store.texts(training))
        shared = Tokenizer.train(chain(both, always), encoding.kind, encoding.sizes[0])
        return shared, shared
    source, reference = (
        Tokenizer.train(chain(store.texts(training), always), encoding.kind, size)
        for store, size in zip(stores, encoding.sizes, strict=True)
    )
    return source, reference


def _encode_side(work: Path, side: str, tokenizer: Tokenizer, index: int, encoding: Encoding) -> dict[str, int]:
    """Write the labels of one side; how many were cut, how long the longest is, how many pieces were unknown."""
    counts = {"truncated": 0, "longest": 0, "unknown": 0}
    texts = _texts(work, _encoded(side, encoding))
    with StoreWriter(work / f"{side}-labels", LABEL.itemsize) as writer:
        while chunk := list(islice(texts, CHUNK)):
            for labels in tokenizer.encode(chunk):
                marked, cut = add_marks(labels, encoding.maximum[index])
                writer.append(marked.tobytes())
                counts["truncated"] += cut
                counts["longest"] = max(counts["longest"], len(marked))
                counts["unknown"] += int(np.count_nonzero(labels == UNKNOWN))
    tokenizer.save(work / f"{side}-tokenizer.json")
    return counts


def _describe(
    parts: Array,
    tokenizers: tuple[Tokenizer, Tokenizer],
    counts: list[dict[str, int]],
    encoding: Encoding,
    splitting: Splitting,
) -> About:
    def both(name: str) -> tuple[int, int]:
        return counts[0][name], counts[1][name]

    return About(
        len(parts),
        {name: int((parts == i).sum()) for i, name in enumerate(PARTS)},
        (tokenizers[0].size, tokenizers[1].size),
        both("longest"),
        both("truncated"),
        both("unknown"),
        asdict(encoding),
        asdict(splitting),
    )


def _publish(work: Path, directory: Path) -> None:
    """Give the finished directory its name; one that another process finished first is as good."""
    try:
        work.rename(directory)
    except OSError:
        theirs = directory / "about.json"
        if not theirs.is_file():
            raise
        if theirs.read_bytes() != (work / "about.json").read_bytes():
            raise DataError(f"{directory} already holds another dataset; choose another place or delete it") from None
