"""Train word vectors on a text: count the words, number them, learn by predicting neighbours."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from dragoman.data.source import Source
from dragoman.data.stores import LabelStore
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError, DataError, NonFiniteError
from dragoman.graph import Array
from dragoman.operations.vector_steps import Epoch, vector_steps
from dragoman.ranks import Ranks, current
from dragoman.tasks.vectors.averaging import Range, average, check_same_words, own_parts
from dragoman.tasks.vectors.plan import VectorSettings, make_plan
from dragoman.tasks.vectors.text import copied, count_words, frequent_words, numbered, sentences
from dragoman.tasks.vectors.words import WordVectors
from dragoman.training.workers import check_threads

MOST_FOR_SOFTMAX = 20_000  # words; the full softmax moves every one of them at each prediction
BLOCK = 50_000  # words between progress reports


@dataclass(frozen=True)
class Progress:
    """Progress after a block of the text: the share of all epochs that is done, and the mean error of the block."""

    epoch: int
    words: int  # so far, over all epochs
    done: float
    error: float
    ended: bool  # the epoch, with this block


def train_vectors(
    text: str | Path,
    settings: VectorSettings | None = None,
    tell: Callable[[Progress], None] = lambda progress: None,
    notice: Callable[[str], None] = lambda sentence: None,
) -> WordVectors:
    """Learn the vectors of the words of a text file, the most frequent first.

    With one thread the same text, settings and seed give the same vectors. Several threads write to the same tables
    without waiting for each other, so that no two runs are alike. Of several ranks, all call this and get the same
    vectors; see `averaging`.
    """
    s, ranks = settings or VectorSettings(), current()
    if warning := check_threads(s.threads):
        notice(f"warning: {warning}")
    source = Source(str(text))
    name = source.shown
    if ranks.size > 1 and source.is_single_pass:
        raise ConfigurationError(f"{name} can be read by one process only; save the text to a file for {ranks.size}")
    with tempfile.TemporaryDirectory(prefix="dragoman-", ignore_cleanup_errors=True) as directory:
        if source.is_single_pass:
            source = copied(source, Path(directory) / "text.txt")
        counted = count_words(sentences(source, s.split, s.lower_case), notice)
        words = frequent_words(counted, s.minimum_count)
        counts = np.array([counted[word] for word in words])
        often = "once" if s.minimum_count == 1 else f"{s.minimum_count} times"
        notice(
            f"{name}: {counted.total():,} words, {len(counted):,} different; {len(words):,} occur {often} or more, "
            f"{counts.sum() / counted.total():.1%} of the text"
        )
        _check_softmax(len(words), s)
        check_same_words(name, words, counts, ranks)
        corpus = numbered(sentences(source, s.split, s.lower_case), words, Path(directory) / "labels")
        with fast_compute(tell=notice):
            table = _learn(corpus, counts, s, ranks, tell)
        del corpus  # close the memory maps before deleting their files
    return WordVectors(words, table)


def _check_softmax(words: int, settings: VectorSettings) -> None:
    if not settings.negative and words > MOST_FOR_SOFTMAX:
        raise ConfigurationError(
            f"the full softmax moves all {words:,} words at each prediction and is meant for {MOST_FOR_SOFTMAX:,} "
            "at most; use negative sampling, or a higher minimum count"
        )


def _learn(
    corpus: LabelStore, counts: Array, s: VectorSettings, ranks: Ranks, tell: Callable[[Progress], None]
) -> Array:
    rng = np.random.default_rng(s.seed)
    table: Array = ((rng.random((len(counts), s.depth)) - 0.5) / s.depth).astype(np.float32)
    outputs = np.zeros_like(table)
    labels, offsets = corpus.data, corpus.offsets
    plan = make_plan(counts, len(labels), replace(s, rate=s.rate * ranks.size))

    def learn(epoch: Epoch, block: Range) -> Array:
        """Words, summed error and predictions of a block."""
        first, last = block
        found = vector_steps(table, outputs, labels, offsets, plan=plan, epoch=epoch, first=first, last=last)
        return np.array([offsets[last] - offsets[first], *found], np.float64)

    def learned(epoch: Epoch) -> Iterator[Array]:
        """The same of each block; of several ranks, of each part of the text."""
        if ranks.size == 1:
            yield from pool.map(partial(learn, epoch), _blocks(offsets, 0, len(corpus)))
            return
        for part in own_parts(offsets, len(table), ranks):
            found = sum(pool.map(partial(learn, epoch), _blocks(offsets, *part)), np.zeros(3))
            of_ranks = ranks.gather(found.tolist())
            average((table, outputs), of_ranks[:, 0], ranks)
            yield of_ranks.sum(axis=0)

    words = predictions = 0
    with ThreadPoolExecutor(s.threads) as pool:
        for number in range(s.epochs):
            for read, error, count in learned(Epoch(s.seed, number, number * len(labels))):
                if not np.isfinite(error):
                    raise NonFiniteError(
                        f"epoch {number + 1}: the error is {error}: the vectors have overflowed; use a rate below "
                        f"{s.rate:g}"
                    )
                words, predictions = words + int(read), predictions + int(count)
                ended = words == (number + 1) * len(labels)
                tell(Progress(number + 1, words, words / plan.total, error / max(1, count), ended))
    if not predictions:
        raise DataError("subsampling left nothing of this short text; give more text, or use subsampling 0")
    return table


def _blocks(offsets: Array, first: int, last: int) -> list[Range]:
    """Cut a range of sentences into ranges with about BLOCK words each."""
    cuts = np.searchsorted(offsets, np.arange(offsets[first], offsets[last], BLOCK))
    return list(itertools.pairwise(int(cut) for cut in np.unique(np.append(cuts, last))))
