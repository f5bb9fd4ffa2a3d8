"""Check sentence pairs for problems that their owner should know about before training.

Texts are written to a store on disk and read in chunks, so a corpus of any size needs only a few numbers of memory per
pair.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dragoman.data.pair_encoding import LONGEST
from dragoman.data.records import Record
from dragoman.data.stores import StoreWriter, TextStore
from dragoman.data.tokenizer import FREQUENT, Tokenizer
from dragoman.graph import Array
from dragoman.text.languages import CERTAIN, language_evidence, profile
from dragoman.text.sentences import collapsed

SIDES = ("source", "reference")
CHUNK = 4096
EXAMPLES = 3
PERCENTILES = (1, 5, 25, 50, 75, 95, 99)
LIMITS = (10, 20, 30, 50, 100, 200)
TOKENIZER_SAMPLE = 10_000

ODDITIES: dict[str, re.Pattern[str]] = {
    "a replacement character from a wrong decoding": re.compile("\ufffd"),
    "letters of a wrong decoding, such as Ã© for é": re.compile(r"Ã[\x80-\xbf©¡³±­º]|Â[¿¡«»°]|â€"),
    "a control character": re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"),
    "an invisible character": re.compile("[\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060\ufeff]"),
    "a no-break space": re.compile("[\u00a0\u202f]"),
    "an HTML entity or tag": re.compile(r"&(?:amp|lt|gt|quot|nbsp|#\d+);|</?[a-z]+[^>]*>", re.IGNORECASE),
    "an inverted question or exclamation mark without its partner": re.compile(r"¿(?!.*\?)|¡(?!.*!)"),
}


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


class Corpus:
    """Pairs on disk, with the file and line of each."""

    def __init__(self, records: Iterable[Record], directory: Path) -> None:
        numbers: dict[str, int] = {}
        places = array("q")
        with StoreWriter(directory / "source", 1) as sources, StoreWriter(directory / "reference", 1) as references:
            for (source, reference), file, line in records:
                sources.append(source.encode())
                references.append(reference.encode())
                places.extend((numbers.setdefault(file, len(numbers)), line))
        self.files = list(numbers)
        self.places: Array = np.asarray(places, np.int64).reshape(-1, 2)
        self.texts = [TextStore(directory / side) for side in SIDES]

    def __len__(self) -> int:
        return len(self.places)

    def examples(self, items: Array) -> tuple[str, ...]:
        """Format some pairs as examples for a report."""
        shown = []
        for i in items[:EXAMPLES]:
            file, line = self.places[i]
            source, reference = (_short(store.text(int(i))) for store in self.texts)
            shown.append(f"{self.files[file]}, line {line}: {source} | {reference}")
        return tuple(shown)

    def chunks(self, side: int) -> Iterator[list[str]]:
        for start in range(0, len(self), CHUNK):
            yield list(self.texts[side].texts(range(start, min(start + CHUNK, len(self)))))


def _short(text: str, longest: int = 50) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


@dataclass(frozen=True)
class Scan:
    """The texts of a side: a hash of each (equal texts have equal keys), its size, and the texts with each oddity."""

    keys: Array
    characters: Array
    words: Array
    odd: dict[str, list[int]]


def scan(corpus: Corpus, side: int) -> Scan:
    keys, sizes = array("Q"), array("l")
    odd: dict[str, list[int]] = {name: [] for name in ODDITIES}
    for chunk in corpus.chunks(side):
        for text in chunk:
            for name, pattern in ODDITIES.items():
                if pattern.search(text):
                    odd[name].append(len(keys))
            keys.append(int.from_bytes(hashlib.blake2b(collapsed(text).encode(), digest_size=8).digest(), "little"))
            sizes.extend((len(text), len(text.split())))
    table = np.asarray(sizes, np.int64).reshape(-1, 2)
    return Scan(np.asarray(keys, np.uint64), table[:, 0], table[:, 1], odd)


def examine(corpus: Corpus) -> Report:
    """Check a corpus by itself."""
    source, reference = scan(corpus, 0), scan(corpus, 1)
    first = first_of_each(source, reference)
    distinct, per_source = np.unique(source.keys[first], return_counts=True)
    cut, failed = zip(*(_tokenized(corpus, side) for side in (0, 1)), strict=True)
    signs = [*_pair_findings(corpus, source, reference, first), *_oddity_findings(corpus, source, reference)]
    return Report(
        len(corpus),
        len(distinct),
        len(np.unique(reference.keys)),
        int((per_source > 1).sum()),
        int(per_source.max(initial=0)),
        float(np.median(reference.characters / np.maximum(source.characters, 1))) if len(corpus) else 0.0,
        {"source": _lengths(source.words, cut[0]), "reference": _lengths(reference.words, cut[1])},
        [*signs, *_language_findings(corpus), *_round_trip_findings(corpus, failed[0] + failed[1])],
    )


def first_of_each(source: Scan, reference: Scan) -> Array:
    """Return the first occurrence of every distinct pair, in order."""
    pairs = np.stack((source.keys, reference.keys), axis=1)
    return np.sort(np.unique(pairs, axis=0, return_index=True)[1])


def ratio_outliers(source: Array, reference: Array) -> Array:
    """Return pairs whose length ratio is more than 4.5 robust deviations and a factor of 2.5 from the median."""
    ratio = np.log((reference + 5) / (source + 5))  # + 5 damps the variation of short texts
    away = np.abs(ratio - np.median(ratio)) if len(ratio) else ratio
    deviation = 1.4826 * float(np.median(away)) if len(away) else 0.0
    return np.flatnonzero((away > 4.5 * deviation) & (away > np.log(2.5)))


def leakage(corpus: Corpus, other: Corpus, name: str) -> list[Finding]:
    """Find texts of another corpus, such as a test set, that occur in this one too."""
    signs = []
    for side, word in enumerate(SIDES):
        items = np.flatnonzero(np.isin(scan(other, side).keys, scan(corpus, side).keys))
        if len(items):
            advice = "scores on it would be too good; dragoman data split keeps equal sources together"
            signs.append(Finding(f"{word} of {name} that occurs here too", len(items), advice, other.examples(items)))
    return signs


def _pair_findings(corpus: Corpus, source: Scan, reference: Scan, first: Array) -> Iterator[Finding]:
    repeated = np.setdiff1d(np.arange(len(corpus)), first)
    identical = np.flatnonzero(source.keys == reference.keys)
    outliers = ratio_outliers(source.characters, reference.characters)
    long = np.flatnonzero(np.maximum(source.words, reference.words) > LONGEST)
    for name, items, advice in (
        ("duplicate pairs", repeated, "dragoman data clean removes them"),
        ("source and target identical", identical, "fine for names and numbers, otherwise untranslated"),
        ("one side far too long for the other", outliers, "dragoman data clean removes them; check some first"),
        (f"more than {LONGEST:,} words on a side", long, "training leaves them out; cut them into sentences"),
    ):
        if len(items):
            yield Finding(name, len(items), advice, corpus.examples(items))


def _oddity_findings(corpus: Corpus, source: Scan, reference: Scan) -> Iterator[Finding]:
    for name in ODDITIES:
        items = np.unique(source.odd[name] + reference.odd[name]).astype(np.int64)
        if len(items):
            yield Finding(name, len(items), "dragoman data clean fixes spaces; check the rest", corpus.examples(items))


def _language_findings(corpus: Corpus) -> Iterator[Finding]:
    profiles = [profile(corpus.chunks(side)) for side in (0, 1)]
    foreign_source = language_evidence(corpus.chunks(0), *profiles) > CERTAIN
    foreign_reference = language_evidence(corpus.chunks(1), *profiles) < -CERTAIN
    for name, mask in (
        ("source and target seem swapped", foreign_source & foreign_reference),
        ("source seems to be in the target language", foreign_source & ~foreign_reference),
        ("target seems to be in the source language", foreign_reference & ~foreign_source),
    ):
        items = np.flatnonzero(mask)
        if len(items):
            yield Finding(name, len(items), "check some: they would teach the wrong language", corpus.examples(items))


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
