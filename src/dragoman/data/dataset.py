"""Datasets on disk (thesis 2.2): pairs of label sequences with start and end labels, in three parts."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.batch import END, PAD, START, UNKNOWN, Batch
from dragoman.data.masking import fitting_pairs, masked_pairs
from dragoman.data.protection import EVERY_STANDIN
from dragoman.data.splits import PARTS, TRAINING, Splitting, assign_parts, check_training
from dragoman.data.stores import LABEL, LabelStore, StoreWriter, TextStore
from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.errors import ConfigurationError, DataError, FileFormatError
from dragoman.graph import Array

VERSION = 6
SIDES = ("source", "reference")
MASKED = "masked-texts"
GIVEN = "given"  # the splitting of pairs that come in parts already
LONGEST = 2000  # labels per side: the time of attention (and its memory in the numpy engine) is quadratic in it
LEFT_OUT = 255  # the part of a pair that belongs to none
OFTEN = 100  # how often a tokenizer is given every stand-in, so that even a small vocabulary has them all
CHUNK = 8192
EXCERPT = 40  # characters of a text to show in a message
SHORTEN = "split such pairs into sentences, or set data.maximum to cut texts to a number of tokens"

Pair = tuple[str, str]
Pairs = Iterable[Pair] | Mapping[str, Iterable[Pair]]  # to be split, or already by part


@dataclass(frozen=True)
class Encoding:
    """How text becomes labels.

    sizes    sizes of the source and reference vocabulary; None derives them from the training part
    joint    whether both sides share one vocabulary, of the first size
    maximum  longest source (m_S) and reference (m_R + 1) in labels, start and end included; longer texts are cut.
             None: nothing is cut, but pairs with a side of more than LONGEST labels are left out
    protect  whether numbers, addresses and placeholders are encoded as stand-ins (data/protection.py); the stored
             texts keep them
    room     number of positions the network has: no pair is augmented beyond it, nor beyond the maximum
    """

    kind: Kind = "wordpiece"
    sizes: tuple[int | None, int | None] = (None, None)
    joint: bool = False
    maximum: tuple[int | None, int | None] = (None, None)
    protect: bool = False
    room: int | None = None

    def __post_init__(self) -> None:
        if any(longest is not None and longest < 2 for longest in self.maximum):
            raise ConfigurationError(
                f"a sequence has at least its start and end labels, got a maximum of {self.maximum}"
            )


def add_marks(labels: Array, maximum: int | None) -> tuple[Array, bool]:
    """Add start and end labels, cut to the maximum (the end label stays); also return whether it was cut."""
    cut = maximum is not None and len(labels) + 2 > maximum
    kept = labels[: maximum - 2] if cut and maximum is not None else labels
    return np.concatenate(([START], kept, [END])).astype(LABEL), cut


def pad_to(labels: Array, length: int) -> Array:
    """Pad after the end label to a fixed length, as the thesis does."""
    if len(labels) > length:
        raise ConfigurationError(f"a sequence of {len(labels)} labels does not fit into {length}; cut it first")
    return np.concatenate((labels, np.full(length - len(labels), PAD, labels.dtype)))


@dataclass(frozen=True)
class About:
    """Metadata of a dataset, saved as about.json."""

    samples: int
    parts: dict[str, int]
    vocabularies: tuple[int, int]
    longest: tuple[int, int]
    truncated: tuple[int, int]
    unknown: tuple[int, int]
    encoding: dict[str, Any]
    splitting: dict[str, Any]
    left_out: int = 0  # pairs that are too long
    left_out_example: str = ""
    version: int = VERSION


class Dataset:
    """A prepared corpus: labels and texts are memory-mapped and read when they are used."""

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
            or ((self.parts >= len(PARTS)) & (self.parts != LEFT_OUT)).any()
        ):
            raise FileFormatError(f"{directory}: its files do not match each other; delete the directory and try again")

    def __len__(self) -> int:
        return len(self.parts)

    def part(self, name: str) -> Part:
        if name not in PARTS:
            raise ConfigurationError(f"unknown part '{name}'; available: {', '.join(PARTS)}")
        return Part(self, np.flatnonzero(self.parts == PARTS.index(name)))


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a dataset; its items are numbered from 0."""

    dataset: Dataset
    samples: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.samples)

    def lengths(self) -> Array:
        """Return [n, 2]: the number of labels of each source and reference, start and end included."""
        return np.stack([store.lengths(self.samples) for store in self.dataset.labels], axis=1)

    def batch(self, items: Array) -> Batch:
        """Return the packed batch of some items."""
        source, target = (store.gather(self.samples[items]) for store in self.dataset.labels)
        return Batch.shifted(*target, Batch(*source))

    def padded_batch(self, items: Array, source_length: int, reference_length: int) -> Batch:
        """Return a padded batch as in the thesis: sources of length m_S, references of m_R + 1, padding weight 0."""
        chosen = self.samples[items]
        sources = [pad_to(self.dataset.labels[0][i], source_length) for i in chosen]
        references = [pad_to(self.dataset.labels[1][i], reference_length) for i in chosen]
        return Batch.pairs(sources, references)

    def texts(self, side: str) -> Iterator[str]:
        """Yield the texts of a side, in order."""
        return self.dataset.texts[SIDES.index(side)].texts(self.samples)


def prepare(
    pairs: Pairs,
    directory: Path,
    encoding: Encoding | None = None,
    splitting: Splitting | None = None,
    held_out: Collection[str] = (),
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
) -> Dataset:
    """Split the pairs, train tokenizers on the training part unless they are given, and encode; in bounded memory.

    pairs  pairs to split, or the parts themselves: {"training": ..., "validation": ..., "testing": ...}

    The directory is created complete or not at all.
    """
    encoding, how = encoding or Encoding(), describe_splitting(pairs, splitting, held_out)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    except OSError as error:
        raise DataError(f"{directory} could not be written: {error}") from None
    try:
        parts = _write_split(pairs, work, splitting or Splitting(), held_out)
        if encoding.protect:
            stores = TextStore(work / "source-texts"), TextStore(work / "reference-texts")
            _write_texts(masked_pairs(*stores, parts == TRAINING), work, MASKED)
        check_training(parts)
        chosen = tokenizers or _train_tokenizers(work, np.flatnonzero(parts == TRAINING), encoding)
        if encoding.protect:
            _keep_within_limits(work, chosen, encoding)
        counts = [_encode_side(work, *side, encoding) for side in zip(SIDES, chosen, (0, 1), strict=True)]
        parts[_too_long(work, encoding)] = LEFT_OUT
        about = _describe(parts, chosen, counts, encoding, how, work)
        if not about.parts[PARTS[TRAINING]]:
            raise DataError(f"all training pairs are too long: {about.left_out_example}; {SHORTEN}")
        parts.tofile(work / "parts")
        for left in work.glob(f"*{MASKED}*"):
            left.unlink()
        (work / "about.json").write_text(json.dumps(asdict(about), indent=2), encoding="utf-8")
        _move_into_place(work, directory)
    except OSError as error:
        raise DataError(f"{directory} could not be written: {error}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Dataset(directory)


def describe_splitting(pairs: Pairs, splitting: Splitting | None, held_out: Collection[str] = ()) -> dict[str, Any]:
    """Describe how the pairs are split, for about.json."""
    if not isinstance(pairs, Mapping):
        return asdict(splitting or Splitting())
    if splitting is not None or held_out:
        raise ConfigurationError("pairs given in parts are not split; leave out splitting and held_out")
    if unknown := sorted(set(pairs) - set(PARTS)):
        raise ConfigurationError(f"unknown part '{unknown[0]}'; available: {', '.join(PARTS)}")
    return {"by": GIVEN}


def _write_split(pairs: Pairs, work: Path, splitting: Splitting, held_out: Collection[str]) -> Array:
    """Write the texts; return [n], the part of each pair."""
    if not isinstance(pairs, Mapping):
        _write_texts(pairs, work)
        return assign_parts(_texts(work, "source-texts"), splitting, held_out)
    counts: Counter[str] = Counter()

    def all_parts() -> Iterator[Pair]:
        for name in PARTS:
            for pair in pairs.get(name, ()):
                counts[name] += 1
                yield pair

    _write_texts(all_parts(), work)
    return np.repeat(np.arange(len(PARTS), dtype=np.uint8), [counts[name] for name in PARTS])


def _write_texts(pairs: Iterable[Pair], work: Path, name: str = "texts") -> None:
    with StoreWriter(work / f"source-{name}", 1) as sources, StoreWriter(work / f"reference-{name}", 1) as references:
        empty = True
        for source, reference in pairs:
            sources.append(source.encode())
            references.append(reference.encode())
            empty = False
    if empty:
        raise DataError("there are no pairs to learn from")


def _keep_within_limits(work: Path, tokenizers: tuple[Tokenizer, Tokenizer], encoding: Encoding) -> None:
    """Undo the augmentation of pairs that it makes longer than the maximum or the positions of the network."""
    given = [[limit for limit in (maximum, encoding.room) if limit is not None] for maximum in encoding.maximum]
    if not any(given):
        return
    limits = min(given[0], default=LONGEST), min(given[1], default=LONGEST)
    whole, masked = (
        zip(*(_texts(work, f"{side}-{name}") for side in SIDES), strict=True) for name in ("texts", MASKED)
    )
    _write_texts(fitting_pairs(whole, masked, tokenizers, limits), work, f"fitting-{MASKED}")
    for side in SIDES:
        for suffix in (".data", ".offsets"):
            (work / f"{side}-fitting-{MASKED}{suffix}").replace(work / f"{side}-{MASKED}{suffix}")


def _texts(work: Path, name: str) -> Iterator[str]:
    store = TextStore(work / name)
    return store.texts(range(len(store)))


def _encoded_store(side: str, encoding: Encoding) -> str:
    """Return the name of the store of the texts to encode."""
    return f"{side}-{MASKED if encoding.protect else 'texts'}"


def _train_tokenizers(work: Path, training: Array, encoding: Encoding) -> tuple[Tokenizer, Tokenizer]:
    stores = [TextStore(work / _encoded_store(side, encoding)) for side in SIDES]
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
    """Write the labels of one side; count the texts that were cut and the unknown pieces."""
    counts = {"truncated": 0, "unknown": 0}
    texts = _texts(work, _encoded_store(side, encoding))
    with StoreWriter(work / f"{side}-labels", LABEL.itemsize) as writer:
        while chunk := list(islice(texts, CHUNK)):
            for labels in tokenizer.encode(chunk):
                marked, cut = add_marks(labels, encoding.maximum[index])
                writer.append(marked.tobytes())
                counts["truncated"] += cut
                counts["unknown"] += int(np.count_nonzero(labels == UNKNOWN))
    tokenizer.save(work / f"{side}-tokenizer.json")
    return counts


def _too_long(work: Path, encoding: Encoding) -> Array:
    """Return the pairs with a side of more than LONGEST labels, for sides without a maximum."""
    limits = [np.inf if maximum is not None else LONGEST for maximum in encoding.maximum]
    lengths = [LabelStore(work / f"{side}-labels").lengths() for side in SIDES]
    return np.flatnonzero((lengths[0] > limits[0]) | (lengths[1] > limits[1]))


def _example(work: Path, pair: int) -> str:
    source, reference = (int(LabelStore(work / f"{side}-labels").lengths()[pair]) for side in SIDES)
    text = TextStore(work / "source-texts").text(pair)
    return f"pair {pair + 1:,}, of {source:,} and {reference:,} labels ({text[:EXCERPT]}...)"


def _describe(
    parts: Array,
    tokenizers: tuple[Tokenizer, Tokenizer],
    counts: list[dict[str, int]],
    encoding: Encoding,
    splitting: dict[str, Any],
    work: Path,
) -> About:
    left_out = np.flatnonzero(parts == LEFT_OUT)
    kept = [LabelStore(work / f"{side}-labels").lengths()[parts != LEFT_OUT] for side in SIDES]

    def both(name: str) -> tuple[int, int]:
        return counts[0][name], counts[1][name]

    return About(
        len(parts),
        {name: int((parts == i).sum()) for i, name in enumerate(PARTS)},
        (tokenizers[0].size, tokenizers[1].size),
        (int(kept[0].max(initial=0)), int(kept[1].max(initial=0))),
        both("truncated"),
        both("unknown"),
        asdict(encoding),
        splitting,
        len(left_out),
        _example(work, int(left_out[0])) if len(left_out) else "",
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
