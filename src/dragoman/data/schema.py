"""What a sample is made of: named fields, how each becomes numbers, and the rule that makes a batch of them."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from dragoman.batch import Batch
from dragoman.data.stores import LABEL, Store, StoreWriter, TextStore
from dragoman.errors import FileFormatError
from dragoman.graph import Array

SCHEMAS = {  # by their name in a prepared dataset
    "pairs": "dragoman.data.pair_encoding:Encoding",
    "labelled texts": "dragoman.data.labelled_texts:LabelledTexts",
    "numbered texts": "dragoman.data.labelled_texts:NumberedTexts",
    "tagged words": "dragoman.data.tagged_words:TaggedWords",
    "token stream": "dragoman.data.token_stream:StreamSchema",
    "series": "dragoman.data.series_windows:SeriesSchema",
    "captioned images": "dragoman.data.captioned_images:CaptionedImages",
    "labelled images": "dragoman.data.images:LabelledImages",
}


class FieldEncoder(Protocol):
    """Turns the values of a field into numbers; learnt from the training part and kept with a model."""

    file: ClassVar[str]  # what its file is called, after the field: "tokenizer"

    @property
    def size(self) -> int: ...

    def to_json(self) -> str: ...

    @classmethod
    def load(cls, path: Path) -> Self: ...


Encoders = dict[str, Any]  # a FieldEncoder for each field that has one
Texts = Callable[[str], Iterator[str]]  # the values of a field in the training part


class Fields:
    """Named fields. Subclasses are frozen dataclasses: their settings are kept with the dataset.

    name      in about.json
    fields    in order
    encoders  the kind of encoder of each field that has one; a model directory keeps them
    """

    name: ClassVar[str]
    fields: ClassVar[tuple[str, ...]]
    encoders: ClassVar[Mapping[str, type[Any]]]

    def encoder_path(self, directory: Path, field: str) -> Path:
        return directory / f"{field}-{self.encoders[field].file}.json"


class Schema(Fields, ABC):
    """The fields of a sample; the first one decides which samples belong together in one part.

    samples   what samples are called in messages
    advice    what to do about samples that are too long
    dtypes    of encoded values, where they are not labels
    stored    fields whose values `write` writes already: they are not encoded again
    """

    samples: ClassVar[str] = "samples"
    advice: ClassVar[str] = "shorten them"
    dtypes: ClassVar[Mapping[str, np.dtype[Any]]] = {}
    stored: ClassVar[tuple[str, ...]] = ()

    def write(self, samples: Iterable[Any], work: Path) -> int:
        """Write the given values of each field to a store of its own; how many samples there were."""
        return write_texts(samples, work, self.fields)

    def keys(self, work: Path) -> Iterator[str]:
        """What decides which samples belong together in one part: the texts of the first field."""
        store = TextStore(work / f"{self.fields[0]}-texts")
        return store.texts(range(len(store)))

    def learn_in(self, work: Path, training: Array) -> Encoders:
        """Make the encoders from the samples of the training part, by their numbers."""
        return self.learn(lambda name: TextStore(work / self.texts_of(name)).texts(training))

    @abstractmethod
    def learn(self, texts: Texts) -> Encoders:
        """Make the encoders from the training part."""

    @abstractmethod
    def encode(
        self, values: Sequence[Sequence[str]], encoders: Encoders, counts: Counter[tuple[str, str]]
    ) -> list[Sequence[Array]]:
        """Encode some samples, given and returned field by field, without those that are `stored`.

        counts  gets what was lost, by (what, field): ("truncated", "source"), ("unknown", "source")
        """

    @abstractmethod
    def batch(self, stores: Sequence[Store], items: Array) -> Batch:
        """Make a batch of some samples."""

    def lengths(self, stores: Sequence[Store], items: Array) -> Array:
        """[n, k] how long samples are, for batches of similar length; the first field alone unless overridden."""
        return stores[0].lengths(items)[:, None]

    def texts_of(self, field: str) -> str:
        """The name of the store whose texts are encoded."""
        return f"{field}-texts"

    def rewrite(self, work: Path, parts: Array) -> None:
        """Write other texts to encode than those given, or move samples to other parts, before anything is learnt."""

    def adjust(self, work: Path, encoders: Encoders) -> None:
        """Change texts once the encoders are known."""

    def left_out(self, work: Path) -> Array:
        """The samples that cannot be used, by number."""
        return np.zeros(0, np.int64)

    def example(self, work: Path, sample: int) -> str:
        """A sample that is left out, in words."""
        return f"sample {sample + 1:,}"

    def dtype(self, field: str) -> np.dtype[Any]:
        return self.dtypes.get(field, LABEL)


def write_texts(samples: Iterable[Sequence[str]], work: Path, fields: Sequence[str], name: str = "texts") -> int:
    """Write the values of each field to a store of its own; how many samples there were."""
    count = 0
    with ExitStack() as stack:
        writers = [stack.enter_context(StoreWriter(work / f"{each}-{name}", 1)) for each in fields]
        for sample in samples:
            for writer, value in zip(writers, sample, strict=True):
                writer.append(value.encode())
            count += 1
    return count


def find_schema(about: Mapping[str, Any], directory: Path) -> Any:
    """The schema of a prepared dataset."""
    name = about.get("schema")
    if name not in SCHEMAS:
        raise FileFormatError(f"{directory} holds samples of an unknown kind, {name!r}; prepare again")
    module, _, kind = SCHEMAS[name].partition(":")
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in about["encoding"].items()}
    try:
        return getattr(importlib.import_module(module), kind)(**given)
    except TypeError as error:
        raise FileFormatError(f"{directory}/about.json: {error}; prepare again") from None
