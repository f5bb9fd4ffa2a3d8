"""Tagger: sentences in, a tag for every word out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.batch import Batch
from dragoman.data.classes import Classes
from dragoman.data.lexicon import Lexicon
from dragoman.data.tagged_words import encode_words, joined_pieces
from dragoman.data.tokenizer import word_splitter
from dragoman.data.word_pieces import WordPieces
from dragoman.engines.compute import fast_compute
from dragoman.errors import DataError
from dragoman.graph import Array, value_of
from dragoman.tasks.features import TOGETHER, TextFeatures, batches_of, cut, encode_features
from dragoman.tasks.inputs import takes_sentences
from dragoman.tasks.tagging.settings import TaggerMetadata
from dragoman.tasks.trained_model import TrainedModel

if TYPE_CHECKING:
    from dragoman.analysis.task_report import TaskReport

Text = str | Sequence[str]


@dataclass(frozen=True)
class TaggedText:
    """The words of a text, the most probable tag of each, and its probability."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    probabilities: tuple[float, ...]

    def line(self) -> str:
        """The/DET plant/NOUN is/AUX green/ADJ"""
        return " ".join(f"{word}/{tag}" for word, tag in zip(self.words, self.tags, strict=True))

    def as_dict(self) -> dict[str, Any]:
        return {
            "words": list(self.words),
            "tags": list(self.tags),
            "probabilities": [round(probability, 4) for probability in self.probabilities],
        }


class Tagger(TrainedModel):
    """A network with its word pieces and tags."""

    task = "tagging"
    metadata: TaggerMetadata

    @property
    def pieces(self) -> WordPieces:
        found: WordPieces = self.encoders["sentence"]
        return found

    @property
    def classes(self) -> Classes:
        found: Classes = self.encoders["tags"]
        return found

    @property
    def lexicon(self) -> Lexicon:
        found: Lexicon = self.encoders["words"]
        return found

    # Words in, tags out

    @takes_sentences
    def predict(self, texts: Sequence[Text]) -> list[TaggedText]:
        """The tag of each word. A text is cut into words and punctuation marks; a list is taken as its words."""
        sentences = [self.words_of(text) for text in texts]
        found = self.probabilities(sentences)
        names = self.classes.names
        return [
            TaggedText(
                tuple(words),
                tuple(names[i] for i in rows.argmax(axis=1)),
                tuple(float(probability) for probability in rows.max(axis=1, initial=0.0)),
            )
            for words, rows in zip(sentences, found, strict=True)
        ]

    def words_of(self, text: Text) -> list[str]:
        if not isinstance(text, str):
            words = [" ".join(word.split()) for word in text]
            if not all(words):
                raise DataError(f"word {words.index('') + 1} of a text is empty")
            return words
        return self._split(text)

    @cached_property
    def _split(self) -> Callable[[str], list[str]]:
        return word_splitter()

    def probabilities(self, sentences: Sequence[Sequence[str]]) -> list[Array]:
        """[words, tags] of each sentence."""
        rows = self._through(sentences, lambda batch: value_of(self.network.plain(batch)))
        return [_softmax(logits) for logits in rows]

    def _through(self, sentences: Sequence[Sequence[str]], run: Callable[[Batch], Array]) -> list[Array]:
        """The rows [words, ...] of the first piece of each word; a long sentence goes through in parts.

        run  from a batch to rows [N, ...]
        """
        encoded = encode_words(sentences, self.pieces)
        pieces = [(number, part) for number, rows in enumerate(encoded) for part in cut(rows, self.metadata.maximum)]
        found: list[Array] = [np.zeros(0)] * len(pieces)
        with fast_compute():
            for items in batches_of([sum(map(len, part)) for _, part in pieces], TOGETHER):
                ready = [joined_pieces(pieces[i][1]) for i in items]
                batch = Batch.pack([labels[: self.metadata.maximum] for labels, _ in ready])
                made = run(batch)
                for i, start, (_, firsts) in zip(items, batch.offsets[:-1], ready, strict=True):
                    found[i] = made[start + firsts]
        parts: list[list[Array]] = [[] for _ in sentences]
        for (number, _), rows in zip(pieces, found, strict=True):
            parts[number].append(rows)
        return [np.concatenate(some) if some else np.zeros((0, self.classes.size), np.float32) for some in parts]

    @takes_sentences
    def features(self, texts: Sequence[Text]) -> list[TextFeatures]:
        """Contextual vectors of the words of each text, and of the whole text."""
        sentences = [self.words_of(text) for text in texts]
        encoded = encode_words(sentences, self.pieces)
        read = [list(zip(words, rows, strict=True)) for words, rows in zip(sentences, encoded, strict=True)]
        return encode_features(self.network, read, self.metadata.maximum)

    # Testing analysis

    def evaluate(self, samples: Sequence[tuple[str, str]]) -> TaskReport:
        """What can be measured on sentences: their words and their tags, each between tabs."""
        from dragoman.tasks.tagging.evaluation import evaluate

        return evaluate(self, samples)


def _softmax(logits: Array) -> Array:
    if not len(logits):
        return logits
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    normalized: Array = shifted / shifted.sum(axis=1, keepdims=True)
    return normalized
