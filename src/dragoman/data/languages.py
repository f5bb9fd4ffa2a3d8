"""Which column's language a text is in, judged by the corpus itself: no list of languages, no model to load.

Each side's character triples give it a profile; a text whose triples are much likelier on the other side stands in the
wrong column. It works for any two languages, as long as most of the corpus is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dragoman.graph import Array

BUCKETS = 1 << 16
CERTAIN = 1.0  # mean evidence, in nats for each triple, that is no accident
LONG_ENOUGH = 12  # bytes; shorter texts are not judged


def profile(chunks: Iterable[Sequence[str]]) -> Array:
    """Log-probability of each bucket of character triples in some texts."""
    counts = np.full(BUCKETS, 0.1)
    for chunk in chunks:
        counts += np.bincount(_triples(chunk)[0], minlength=BUCKETS)
    table: Array = np.log(counts / counts.sum())
    return table


def leaning(chunks: Iterable[Sequence[str]], source: Array, reference: Array) -> Array:
    """[n] mean evidence of each text: above 0 it looks like the references, below like the sources; 0 if too short."""
    evidence = reference - source
    means = [np.zeros(0)]
    for chunk in chunks:
        buckets, starts, sizes = _triples(chunk)
        sums = np.add.reduceat(evidence[buckets], starts)
        means.append(np.where(sizes >= LONG_ENOUGH, sums / np.maximum(sizes, 1), 0))
    return np.concatenate(means)


def _triples(texts: Sequence[str]) -> tuple[Array, Array, Array]:
    """Buckets of the byte triples of some texts; where each text's begin; the texts' sizes in bytes."""
    encoded = [f"  {text.lower()} ".encode() for text in texts]  # padded: every text has a triple
    sizes = np.array([len(e) for e in encoded])
    data = np.frombuffer(b"".join(encoded), np.uint8).astype(np.uint32)
    buckets = (data[:-2] * 961 + data[1:-1] * 217 + data[2:] * 3) % BUCKETS
    starts = np.cumsum(sizes) - sizes
    return buckets, starts, sizes - 3
