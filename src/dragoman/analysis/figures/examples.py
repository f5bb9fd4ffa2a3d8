"""The networks that the figures of the documents are drawn from; small ones are trained for a moment."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dragoman.batch import END, START, Batch
from dragoman.graph import Array, value_of
from dragoman.loss import LossIndex
from dragoman.networks import (
    EncoderDecoder,
    Perceptrons,
    PerceptronsConfiguration,
    RecurrentConfiguration,
    RecurrentNetwork,
    RecurrentNetworkConfiguration,
    Transformer,
    TransformerConfiguration,
    preset,
)
from dragoman.optimization import Adam, Constant, GradientDescent
from dragoman.training import Stopping, train

VOCABULARIES = 4562, 6134  # of the thesis
LEXICON = ("deep", "engineering", "learning", "machine", "mathematical", "of", "statistics", "the")
SENTENCE = ["the", "mathematical", "engineering", "of", "deep", "learning"]
SPECIAL = ("[PAD]", "[UNK]", "[START]", "[END]")
PAIRS = (
    ("we love deep learning", "nous aimons l' apprentissage en profondeur"),
    ("we love music", "nous aimons la musique"),
    ("you love deep water", "vous aimez l' eau en profondeur"),
    ("you love learning", "vous aimez l' apprentissage"),
)
TOPICS = {
    "animals": ("cat", "dog", "horse", "cow", "sheep", "goat", "hen"),
    "colours": ("red", "green", "blue", "black", "white", "yellow", "brown"),
    "numbers": ("one", "two", "three", "four", "five", "six", "seven"),
}


@functools.cache
def thesis_network(size: str = "small") -> Transformer:
    """The Transformer of the thesis, with its vocabularies."""
    return Transformer(preset(size, *VOCABULARIES, normalization="outside"))


def toy_network(**settings: Any) -> RecurrentNetwork:
    """The recurrent network of the book's toy example: p = q = 8, m = 20."""
    return RecurrentNetwork(RecurrentNetworkConfiguration(inputs=8, units=20, outputs=8, **settings), dtype=np.float64)


def toy_batch() -> Batch:
    """The book's sentence, and the words that come next."""
    labels = np.array([LEXICON.index(word) for word in SENTENCE])
    return Batch(labels[:-1], np.array([0, len(labels) - 1]), labels[1:])


@functools.cache
def toy_with_one_error() -> RecurrentNetwork:
    """The toy network, trained until a single word is predicted wrongly, as in the book's Figure 7.5."""
    network, batch = toy_network(), toy_batch()
    for _ in range(200):
        if LossIndex().evaluate(network, batch).hits >= len(batch.labels) - 1:
            break
        train(network, [batch], GradientDescent(), Constant(0.1), Stopping(steps=1))
    return network


class Words:
    """Words as labels: the special ones first, then those of the sentences."""

    def __init__(self, sentences: tuple[str, ...]) -> None:
        self.words = [*SPECIAL, *dict.fromkeys(word for sentence in sentences for word in sentence.split())]

    def encode(self, sentence: str) -> Array:
        return np.array([START, *(self.words.index(word) for word in sentence.split()), END])

    def word(self, label: int) -> str:
        return self.words[label]


@functools.cache
def small_translator() -> tuple[Transformer, Words, Words]:
    """A Transformer that has learnt four sentences by heart, and its words."""
    source, reference = (Words(tuple(pair[side] for pair in PAIRS)) for side in (0, 1))
    configuration = TransformerConfiguration(
        source_vocabulary=len(source.words), target_vocabulary=len(reference.words), depth=32, perceptron_depth=64
    )
    network = Transformer(configuration)
    batch = Batch.pairs([source.encode(a) for a, _ in PAIRS], [reference.encode(b) for _, b in PAIRS])
    train(network, itertools.repeat(batch), Adam(), Constant(0.005), Stopping(steps=16))
    return network, source, reference


def encoder_decoder(context: Any, **settings: Any) -> EncoderDecoder:
    """A GRU encoder-decoder, small enough to be read."""
    given: dict[str, Any] = {"depth": 16, "units": 32, "source_vocabulary": 40, "target_vocabulary": 50, **settings}
    return EncoderDecoder(RecurrentConfiguration(cell="gru", context=context, **given))


@functools.cache
def topic_vectors() -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
    """Word vectors of three topics, the words, and the topic of each: the hidden layer of a network that predicts a
    word from the mean of three others in its sentence (CBOW, book 7.1)."""
    words = tuple(word for topic in TOPICS.values() for word in topic)
    network = Perceptrons(PerceptronsConfiguration(depths=(len(words), 8, len(words)), activation="identity"))
    train(network, _topic_batches(), Adam(), Constant(0.01), Stopping(steps=300))
    topics = tuple(topic for topic, members in TOPICS.items() for _ in members)
    return value_of(network.layers[0].weights).copy(), words, topics


def _topic_batches(samples: int = 64) -> Iterator[Batch]:
    rng = np.random.default_rng(0)
    sizes = [len(members) for members in TOPICS.values()]
    starts = np.cumsum([0, *sizes[:-1]])
    while True:
        topic = rng.integers(len(sizes), size=samples)
        drawn = starts[topic][:, None] + rng.integers(np.array(sizes)[topic][:, None], size=(samples, 4))
        rows = np.zeros((samples, sum(sizes)), np.float32)
        np.add.at(rows, (np.arange(samples)[:, None], drawn[:, :3]), 1 / 3)
        yield Batch(rows, np.arange(samples + 1), targets=drawn[:, 3])
