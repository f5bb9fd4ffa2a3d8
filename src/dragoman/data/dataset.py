"""Sequence transduction (thesis 2.2): pairs of label sequences with start and end labels, in three parts, on disk."""

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
GIVEN = "given"  # what stands for a splitting where pairs come by part
LONGEST = (
    2000  # labels of a side: the time that attention takes, without the engine its memory too, grows with the square
)
LEFT_OUT = 255  # stands for a part where a pair belongs to none
OFTEN = 100  # times that a tokenizer reads every stand-in, so that none falls off a small vocabulary
CHUNK = 8192
EXCERPT = 40  # characters of a text in a message
SHORTEN = "cut such pairs into sentences, or set data.maximum to a number of tokens, and what is longer is cut there"

Pair = tuple[str, str]
Pairs = Iterable[Pair] | Mapping[str, Iterable[Pair]]  # to be split, or already by part


@dataclass(frozen=True)
class Encoding:
    """How text becomes labels.

    sizes    of the source and reference vocabulary; None derives them from the training part
    joint    one vocabulary for both sides, of the first size
    maximum  longest source (m_S) and reference (m_R + 1) in labels, start and end included; what is longer is cut.
             None: pairs stay as they are, but for those with a side of more than LONGEST labels, which are left out
    protect  numbers, addresses and placeholders are encoded as stand-ins (data/protection.py); texts are stored whole
    room     labels that the network has positions for: no pair is augmented beyond it, nor beyond the maximum
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
    left_out: int = 0  # pairs that are too long
    left_out_example: str = ""
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
            or ((self.parts >= len(PARTS)) & (self.parts != LEFT_OUT)).any()
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
        """The packed batch of some items, from the store."""
        source, target = (store.gather(self.samples[items]) for store in self.dataset.labels)
        return Batch.shifted(*target, Batch(*source))

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
    pairs: Pairs,
    directory: Path,
    encoding: Encoding | None = None,
    splitting: Splitting | None = None,
    held_out: Collection[str] = (),
    tokenizers: tuple[Tokenizer, Tokenizer] | None = None,
) -> Dataset:
    """Split, train tokenizers on the training part (or use the given ones), encode; in bounded memory.

    pairs  to be split; or by part, {"training": ..., "validation": ..., "testing": ...}, to be used as they are

    The directory appears complete or not at all.
    """
    encoding, how = encoding or Encoding(), described_splitting(pairs, splitting, held_out)
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
            raise DataError(f"every pair to train on is too long: {about.left_out_example}; {SHORTEN}")
        parts.tofile(work / "parts")
        for left in work.glob(f"*{MASKED}*"):
            left.unlink()
        (work / "about.json").write_text(json.dumps(asdict(about), indent=2), encoding="utf-8")
        _publish(work, directory)
    except OSError as error:
        raise DataError(f"{directory} could not be written: {error}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Dataset(directory)


def described_splitting(pairs: Pairs, splitting: Splitting | None, held_out: Collection[str] = ()) -> dict[str, Any]:
    """How pairs come into parts, in words and numbers."""
    if not isinstance(pairs, Mapping):
        return asdict(splitting or Splitting())
    if splitting is not None or held_out:
        raise ConfigurationError("pairs that come by part are used as they are; leave splitting and held_out out")
    if unknown := sorted(set(pairs) - set(PARTS)):
        raise ConfigurationError(f"there is no part '{unknown[0]}'; choose from {', '.join(PARTS)}")
    return {"by": GIVEN}


def _write_split(pairs: Pairs, work: Path, splitting: Splitting, held_out: Collection[str]) -> Array:
    """Write the texts; [n] the part of each pair."""
    if not isinstance(pairs, Mapping):
        _write_texts(pairs, work)
        return assign_parts(_texts(work, "source-texts"), splitting, held_out)
    counts: Counter[str] = Counter()

    def one_after_the_other() -> Iterator[Pair]:
        for name in PARTS:
            for pair in pairs.get(name, ()):
                counts[name] += 1
                yield pair

    _write_texts(one_after_the_other(), work)
    return np.repeat(np.arange(len(PARTS), dtype=np.uint8), [counts[name] for name in PARTS])


def _write_texts(pairs: Iterable[Pair], work: Path, name: str = "texts") -> None:
    with StoreWriter(work / f"source-{name}", 1) as sources, StoreWriter(work / f"reference-{name}", 1) as references:
        empty = True
        for source, reference in pairs:
            sources.append(source.encode())
            references.append(reference.encode())
            empty = False
    if empty:
        raise DataError("there is not a single pair to learn from")


def _keep_within_limits(work: Path, tokenizers: tuple[Tokenizer, Tokenizer], encoding: Encoding) -> None:
    """Leave pairs as they were that added stand-ins make too long: to be cut, or for the positions of the network."""
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
    """Write the labels of one side; how many were cut, how many pieces were unknown."""
    counts = {"truncated": 0, "unknown": 0}
    texts = _texts(work, _encoded(side, encoding))
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
    """The pairs with a side of more labels than a network is given, unless a maximum says otherwise."""
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
