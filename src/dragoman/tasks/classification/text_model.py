"""What classifiers and regressors have in common: texts in, the numbers before the last activation out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.batch import END, START, Batch
from dragoman.data.labelled_texts import TextEncoding
from dragoman.data.schema import Encoders
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, value_of
from dragoman.operations import linear
from dragoman.tasks.features import TextFeatures, encode_features
from dragoman.tasks.inputs import check_text, listed, takes_texts
from dragoman.tasks.trained_model import TrainedModel

TOGETHER = 4096  # tokens of texts that are read at a time
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class WordEffect:
    """A word of a text, and what its presence changes."""

    word: str
    effect: float


@dataclass(frozen=True)
class Explanation:
    """Which words decided: for each word of a text, how much the output falls when it is left out.

    of       what the effects are differences of: the log-odds of a class, or the predicted number
    """

    of: str
    words: tuple[WordEffect, ...]

    def strongest(self, count: int = 5) -> list[WordEffect]:
        """The words that changed most, for or against."""
        return sorted(self.words, key=lambda each: -abs(each.effect))[:count]

    def line(self) -> str:
        return "  ".join(f"{each.word} {each.effect:+.2f}" for each in self.strongest())

    def as_dict(self) -> dict[str, Any]:
        return {"of": self.of, "words": [{"word": w.word, "effect": round(w.effect, 4)} for w in self.words]}


class TextModel(TrainedModel):
    """A network that reads a text, and its encoders."""

    def __init__(self, network: Any, encoders: Encoders, metadata: Any) -> None:
        super().__init__(network, encoders, metadata)
        self._encoding = TextEncoding(metadata.maximum, metadata.lowercase)

    @property
    def tokenizer(self) -> Any:
        return self.encoders["text"]

    # Texts in, numbers out

    def logits(self, texts: Iterable[str]) -> Array:
        """[n, outputs] what the last layer computes, before its activation; the same for a text in any company."""
        if isinstance(texts, str):
            raise ConfigurationError("a list of texts is expected: [text]")
        texts = listed(texts, check_text)
        rows, _ = self._encoding.encode(texts, self.tokenizer)
        found = np.zeros((len(rows), self.network.configuration.outputs), np.float64)
        with fast_compute():
            for items in _batches([len(row) for row in rows]):
                x, layer = self.network.plain.before_output(Batch.pack([rows[i] for i in items]))
                z = linear(x, layer.weights, layer.biases, transposed=layer.transposed)
                found[items] = value_of(z)
        return found

    @takes_texts
    def features(self, texts: Sequence[str]) -> list[TextFeatures]:
        """Contextual vectors of the words of each text, as they are read; the text's is what the last layer reads."""
        read = [self.tokenizer.words(self._encoding.read(text)) for text in texts]
        return encode_features(self.network, read, self.metadata.maximum, (START, END))

    def _effects(self, text: str, measured: Any) -> list[tuple[str, float]]:
        """Each word with how much `measured`, a function of logits, falls when it is left out."""
        check_text(text)
        places = list(_WORD.finditer(text))
        without = [text[: place.start()] + text[place.end() :] for place in places]
        values = measured(self.logits([text, *without]))
        return [(place.group(), float(values[0] - value)) for place, value in zip(places, values[1:], strict=True)]


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Texts of about the same length together, few enough at a time."""
    batch: list[int] = []
    tokens = 0
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and tokens + lengths[i] > TOGETHER:
            yield batch
            batch, tokens = [], 0
        batch.append(i)
        tokens += lengths[i]
    if batch:
        yield batch


def properties_of(metadata: Any) -> dict[str, str]:
    """What `dragoman inspect` says of a classifier or a regressor."""
    case = "capital letters as small ones" if metadata.lowercase else "capital letters as they are"
    return {"reads": f"{metadata.maximum} tokens at most, {case}"}
