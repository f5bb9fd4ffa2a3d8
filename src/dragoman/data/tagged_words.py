"""Sentences of tagged words: word pieces, and the tag of a word at its first piece."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.batch import UNKNOWN, Batch
from dragoman.data.classes import Classes
from dragoman.data.lexicon import Lexicon
from dragoman.data.readers.conll import SEPARATOR
from dragoman.data.schema import Encoders, Schema, Texts
from dragoman.data.splits import TRAINING
from dragoman.data.stores import LABEL, Store, TextStore
from dragoman.data.tokenizer import Kind
from dragoman.data.word_pieces import WordPieces
from dragoman.errors import ConfigurationError
from dragoman.graph import Array

LONGEST = 512  # pieces of a sentence
UNTAGGED = -1  # stands for the tag of a piece that is not the first of its word


@dataclass(frozen=True)
class TaggedWords(Schema):
    """How tagged sentences become labels: the words of a sentence stand between tabs, and so do its tags.

    size     of the vocabulary of word pieces; None derives it from the training part
    maximum  longest sentence in pieces; what is longer is cut before the first word that does not fit
    """

    kind: Kind = "wordpiece"
    size: int | None = None
    maximum: int = LONGEST

    name: ClassVar[str] = "tagged words"
    fields: ClassVar[tuple[str, ...]] = ("sentence", "tags")
    encoders: ClassVar[Mapping[str, type[Any]]] = {"sentence": WordPieces, "tags": Classes, "words": Lexicon}
    samples: ClassVar[str] = "sentences"

    def __post_init__(self) -> None:
        if self.maximum < 1:
            raise ConfigurationError(f"a sentence has at least one piece, got a maximum of {self.maximum}")

    def learn(self, texts: Texts) -> Encoders:
        pieces = WordPieces.learn((text.split(SEPARATOR) for text in texts("sentence")), self.kind, self.size)
        tags = chain.from_iterable(text.split(SEPARATOR) for text in texts("tags"))
        both = zip(texts("sentence"), texts("tags"), strict=True)
        lexicon = Lexicon.learn((sentence.split(SEPARATOR), tags.split(SEPARATOR)) for sentence, tags in both)
        return {"sentence": pieces, "tags": Classes.learn((tag,) for tag in tags), "words": lexicon}

    def rewrite(self, work: Path, parts: Array) -> None:
        """Move sentences with a tag that no training sentence has into the training part."""
        store = TextStore(work / "tags-texts")
        known = set(chain.from_iterable(text.split(SEPARATOR) for text in store.texts(np.flatnonzero(parts == 0))))
        for i in np.flatnonzero(parts != TRAINING):
            tags = set(store.text(int(i)).split(SEPARATOR))
            if not tags <= known:
                parts[i] = TRAINING
                known |= tags

    def encode(
        self, values: Sequence[Sequence[str]], encoders: Encoders, counts: Counter[tuple[str, str]]
    ) -> list[Sequence[Array]]:
        pieces, targets = [], []
        classes: Classes = encoders["tags"]
        sentences = [text.split(SEPARATOR) for text in values[0]]
        for rows, tags in zip(encode_words(sentences, encoders["sentence"]), values[1], strict=True):
            kept = fitting(rows, self.maximum)
            counts["truncated", "sentence"] += kept < len(rows)
            labels, firsts = joined_pieces(rows[:kept])
            counts["unknown", "sentence"] += int(np.count_nonzero(labels == UNKNOWN))
            labels = labels[: self.maximum]  # a word alone may be longer
            target = np.full(len(labels), UNTAGGED, LABEL)
            target[firsts] = [classes.index(tag) for tag in tags.split(SEPARATOR)[:kept]]
            pieces.append(labels)
            targets.append(target)
        return [pieces, targets]

    def batch(self, stores: Sequence[Store], items: Array) -> Batch:
        labels, offsets = stores[0].gather(items)
        targets, _ = stores[1].gather(items)
        tagged = targets != UNTAGGED
        return Batch(labels, offsets, np.where(tagged, targets, 0), tagged.astype(np.float32), per="position")


def encode_words(sentences: Sequence[Sequence[str]], pieces: WordPieces) -> list[list[Array]]:
    """The labels of each word of each sentence, at least one; every word is encoded once."""
    words = list(dict.fromkeys(chain.from_iterable(sentences)))
    found = dict(zip(words, pieces.encode(words), strict=True))
    return [[found[word] for word in sentence] for sentence in sentences]


def fitting(rows: Sequence[Array], maximum: int) -> int:
    """How many of the first words of a sentence have at most so many pieces together; at least one."""
    ends = np.cumsum([len(row) for row in rows])
    return max(1, int(np.searchsorted(ends, maximum, side="right")))


def joined_pieces(rows: Sequence[Array]) -> tuple[Array, Array]:
    """The pieces of some words one after the other, and where each word begins."""
    lengths = np.array([len(row) for row in rows])
    return np.concatenate(rows).astype(LABEL), np.cumsum(lengths) - lengths


def as_text(values: Iterable[str]) -> str:
    """Words or tags as a field of a sample."""
    return SEPARATOR.join(values)
