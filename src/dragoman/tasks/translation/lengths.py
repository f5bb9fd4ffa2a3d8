"""What the training pairs of a translator were like: a text is taken apart into sources of that kind."""

from __future__ import annotations

from itertools import islice

import numpy as np

from dragoman.data.dataset import Part
from dragoman.graph import Array
from dragoman.tasks.translation.settings import SampleLengths
from dragoman.text.sentences import split_sentences

SAMPLED = 20_000  # pairs to learn from
READ = 5_000  # of them, sources whose sentences are counted
MOST = 1_000_000  # pairs that these are taken from: sorting takes memory
GOLDEN_RATIO = 0.6180339887498949  # its multiples spread evenly: corpora are often sorted by length
USUAL = 0.9  # quantile of sentences
NEARLY_ALL = 0.95  # quantile of tokens
HARDLY_ANY = 0.005  # quantile of the lengths of targets for their sources ...
OF_THE_MEDIAN = (0.5, 0.7)  # ... which stays in these bounds: some pairs are wrong, and few tell little
JUDGED = 8  # tokens of a source from which its length says something ...
ENOUGH = 100  # ... if so many pairs have them; else the ratio is that of all pairs


def sampled(part: Part) -> Part:
    """Some pairs of a part, at most so many, in an order whose every beginning comes from the whole part."""
    taken = part.samples[:: max(1, len(part) // MOST)]
    order = np.argsort((np.arange(len(taken)) * GOLDEN_RATIO) % 1, kind="stable")
    return Part(part.dataset, taken[order[:SAMPLED]])


def sample_lengths(training: Part, base: SampleLengths | None = None) -> SampleLengths:
    """Learn them from the training part; a model that is fine-tuned can do what it could before."""
    part, base = sampled(training), base or SampleLengths()
    if not len(part):
        return base
    sentences = [len(split_sentences(text.strip())) for text in islice(part.texts("source"), READ)]
    tokens = part.lengths() - [2, 1]  # of the source without its marks, of the target those that are written
    return SampleLengths(
        sentences=max(base.sentences, int(np.quantile(sentences, USUAL, method="lower"))),
        tokens=max(base.tokens, int(np.quantile(tokens[:, 0], NEARLY_ALL))),
        ratio=_least_ratio(tokens),
    )


def _least_ratio(tokens: Array) -> float:
    long = tokens[tokens[:, 0] >= JUDGED]
    lengths = long if len(long) >= ENOUGH else tokens
    ratios = lengths[:, 1] / np.maximum(lengths[:, 0], 1)
    low, high = (share * float(np.median(ratios)) for share in OF_THE_MEDIAN)
    return round(min(max(low, float(np.quantile(ratios, HARDLY_ANY))), high), 4)
