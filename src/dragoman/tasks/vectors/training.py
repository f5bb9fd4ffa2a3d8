"""Train word vectors on a text: count the words, number them, learn by predicting neighbours."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from dragoman.data.source import Source
from dragoman.data.stores import LabelStore
from dragoman.engines.compute import fast_compute
from dragoman.errors import ConfigurationError, DataError, NonFiniteError
from dragoman.graph import Array
from dragoman.operations.vector_steps import Epoch, vector_steps
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
    without waiting for each other, so that no two runs are alike.
    """
    s = settings or VectorSettings()
    if warning := check_threads(s.threads):
        notice(f"warning: {warning}")
    source = Source(str(text))
    name = source.shown
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
        corpus = numbered(sentences(source, s.split, s.lower_case), words, Path(directory) / "labels")
        with fast_compute(tell=notice):
            table = _learn(corpus, counts, s, tell)
        del corpus  # close the memory maps before deleting their files
    return WordVectors(words, table)


def _check_softmax(words: int, settings: VectorSettings) -> None:
    if not settings.negative and words > MOST_FOR_SOFTMAX:
        raise ConfigurationError(
            f"the full softmax moves all {words:,} words at each prediction and is meant for {MOST_FOR_SOFTMAX:,} "
            "at most; use negative sampling, or a higher minimum count"
        )


def _learn(corpus: LabelStore, counts: Array, s: VectorSettings, tell: Callable[[Progress], None]) -> Array:
    rng = np.random.default_rng(s.seed)
    table: Array = ((rng.random((len(counts), s.depth)) - 0.5) / s.depth).astype(np.float32)
    outputs = np.zeros_like(table)
    labels, offsets = corpus.data, corpus.offsets
    plan, blocks = make_plan(counts, len(labels), s), _blocks(corpus)

    def learn(epoch: Epoch, block: tuple[int, int]) -> tuple[float, int]:
        first, last = block
        return vector_steps(table, outputs, labels, offsets, plan=plan, epoch=epoch, first=first, last=last)

    predictions = 0
    with ThreadPoolExecutor(s.threads) as pool:
        for number in range(s.epochs):
            epoch = Epoch(s.seed, number, number * len(labels))
            for (_, last), (error, count) in zip(blocks, pool.map(partial(learn, epoch), blocks), strict=True):
                if not np.isfinite(error):
                    raise NonFiniteError(
                        f"epoch {number + 1}: the error is {error}: the vectors have overflowed; use a rate below "
                        f"{s.rate:g}"
                    )
                words = epoch.before + int(offsets[last])
                tell(Progress(number + 1, words, words / plan.total, error / max(1, count), last == len(corpus)))
                predictions += count
    if not predictions:
        raise DataError("subsampling left nothing of this short text; give more text, or use subsampling 0")
    return table


def _blocks(corpus: LabelStore) -> list[tuple[int, int]]:
    """Yield ranges of sentences with about BLOCK words each."""
    cuts = np.searchsorted(corpus.offsets, np.arange(0, len(corpus.data), BLOCK))
    return list(itertools.pairwise(int(cut) for cut in np.unique(np.append(cuts, len(corpus)))))
