"""Batches for the benchmark: sentence pairs of a corpus or synthetic ones, windows of text, texts with classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dragoman.batch import END, START, Batch
from dragoman.bench.workloads import Size, Workload
from dragoman.data.batching import Batching, plan_epoch
from dragoman.data.dataset import Dataset, Part
from dragoman.data.pairs import LabelPairs
from dragoman.errors import ConfigurationError
from dragoman.graph import Array

FIRST_WORD = 4  # labels below are special tokens
# Fitted to the 118,964 pairs of eng-spa (WordPiece, vocabularies of the thesis, no start and end labels):
# mean and deviation of the log length of sources; intercept, slope and residual deviation of the log length of
# references, regressed on that of sources (correlation 0.81).
MEAN, DEVIATION, INTERCEPT, SLOPE, RESIDUAL = 2.08, 0.36, 0.27, 0.86, 0.22
LONGEST = 60
TEXT_LENGTHS = (10, 60)  # shortest and longest text to classify


@dataclass(frozen=True)
class Sentences:
    """A source of sentence pairs: a part of a corpus, or synthetic pairs without one."""

    part: Part | None = None
    name: str = "synthetic, with lengths like those of eng-spa"

    @property
    def vocabularies(self) -> tuple[int, int] | None:
        if self.part is None:
            return None
        source, reference = self.part.dataset.about["vocabularies"]
        return source, reference

    def batches(self, workload: Workload, size: Size) -> list[Batch]:
        """Return the batches of a workload. Grouped and unsorted workloads have the same sentences."""
        count = max(2, round(workload.batches * size.share))
        sentences = min(workload.sentences or size.sentences, size.sentences)
        if workload.network == "LanguageModel":
            length = round((workload.length or LONGEST) * size.share)
            return [window_batch(workload.sizes["vocabulary"], sentences, length, seed) for seed in range(count)]
        if workload.network == "Encoder":
            texts = synthetic_texts(count * sentences * 20, size.share, **workload.sizes)
            return _draw_batches(texts, workload, count, sentences)
        if workload.length is not None:
            length = max(3, round(workload.length * size.share))
            return [equal_batch(size, length, seed) for seed in range(count)]
        if self.part is None:
            pairs = synthetic_pairs(count * sentences * 20, size.vocabularies)
            return _draw_batches(pairs, workload, count, sentences)
        return _draw_batches(self.part, workload, count, sentences)

    def batches_in_epoch(self, size: Size) -> int:
        return 0 if self.part is None else math.ceil(len(self.part) / size.sentences)

    def sources(self, count: int, size: Size) -> list[Array]:
        """Return sentences to decode, with start and end labels."""
        if self.part is None:
            return [np.asarray(source) for source, _ in synthetic_pairs(count, size.vocabularies, seed=1).pairs]
        chosen = np.random.default_rng(1).choice(len(self.part), min(count, len(self.part)), replace=False)
        labels = self.part.dataset.encoded[0]
        return [np.asarray(labels[i]) for i in self.part.samples[chosen]]


def read_corpus(file: str, vocabularies: tuple[int, int]) -> Sentences:
    """Return the training part of a file of pairs, with WordPiece vocabularies of these sizes; cached."""
    from dragoman.tasks.translation.corpus import open_corpus
    from dragoman.tasks.translation.settings import PairData

    settings = PairData(files=(file,), split="sample", shares=(0.6, 0.2, 0.2), vocabulary=vocabularies, protect=False)
    dataset: Dataset = open_corpus(settings).dataset(0)
    return Sentences(dataset.part("training"), Path(file).name)


def synthetic_pairs(count: int, vocabularies: tuple[int, int], seed: int = 0) -> LabelPairs:
    """Draw random labels with Zipf frequencies and the lengths of short sentences."""
    rng = np.random.default_rng(seed)
    source = rng.normal(MEAN, DEVIATION, count)
    reference = INTERCEPT + SLOPE * source + rng.normal(0, RESIDUAL, count)
    sides = [
        _labels(np.clip(np.exp(lengths), 1, LONGEST).round().astype(int), vocabulary, rng)
        for lengths, vocabulary in zip((source, reference), vocabularies, strict=True)
    ]
    return LabelPairs(list(zip(*sides, strict=True)))


def _labels(lengths: Array, vocabulary: int, rng: np.random.Generator) -> list[Array]:
    words = _words(int(lengths.sum()), vocabulary, rng)
    return [np.array([START, *sentence, END]) for sentence in np.split(words, np.cumsum(lengths)[:-1])]


def _words(count: int, vocabulary: int, rng: np.random.Generator) -> Array:
    ranks = 1 / np.arange(1, vocabulary - FIRST_WORD + 1)
    return FIRST_WORD + rng.choice(vocabulary - FIRST_WORD, count, p=ranks / ranks.sum())


def window_batch(vocabulary: int, count: int, length: int, seed: int) -> Batch:
    """Make a batch of windows of one length for a language model; every label is the target of the one before."""
    text = _words(count * (length + 1), vocabulary, np.random.default_rng(seed)).reshape(count, length + 1)
    return Batch(text[:, :-1].ravel(), np.arange(0, count * length + 1, length), text[:, 1:].ravel())


@dataclass(frozen=True)
class Texts:
    """Texts, each with the number of its class."""

    texts: list[Array]
    classes: Array

    def __len__(self) -> int:
        return len(self.texts)

    def lengths(self) -> Array:
        """Return [n, 1]: the number of labels of each text."""
        return np.array([[len(text)] for text in self.texts])

    def batch(self, items: Array) -> Batch:
        return replace(Batch.pack([self.texts[i] for i in items]), targets=self.classes[items], per="sample")


def synthetic_texts(count: int, share: float, vocabulary: int, outputs: int) -> Texts:
    """Draw texts of 10 to 60 random labels with Zipf frequencies (times `share`), and random classes."""
    rng = np.random.default_rng(0)
    lengths = np.maximum(1, rng.integers(TEXT_LENGTHS[0], TEXT_LENGTHS[1], count, endpoint=True) * share).astype(int)
    texts = np.split(_words(int(lengths.sum()), vocabulary, rng), np.cumsum(lengths)[:-1])
    return Texts(texts, rng.integers(outputs, size=count))


def equal_batch(size: Size, length: int, seed: int) -> Batch:
    """Make a batch whose sources and shifted references all have `length` labels."""
    rng = np.random.default_rng(seed)
    source, reference = size.vocabularies
    lengths = np.full(size.sentences, length)
    return Batch.pairs(_labels(lengths - 2, source, rng), _labels(lengths - 1, reference, rng))


def _draw_batches(samples: LabelPairs | Part | Texts, workload: Workload, count: int, sentences: int) -> list[Batch]:
    """Draw batches evenly from an epoch, in its order or by length; unsorted: the same sentences shuffled."""
    lengths = samples.lengths()
    plan = list(plan_epoch(lengths, Batching(sentences, keep_remainder=False), seed=0, epoch=0))
    if not plan:
        raise ConfigurationError(
            f"{len(samples)} sentence pairs do not fill a batch of {sentences}; use a larger corpus"
        )
    if not workload.in_order:
        plan.sort(key=lambda items: int(lengths[items].sum()))
    setups = (np.arange(count) + 0.5) * len(plan) / count
    groups: Sequence[Array] = [plan[int(place)] for place in setups]
    if not workload.grouped:
        together = np.random.default_rng(0).permutation(np.concatenate(groups))
        groups = np.split(together, count)
    return [samples.batch(items) for items in groups]
