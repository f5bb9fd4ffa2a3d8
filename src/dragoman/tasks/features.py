"""Contextual vectors: what the last layer of a network knows of each word of a text, and of the whole text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dragoman.batch import Batch
from dragoman.data.tokenizer import Tokenizer
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError
from dragoman.graph import Array, value_of
from dragoman.operations import mean_rows

TOGETHER = 4096  # pieces that go through a network at once
LONGEST = 512  # pieces of a text that a network sees together, unless it has fewer positions

Words = Sequence[tuple[str, Array]]  # the words of a text, each with its labels
Marks = tuple[int | None, int | None]  # labels before and after a text


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """The words of a text, a vector for each of them [W, d], and one for all [d]; 0 for an empty text."""

    words: tuple[str, ...]
    vectors: Array
    sentence: Array


@runtime_checkable
class HasFeatures(Protocol):
    """A model that knows how its texts are read."""

    def features(self, texts: Sequence[str]) -> list[TextFeatures]: ...


def features_of(model: Any, texts: Sequence[str]) -> list[TextFeatures]:
    """The vectors of each text, by a model of any task that reads text.

    A model without a method `features` has a network and a tokenizer: among its attributes or its encoders.
    """
    if isinstance(texts, str):
        raise ConfigurationError("features takes a list of texts: features([text])")
    if isinstance(model, HasFeatures):
        return model.features(texts)
    tokenizer = _tokenizer_of(model)
    return encode_features(model.network, [tokenizer.words(text) for text in texts])


def _tokenizer_of(model: Any) -> Tokenizer:
    encoders = getattr(model, "encoders", None) or {}
    for found in (*vars(model).values(), *encoders.values()):
        if isinstance(found, Tokenizer):
            return found
    raise ConfigurationError(f"a model for {model.metadata.task} reads no text, so words have no vectors in it")


def encode_features(
    network: Any, texts: Sequence[Words], longest: int = LONGEST, marks: Marks = (None, None)
) -> list[TextFeatures]:
    """Send texts through a network. A text longer than `longest` labels goes through in parts.

    marks  labels before and after each text or part, of networks that are trained with them
    """
    first = marks[0] is not None
    room = min(longest, getattr(network, "maximum_length", None) or longest) - first - (marks[1] is not None)
    labels = [[labels for _, labels in words] for words in texts]
    parts = [(number, part) for number, rows in enumerate(labels) for part in cut(rows, room)]
    lengths = [sum(map(len, part)) for _, part in parts]
    found: list[tuple[Array, Array]] = [(np.zeros(0), np.zeros(0))] * len(parts)
    with fast_compute():
        for items in batches_of(lengths, TOGETHER):
            batch = Batch.pack([_labels(parts[i][1], room, marks) for i in items])
            rows, samples = network_features(network, batch)
            for i, start, sample in zip(items, batch.offsets[:-1], samples, strict=True):
                found[i] = _word_means(rows[start + first :], parts[i][1], room), sample
        depth = found[0][1].shape[0] if found else network_features(network, Batch.pack([[1]]))[1].shape[1]
    own: list[list[int]] = [[] for _ in texts]
    for i, (number, _) in enumerate(parts):
        own[number].append(i)
    return [
        _joined([word for word, _ in words], [found[i] for i in some], [lengths[i] for i in some], depth)
        for words, some in zip(texts, own, strict=True)
    ]


def network_features(network: Any, batch: Batch) -> tuple[Array, Array]:
    """Rows [N, d] and one row for each sample [B, d]: of a language model what its last layer reads, and the mean."""
    if hasattr(network, "features"):
        rows, samples = network.features(batch)
        return rows, samples
    rows = value_of(network.plain.before_output(batch)[0])
    return rows, value_of(mean_rows(rows, offsets=batch.offsets))


def cut(words: Sequence[Array], room: int) -> list[list[Array]]:
    """The labels of words in parts of at most so many labels, and of at least one word."""
    parts: list[list[Array]] = []
    left = 0
    for labels in words:
        if not parts or len(labels) > left:
            parts.append([])
            left = room
        parts[-1].append(labels)
        left -= len(labels)
    return parts


def batches_of(lengths: Sequence[int], together: int) -> list[list[int]]:
    """Sequences of about the same length together, by number, as many as have so many labels."""
    batches: list[list[int]] = []
    left = 0
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if not batches or lengths[i] > left:
            batches.append([])
            left = together
        batches[-1].append(i)
        left -= lengths[i]
    return batches


def _labels(words: Sequence[Array], room: int, marks: Marks) -> Array:
    labels = np.concatenate(words)[:room]  # a word alone may be longer
    before, after = ([] if mark is None else [mark] for mark in marks)
    return np.concatenate([before, labels, after]).astype(labels.dtype)


def _word_means(rows: Array, words: Sequence[Array], room: int) -> Array:
    """[W, d] the mean of the rows of each word."""
    ends = np.minimum(np.cumsum([len(labels) for labels in words]), room)
    return value_of(mean_rows(rows[: ends[-1]], offsets=np.concatenate([[0], ends])))


def _joined(
    words: Sequence[str], parts: Sequence[tuple[Array, Array]], lengths: Sequence[int], depth: int
) -> TextFeatures:
    """The parts of a text as one; its vector is their mean, weighted by their labels."""
    if not parts:
        return TextFeatures((), np.zeros((0, depth), np.float32), np.zeros(depth, np.float32))
    sentence = np.average([sample for _, sample in parts], axis=0, weights=lengths)
    return TextFeatures(tuple(words), np.concatenate([rows for rows, _ in parts]), sentence.astype(np.float32))
