"""Sequence transduction (thesis 2.2): pairs of texts as label sequences with start and end labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.batch import END, PAD, START, UNKNOWN, Batch
from dragoman.data.dataset import Part
from dragoman.data.masking import fitting_pairs, masked_pairs
from dragoman.data.schema import Encoders, Schema, Texts, write_texts
from dragoman.data.splits import TRAINING
from dragoman.data.stores import CHUNK, LABEL, LabelStore, Store, TextStore
from dragoman.data.tokenizer import Kind, Tokenizer
from dragoman.errors import ConfigurationError
from dragoman.graph import Array
from dragoman.text.protection import EVERY_STANDIN

SIDES = ("source", "target")
MASKED = "masked-texts"
LONGEST = (
    2000  # labels of a side: the time that attention takes, without the engine its memory too, grows with the square
)
OFTEN = 100  # times that a tokenizer reads every stand-in, so that none falls off a small vocabulary
EXCERPT = 40  # characters of a text in a message
SHORTEN = "cut such pairs into sentences, or set data.maximum to a number of tokens, and what is longer is cut there"

Pair = tuple[str, str]
Pairs = Iterable[Pair] | Mapping[str, Iterable[Pair]]  # to be split, or already by part


@dataclass(frozen=True)
class Encoding(Schema):
    """How pairs of texts become labels.

    sizes    of the source and reference vocabulary; None derives them from the training part
    joint    one vocabulary for both sides, of the first size
    maximum  longest source (m_S) and reference (m_R + 1) in labels, start and end included; what is longer is cut.
             None: pairs stay as they are, but for those with a side of more than LONGEST labels, which are left out
    protect  numbers, addresses and placeholders are encoded as stand-ins (text/protection.py); texts are stored whole
    room     labels that the network has positions for: no pair is augmented beyond it, nor beyond the maximum
    augment  whether training pairs are given stand-ins (data/augmentation.py)
    """

    kind: Kind = "wordpiece"
    sizes: tuple[int | None, int | None] = (None, None)
    joint: bool = False
    maximum: tuple[int | None, int | None] = (None, None)
    protect: bool = False
    room: int | None = None
    augment: bool = True

    name: ClassVar[str] = "pairs"
    fields: ClassVar[tuple[str, ...]] = SIDES
    encoders: ClassVar[Mapping[str, type[Any]]] = dict.fromkeys(SIDES, Tokenizer)
    samples: ClassVar[str] = "pairs"
    advice: ClassVar[str] = SHORTEN

    def __post_init__(self) -> None:
        if any(longest is not None and longest < 2 for longest in self.maximum):
            raise ConfigurationError(
                f"a sequence has at least its start and end labels, got a maximum of {self.maximum}"
            )

    def texts_of(self, field: str) -> str:
        return f"{field}-{MASKED if self.protect else 'texts'}"

    def rewrite(self, work: Path, parts: Array) -> None:
        """Mask what must not be translated."""
        if self.protect:
            stores = TextStore(work / "source-texts"), TextStore(work / "target-texts")
            write_texts(masked_pairs(*stores, (parts == TRAINING) & self.augment), work, SIDES, MASKED)

    def learn(self, texts: Texts) -> Encoders:
        always = [EVERY_STANDIN] * OFTEN if self.protect else []
        if self.joint:
            both = chain.from_iterable(texts(side) for side in SIDES)
            shared = Tokenizer.train(chain(both, always), self.kind, self.sizes[0])
            return dict.fromkeys(SIDES, shared)
        return {
            side: Tokenizer.train(chain(texts(side), always), self.kind, size)
            for side, size in zip(SIDES, self.sizes, strict=True)
        }

    def adjust(self, work: Path, encoders: Encoders) -> None:
        """Leave pairs as they were that added stand-ins make too long: to be cut, or for the network's positions."""
        limits = self.augmentation_limits()
        if limits is None:
            return
        whole, masked = (_pairs_of(work, name) for name in ("texts", MASKED))
        tokenizers = encoders["source"], encoders["target"]
        write_texts(fitting_pairs(whole, masked, tokenizers, limits), work, SIDES, f"fitting-{MASKED}")
        for side in SIDES:
            for suffix in (".data", ".offsets"):
                (work / f"{side}-fitting-{MASKED}{suffix}").replace(work / f"{side}-{MASKED}{suffix}")

    def augmentation_limits(self) -> tuple[int, int] | None:
        """The labels that no side of a pair may exceed by added stand-ins; None if there is no limit."""
        given = [[limit for limit in (maximum, self.room) if limit is not None] for maximum in self.maximum]
        if not self.protect or not any(given):
            return None
        return min(given[0], default=LONGEST), min(given[1], default=LONGEST)

    def encode(
        self, values: Sequence[Sequence[str]], encoders: Encoders, counts: Counter[tuple[str, str]]
    ) -> list[Sequence[Array]]:
        encoded: list[Sequence[Array]] = []
        for side, texts, maximum in zip(SIDES, values, self.maximum, strict=True):
            rows = []
            for labels in encoders[side].encode(texts):
                marked, cut = add_marks(labels, maximum)
                rows.append(marked)
                counts["truncated", side] += cut
                counts["unknown", side] += int(np.count_nonzero(labels == UNKNOWN))
            encoded.append(rows)
        return encoded

    def left_out(self, work: Path) -> Array:
        """The pairs with a side of more labels than a network is given, unless a maximum says otherwise."""
        return self.too_long([LabelStore(work / f"{side}-values").lengths() for side in SIDES])

    def too_long(self, lengths: Sequence[Array]) -> Array:
        """The same by the lengths of both sides."""
        limits = [np.inf if maximum is not None else LONGEST for maximum in self.maximum]
        return np.flatnonzero((lengths[0] > limits[0]) | (lengths[1] > limits[1]))

    def example(self, work: Path, sample: int) -> str:
        source, reference = (len(LabelStore(work / f"{side}-values")[sample]) for side in SIDES)
        text = TextStore(work / "source-texts").text(sample)
        return f"pair {sample + 1:,}, of {source:,} and {reference:,} labels ({text[:EXCERPT]}...)"

    def lengths(self, stores: Sequence[Store], items: Array) -> Array:
        """[n, 2] labels of source and reference, start and end included."""
        lengths = np.empty((len(items), len(stores)), np.int32)
        for start in range(0, len(items), CHUNK):  # offsets take more memory than lengths
            chosen = items[start : start + CHUNK]
            lengths[start : start + CHUNK] = np.stack([store.lengths(chosen) for store in stores], axis=1)
        return lengths

    def batch(self, stores: Sequence[Store], items: Array) -> Batch:
        source, target = (store.gather(items) for store in stores)
        return Batch.shifted(*target, Batch(*source))


def _pairs_of(work: Path, name: str) -> Iterator[Pair]:
    sources, references = (TextStore(work / f"{side}-{name}") for side in SIDES)
    return zip(sources.texts(range(len(sources))), references.texts(range(len(references))), strict=True)


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


def padded_batch(part: Part, items: Array, source_length: int, reference_length: int) -> Batch:
    """The thesis's layout: every source m_S long, every reference m_R + 1, pads as ordinary rows of weight 0."""
    chosen = part.samples[items]
    sources, references = (
        [pad_to(store[i], length) for i in chosen]
        for store, length in zip(part.dataset.encoded, (source_length, reference_length), strict=True)
    )
    return Batch.pairs(sources, references)
