"""Testing analysis: how well a test set was translated, by length and by sentence (thesis, 6.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dragoman.errors import DataError, NonFiniteError
from dragoman.graph import Array

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

RESAMPLES = 1000
EXAMPLES = 10
CHUNK = 1000
JUDGED = 400  # sentences that a verdict rests on, after `train` as in `evaluate`
REFERENCE_WORDS = 1  # their place in what sacrebleu's BLEU counts
GRAM = 4  # words of the longest sequences that BLEU counts
LENGTHS = {"0": 0, "1-5": 5, "6-10": 10, "11-15": 15, "16-20": 20, "21-30": 30, "31+": math.inf}  # name: most words


@dataclass(frozen=True)
class Sentence:
    """What was measured of one sentence of a test set."""

    source: str
    reference: str
    translation: str
    error: float  # the sum of the cross-entropy over its positions, the reference given
    hits: float  # positions whose most probable label is the target
    positions: float

    @property
    def words(self) -> int:
        return len(self.source.split())


@dataclass(frozen=True)
class ScoredSentence:
    sentence: Sentence
    chrf: float


@dataclass(frozen=True)
class Score:
    """A score of a test set with the bounds of its 95 % confidence interval; never without its signature."""

    value: float
    low: float
    high: float
    signature: str


@dataclass(frozen=True)
class LengthScores:
    """The sentences of one class of lengths. Without a position there is no accuracy."""

    words: str
    sentences: int
    accuracy: float | None
    bleu: float
    chrf: float


@dataclass(frozen=True)
class Judged:
    """The scores of the sentences that a verdict rests on.

    exact  share of translations that are the reference
    short  share of references that are too short for BLEU
    """

    sentences: int
    exact: float
    short: float
    bleu: Score
    chrf: Score


@dataclass(frozen=True)
class TestingAnalysis:
    __test__ = False  # pytest takes every class Test* for a test

    sentences: int
    positions: float
    error: float
    accuracy: float
    perplexity: float
    exact: float
    bleu: Score
    chrf: Score
    lengths: tuple[LengthScores, ...]
    best: tuple[ScoredSentence, ...]
    worst: tuple[ScoredSentence, ...]
    judged: Judged

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity: a perplexity too large for a float is null."""
        return {**asdict(self), "perplexity": self.perplexity if math.isfinite(self.perplexity) else None}


def testing_analysis(sentences: Sequence[Sentence], seed: int = 0) -> TestingAnalysis:  # noqa: PT028, not a test
    """Error, accuracy and scores of a test set; the seed draws the resamples of the confidence intervals."""
    positions = _count_positions(sentences)
    error = math.fsum(s.error for s in sentences) / positions
    bleu, chrf = _metrics(sentences)
    best, worst = _extremes([ScoredSentence(s, chrf.of([row])) for row, s in enumerate(sentences)])
    return TestingAnalysis(
        sentences=len(sentences),
        positions=positions,
        error=error,
        accuracy=math.fsum(s.hits for s in sentences) / positions,
        perplexity=_perplexity(error),
        exact=_exact(sentences),
        bleu=bleu.score(seed),
        chrf=chrf.score(seed),
        lengths=_by_length(sentences, bleu, chrf),
        best=best,
        worst=worst,
        judged=_judged(sentences, bleu, chrf, seed),
    )


def judged_rows(count: int) -> list[int]:
    """The samples of a test set that a verdict rests on: all, or 400 spread evenly, as files are often sorted."""
    rows: list[int] = np.linspace(0, count - 1, min(count, JUDGED)).round().astype(int).tolist()
    return rows


def _judged(sentences: Sequence[Sentence], bleu: _Statistics, chrf: _Statistics, seed: int) -> Judged:
    rows = judged_rows(len(sentences))
    short = float((bleu.counts[rows, REFERENCE_WORDS] < GRAM).mean())
    return Judged(
        len(rows), _exact([sentences[row] for row in rows]), short, bleu.score(seed, rows), chrf.score(seed, rows)
    )


def _exact(sentences: Sequence[Sentence]) -> float:
    return sum(s.translation == s.reference for s in sentences) / len(sentences)


def _count_positions(sentences: Sequence[Sentence]) -> float:
    """All positions of the set, once it is sure that something was measured and that it is a number."""
    for number, sentence in enumerate(sentences, 1):
        if not all(map(math.isfinite, (sentence.error, sentence.hits, sentence.positions))):
            raise NonFiniteError(
                f"sentence {number} of the test set ({sentence.source!r}) has the error {sentence.error} and "
                f"{sentence.hits} hits at {sentence.positions} positions; the network has diverged: test an earlier one"
            )
    positions = math.fsum(s.positions for s in sentences)
    if positions <= 0:
        raise DataError(f"a test set of {len(sentences)} sentences with {positions:g} positions: nothing to measure")
    return positions


def _perplexity(error: float) -> float:
    try:
        return math.exp(error)
    except OverflowError:
        return math.inf


class _Statistics:
    """What a metric counts in every sentence. The counts of a set are their sum, so any subset is scored from them.

    sacrebleu's own bootstrap holds all resamples at once (1.7 GB for the thesis's 23,793 sentences) and takes its seed
    from the environment. This one holds one at a time, makes the same draws, and is tested against it.
    """

    def __init__(self, metric: Metric, sentences: Sequence[Sentence]) -> None:
        self.metric = metric
        counts = []
        for start in range(0, len(sentences), CHUNK):  # the n-grams of a whole test set would take most of a gigabyte
            chunk = sentences[start : start + CHUNK]
            references = [[s.reference for s in chunk]]
            counts += metric._extract_corpus_statistics([s.translation for s in chunk], references)
        self.counts: Array = np.array(counts, dtype=np.float64)

    def _score(self, counts: Array) -> float:
        return float(self.metric._compute_score_from_stats(counts.tolist()).score)

    def of(self, rows: Sequence[int]) -> float:
        """The score of the sentences in these rows."""
        return self._score(self.counts[rows].sum(axis=0))

    def score(self, seed: int, rows: Sequence[int] | None = None) -> Score:
        """The score of the set, or of these rows, between the bounds of the central 95 % of resampled sets."""
        counts = self.counts if rows is None else self.counts[rows]
        rng, n = np.random.default_rng(seed), len(counts)
        drawn = (np.bincount(rng.choice(n, size=n), minlength=n) for _ in range(RESAMPLES))
        scores = sorted(self._score(times @ counts) for times in drawn)
        self.metric.n_bootstrap, self.metric.seed = RESAMPLES, str(seed)  # for the signature
        tail = RESAMPLES // 40
        signature = self.metric.get_signature().format()
        return Score(self._score(counts.sum(axis=0)), scores[tail], scores[-tail - 1], signature)


def _metrics(sentences: Sequence[Sentence]) -> tuple[_Statistics, _Statistics]:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return _Statistics(BLEU(force=True), sentences), _Statistics(CHRF(), sentences)  # force: log no advice


def _by_length(sentences: Sequence[Sentence], bleu: _Statistics, chrf: _Statistics) -> tuple[LengthScores, ...]:
    """The scores of every class of source lengths that has a sentence, short to long."""
    classes: dict[str, list[int]] = {name: [] for name in LENGTHS}
    for row, sentence in enumerate(sentences):
        classes[next(name for name, most in LENGTHS.items() if sentence.words <= most)].append(row)
    return tuple(
        LengthScores(name, len(rows), _accuracy([sentences[row] for row in rows]), bleu.of(rows), chrf.of(rows))
        for name, rows in classes.items()
        if rows
    )


def _accuracy(sentences: Sequence[Sentence]) -> float | None:
    positions = math.fsum(s.positions for s in sentences)
    return math.fsum(s.hits for s in sentences) / positions if positions else None


def _extremes(scored: Sequence[ScoredSentence]) -> tuple[tuple[ScoredSentence, ...], tuple[ScoredSentence, ...]]:
    """The best and the worst. Among equals the longest come first, as "Yes." says nothing; then the alphabet."""
    ordered = sorted(scored, key=lambda s: (-s.sentence.words, s.sentence.source, s.sentence.reference))
    best = sorted(ordered, key=lambda s: -s.chrf)[:EXAMPLES]
    worst = sorted(ordered, key=lambda s: s.chrf)[:EXAMPLES]
    return tuple(best), tuple(worst)
