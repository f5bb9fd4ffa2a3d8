"""Mix the training part of a dataset with samples of another one that has the same vocabularies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from dragoman.batch import Batch
from dragoman.data.dataset import Dataset, Part
from dragoman.graph import Array


@dataclass(frozen=True, eq=False)
class Mixture(Part):
    """The samples of a part, followed by those that are mixed in."""

    mixed_in: Part = field(kw_only=True)

    def __len__(self) -> int:
        return len(self.samples) + len(self.mixed_in)

    def lengths(self) -> Array:
        return np.concatenate([super().lengths(), self.mixed_in.lengths()])

    def batch(self, items: Array) -> Batch:
        own, others = items[items < len(self.samples)], items[items >= len(self.samples)] - len(self.samples)
        if not len(others):
            return super().batch(own)
        if not len(own):
            return self.mixed_in.batch(others)
        return concatenate(super().batch(own), self.mixed_in.batch(others))

    def texts(self, side: str) -> Iterator[str]:
        return chain(super().texts(side), self.mixed_in.texts(side))


class MixedDataset(Dataset):
    """A dataset whose training part includes samples of another one; `about` describes only its own.

    repeats  how often its own samples are in the training part
    """

    def __init__(self, own: Dataset, mixed_in: Part, repeats: int = 1) -> None:
        super().__init__(own.directory)
        self.mixed_in, self.repeats = mixed_in, repeats

    def part(self, name: str) -> Part:
        own = super().part(name)
        if name != "training":
            return own
        return Mixture(self, np.tile(own.samples, self.repeats), mixed_in=self.mixed_in)


def concatenate(first: Batch, second: Batch) -> Batch:
    """Concatenate two batches of pairs."""
    source = None if first.source is None or second.source is None else _concatenate_labels(first.source, second.source)
    both = _concatenate_labels(first, second)
    targets, weights = (
        None if a is None or b is None else np.concatenate([a, b])
        for a, b in ((first.targets, second.targets), (first.loss_weights, second.loss_weights))
    )
    return Batch(both.labels, both.offsets, targets, weights, source)


def _concatenate_labels(first: Batch, second: Batch) -> Batch:
    offsets = np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]])
    return Batch(np.concatenate([first.labels, second.labels]), offsets)
