"""Texts with a target each: one class, several classes, or a number."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dragoman.batch import UNKNOWN, Batch
from dragoman.data.classes import Classes
from dragoman.data.pair_encoding import add_marks
from dragoman.data.scaler import Scaler
from dragoman.data.schema import Encoders, Schema, Texts
from dragoman.data.splits import TRAINING
from dragoman.data.stores import Store, TextStore
from dragoman.data.tokenizer import FIRST_PIECE, Kind, Tokenizer, count_words
from dragoman.errors import ConfigurationError, DataError
from dragoman.graph import Array

LONGEST = 512  # tokens of a text, start and end included, unless another maximum is set
MOST_WORDS = 100_000
OFTEN = 2  # times that a word occurs in the training part before it gets a label of its own


@dataclass(frozen=True)
class TextEncoding:
    """How a text becomes labels, in training and later.

    maximum    tokens, start and end included; what is longer is cut
    lowercase  capital letters are read as small ones
    """

    maximum: int = LONGEST
    lowercase: bool = True

    def read(self, text: str) -> str:
        return text.lower() if self.lowercase else text

    def encode(self, texts: Sequence[str], tokenizer: Tokenizer) -> tuple[list[Array], int]:
        """The labels of each text between start and end, and how many texts were cut."""
        marked = [add_marks(labels, self.maximum) for labels in tokenizer.encode([self.read(text) for text in texts])]
        return [labels for labels, _ in marked], sum(cut for _, cut in marked)


@dataclass(frozen=True)
class LabelledTexts(Schema):
    """Texts with a class, or several classes, each.

    kind, size  of the tokenizer; without a size, one label for each word seen `often` times (or as many pieces)
    several     any number of classes for each text: a JSON list, or names between separators
    given       the samples came in parts; otherwise those of a class that has none to train on are trained on
    """

    kind: Kind = "words"
    size: int | None = None
    maximum: int = LONGEST
    lowercase: bool = True
    several: bool = False
    separator: str | None = None
    given: bool = False
    often: int = OFTEN

    name: ClassVar[str] = "labelled texts"
    fields: ClassVar[tuple[str, ...]] = ("text", "label")
    encoders: ClassVar[Mapping[str, type[Any]]] = {"text": Tokenizer, "label": Classes}
    samples: ClassVar[str] = "texts"

    def __post_init__(self) -> None:
        if self.maximum < 3:
            raise ConfigurationError(
                f"data.maximum counts the start and end of a text too, so it is 3 or more; got {self.maximum}"
            )

    @property
    def encoding(self) -> TextEncoding:
        return TextEncoding(self.maximum, self.lowercase)

    def rewrite(self, work: Path, parts: Array) -> None:
        """Train on the samples of classes that would otherwise occur in other parts alone."""
        if not self.given:
            train_on_every_class(work, parts, self.names_of)

    def names_of(self, label: str) -> tuple[str, ...]:
        return label_names(label, self.separator) if self.several else (label,)

    def learn(self, texts: Texts) -> Encoders:
        return {"text": self._tokenizer(texts), "label": self._targets(texts("label"))}

    def _tokenizer(self, texts: Texts) -> Tokenizer:
        """Words without a limit by the number of pieces that other tokenizers learn well."""
        read, size = self.encoding.read, self.size
        if size is None and self.kind == "words":
            counts = count_words(map(read, texts("text")))
            size = FIRST_PIECE + min(MOST_WORDS, sum(count >= self.often for count in counts.values()))
        return Tokenizer.train(map(read, texts("text")), self.kind, size, self.often)

    def _targets(self, labels: Iterator[str]) -> Any:
        return check_several_classes(Classes.learn(map(self.names_of, labels), self.several))

    def encode(
        self, values: Sequence[Sequence[str]], encoders: Encoders, counts: Counter[tuple[str, str]]
    ) -> list[Sequence[Array]]:
        texts, labels = values
        rows, cut = self.encoding.encode(texts, encoders["text"])
        counts["truncated", "text"] += cut
        counts["unknown", "text"] += sum(int(np.count_nonzero(row == UNKNOWN)) for row in rows)
        return [rows, self._encoded(labels, encoders["label"])]

    def _encoded(self, labels: Sequence[str], encoder: Any) -> list[Array]:
        return [encoder.encode(self.names_of(label)) for label in labels]

    def batch(self, stores: Sequence[Store], items: Array) -> Batch:
        """Targets [B]; where there are several classes, [B, L]."""
        labels, offsets = stores[0].gather(items)
        targets = stores[1].gather(items)[0]
        if self.several:
            targets = targets.reshape(len(items), -1).astype(np.float32)
        return Batch(labels, offsets, targets, per="sample")


@dataclass(frozen=True)
class NumberedTexts(LabelledTexts):
    """Texts with a number each; numbers are scaled by the training part."""

    name: ClassVar[str] = "numbered texts"
    encoders: ClassVar[Mapping[str, type[Any]]] = {"text": Tokenizer, "label": Scaler}
    dtypes: ClassVar[Mapping[str, np.dtype[Any]]] = {"label": np.dtype("<f4")}

    def rewrite(self, work: Path, parts: Array) -> None:
        """Numbers have no classes that could be missing."""

    def _targets(self, labels: Iterator[str]) -> Any:
        return Scaler.learn(map(float, labels))

    def _encoded(self, labels: Sequence[str], encoder: Any) -> list[Array]:
        return [encoder.encode(np.array([float(label)])) for label in labels]

    def batch(self, stores: Sequence[Store], items: Array) -> Batch:
        """Targets [B, 1]."""
        labels, offsets = stores[0].gather(items)
        return Batch(labels, offsets, stores[1].gather(items)[0].reshape(len(items), 1), per="sample")


def train_on_every_class(work: Path, parts: Array, names_of: Callable[[str], tuple[str, ...]]) -> None:
    """Move samples of classes that would otherwise occur in other parts alone to the training part."""
    labels = [names_of(text) for text in _all_texts(work, "label")]
    known = {name for i in np.flatnonzero(parts == TRAINING) for name in labels[i]}
    for i in np.flatnonzero(parts != TRAINING):
        if not known.issuperset(labels[i]):
            parts[i] = TRAINING
            known.update(labels[i])


def check_several_classes(found: Classes) -> Classes:
    """The classes; an error if there is one class alone."""
    if not found.several and found.size == 1:
        raise DataError(
            f"every training example has the same label, '{found.names[0]}': there is nothing to tell apart; "
            "add examples of another class, or choose another column with --label"
        )
    return found


def label_names(label: str, separator: str | None = None) -> tuple[str, ...]:
    """The names in a label: those of a JSON list, those between separators, or the label itself."""
    listed = json_list(label)
    if listed is not None:
        return tuple(dict.fromkeys(str(name).strip() for name in listed))
    names = [label] if separator is None else label.split(separator)
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def json_list(label: str) -> list[Any] | None:
    """The list that a label is in JSON; None if it is none."""
    if not (label.startswith("[") and label.endswith("]")):
        return None
    try:
        found = json.loads(label)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def as_number(text: str) -> float | None:
    """A finite number; None if the text is none. '1_000' is no number in a table."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in text else None


def _all_texts(work: Path, field: str) -> Iterator[str]:
    store = TextStore(work / f"{field}-texts")
    return store.texts(range(len(store)))
