"""Pairs of label sequences in memory, to draw batches from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dragoman.batch import Batch
from dragoman.graph import Array

Labels = Sequence[int] | Array


class LabelPairs:
    """(source, reference) pairs; references have start and end labels."""

    def __init__(self, pairs: Sequence[tuple[Labels, Labels]]) -> None:
        self.pairs = pairs

    def __len__(self) -> int:
        return len(self.pairs)

    def lengths(self) -> Array:
        """Return [n, 2]: the number of labels of each source and reference."""
        return np.array([(len(source), len(reference)) for source, reference in self.pairs]).reshape(-1, 2)

    def batch(self, items: Array) -> Batch:
        chosen = [self.pairs[i] for i in items]
        return Batch.pairs([source for source, _ in chosen], [reference for _, reference in chosen])
