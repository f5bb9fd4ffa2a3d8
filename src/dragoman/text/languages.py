"""Find texts in the wrong language, using only the corpus itself: no list of languages, no model to load.

Each side has a profile of its byte trigrams; a text whose trigrams are much likelier on the other side is in the wrong
column. It works for any two languages, as long as most of the corpus is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dragoman.graph import Array

BUCKETS = 1 << 16
CERTAIN = 1.0  # mean log-likelihood ratio per trigram, in nats, that is not chance
LONG_ENOUGH = 12  # bytes; shorter texts are not judged


def profile(chunks: Iterable[Sequence[str]]) -> Array:
    """Return the log-probability of each hash bucket of trigrams in some texts."""
    counts = np.full(BUCKETS, 0.1)
    for chunk in chunks:
        counts += np.bincount(_trigrams(chunk)[0], minlength=BUCKETS)
    table: Array = np.log(counts / counts.sum())
    return table


def language_evidence(chunks: Iterable[Sequence[str]], source: Array, reference: Array) -> Array:
    """Return [n], the mean log-likelihood ratio of each text: above 0 like references, below 0 like sources."""
    evidence = reference - source
    means = [np.zeros(0)]
    for chunk in chunks:
        buckets, starts, sizes = _trigrams(chunk)
        sums = np.add.reduceat(evidence[buckets], starts)
        means.append(np.where(sizes >= LONG_ENOUGH, sums / np.maximum(sizes, 1), 0))
    return np.concatenate(means)


def _trigrams(texts: Sequence[str]) -> tuple[Array, Array, Array]:
    """Return the buckets of the byte trigrams of some texts, where those of each text begin, and the texts' sizes."""
    encoded = [f"  {text.lower()} ".encode() for text in texts]  # padded: every text has a trigram
    sizes = np.array([len(e) for e in encoded])
    data = np.frombuffer(b"".join(encoded), np.uint8).astype(np.uint32)
    buckets = (data[:-2] * 961 + data[1:-1] * 217 + data[2:] * 3) % BUCKETS
    starts = np.cumsum(sizes) - sizes
    return buckets, starts, sizes - 3
