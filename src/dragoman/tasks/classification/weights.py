"""Classes that count equally, however many examples they have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from dragoman.batch import Batch
from dragoman.data.classes import Classes
from dragoman.data.dataset import Part
from dragoman.graph import Array


def balanced_weights(classes: Classes) -> Array:
    """[K] n / (K n_k): the mean over the training examples is 1."""
    counts = np.maximum(np.array(classes.counts, np.float64), 1)
    weights: Array = counts.sum() / (len(counts) * counts)
    return weights.astype(np.float32)


@dataclass(frozen=True, eq=False)
class WeightedPart(Part):
    """Samples of a dataset that weigh as their class does."""

    weights: Array = field(repr=False)

    def batch(self, items: Array) -> Batch:
        batch = super().batch(items)
        return replace(batch, loss_weights=self.weights[batch.targets])
