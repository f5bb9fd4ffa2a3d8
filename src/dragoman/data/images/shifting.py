"""Move images by a few pixels in training, so that a network does not learn their places by heart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dragoman.batch import Batch
from dragoman.data.batching import Batching, BatchStream, Samples
from dragoman.graph import Array


def shift_images(images: Array, offsets: Array) -> Array:
    """images [B, H, W, C] moved by offsets [B, 2] pixels, down and across; pixels at the edge are repeated."""
    most = int(np.abs(offsets).max(initial=0))
    if not most:
        return images
    height, width = images.shape[1:3]
    padded = np.pad(images, ((0, 0), (most, most), (most, most), (0, 0)), mode="edge")
    moved = np.empty_like(images)
    for down, across in np.unique(offsets, axis=0):
        chosen = np.flatnonzero((offsets == (down, across)).all(axis=1))
        moved[chosen] = padded[chosen, most - down : most - down + height, most - across : most - across + width]
    return moved


class ShiftedStream(BatchStream):
    """Batches of images that are moved by up to `most` pixels; how follows from seed, epoch and position."""

    def __init__(self, samples: Samples, batching: Batching, seed: int, most: int) -> None:
        super().__init__(samples, batching, seed)
        self.most = most

    def _batch(self, items: Array, own: slice) -> Batch:
        batch = super()._batch(items, own)
        rng = np.random.default_rng([self.seed, self.epoch, self.position, self.most])
        offsets = rng.integers(-self.most, self.most + 1, (len(items), 2))
        return replace(batch, labels=shift_images(batch.labels, offsets[own]))
