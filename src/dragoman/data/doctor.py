"""Check sentence pairs for problems that their owner should know about before training."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dragoman.data.corpus import SIDES, Corpus
from dragoman.data.findings import KINDS, Findings, scan
from dragoman.data.tokenizer import FREQUENT, Tokenizer
from dragoman.graph import Array
from dragoman.text.sentences import collapsed

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
LIMITS = (10, 20, 30, 50, 100, 200)
TOKENIZER_SAMPLE = 10_000


@dataclass(frozen=True)
class Finding:
    """A problem found: how many pairs have it, examples, and what to do about it."""

    name: str
    count: int
    advice: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lengths:
    """Word counts of one side: percentiles, the longest, and about how many texts each maximum length would cut."""

    percentiles: dict[int, int]
    longest: int
    cut_by: dict[int, int]  # in labels, start and end included, estimated from a sample


@dataclass(frozen=True)
class Report:
    """The results of a check."""

    pairs: int
    distinct_sources: int
    distinct_references: int
    several_references: int  # sources with more than one reference
    most_references: int
    ratio: float  # median of reference characters over source characters
    lengths: dict[str, Lengths]
    signs: list[Finding] = field(default_factory=list)


def examine(corpus: Corpus) -> Report:
    """Check a corpus by itself."""
    found = Findings(corpus)
    source, reference, first = found.source, found.reference, found.first
    distinct, per_source = np.unique(source.keys[first], return_counts=True)
    cut, failed = zip(*(_tokenized(corpus, side) for side in (0, 1)), strict=True)
    return Report(
        len(corpus),
        len(distinct),
        len(np.unique(reference.keys)),
        int((per_source > 1).sum()),
        int(per_source.max(initial=0)),
        float(np.median(reference.characters / np.maximum(source.characters, 1))) if len(corpus) else 0.0,
        {"source": _lengths(source.words, cut[0]), "reference": _lengths(reference.words, cut[1])},
        [*_findings(found), *_round_trip_findings(corpus, failed[0] + failed[1])],
    )


def _findings(found: Findings) -> Iterator[Finding]:
    for kind, (name, advice) in KINDS.items():
        items = found.items(kind)
        if len(items):
            yield Finding(name, len(items), advice, found.corpus.examples(items))


def leakage(corpus: Corpus, other: Corpus, name: str) -> list[Finding]:
    """Find texts of another corpus, such as a test set, that occur in this one too."""
    signs = []
    for side, word in enumerate(SIDES):
        items = np.flatnonzero(np.isin(scan(other, side).keys, scan(corpus, side).keys))
        if len(items):
            advice = "scores on it would be too good; dragoman data split keeps equal sources together"
            signs.append(Finding(f"{word} of {name} that occurs here too", len(items), advice, other.examples(items)))
    return signs


def _sample(corpus: Corpus) -> Array:
    return np.unique(np.linspace(0, len(corpus) - 1, TOKENIZER_SAMPLE).astype(int)) if len(corpus) else np.zeros(0, int)


def _tokenized(corpus: Corpus, side: int) -> tuple[dict[int, int], list[int]]:
    """Train a tokenizer on half a sample and encode all of it.

    Returns about how many texts of the corpus are longer than each limit, in labels with start and end, and which texts
    of the sample are not decoded to themselves.
    """
    sample = _sample(corpus)
    texts = list(corpus.texts[side].texts(sample))
    if not texts:
        return {}, []
    trained_on = texts[::2]
    # for the vocabulary size that the whole corpus would give
    frequent = max(1, round(FREQUENT * len(trained_on) / len(corpus)))
    tokenizer = Tokenizer.train(trained_on, frequent=frequent)
    encoded = tokenizer.encode(texts)
    sizes = np.array([len(labels) + 2 for labels in encoded])
    cut = {limit: round(float((sizes > limit).mean()) * len(corpus)) for limit in LIMITS}
    wanted = (collapsed(unicodedata.normalize("NFC", text)) for text in texts)
    back = tokenizer.decode(encoded)
    return cut, [int(i) for i, ours, text in zip(sample, back, wanted, strict=True) if ours != text]


def _round_trip_findings(corpus: Corpus, failed: list[int]) -> Iterator[Finding]:
    if failed:
        items = np.unique(failed)
        name = f"text that WordPiece trained on other pairs cannot restore (of {len(_sample(corpus)):,} checked)"
        yield Finding(name, len(items), "rare characters: bpe and unigram encode them as bytes", corpus.examples(items))


def _lengths(words: Array, cut: dict[int, int]) -> Lengths:
    if not len(words):
        return Lengths({}, 0, {})
    shown = {p: int(np.percentile(words, p, method="inverted_cdf")) for p in PERCENTILES}
    return Lengths(shown, int(words.max()), cut)
