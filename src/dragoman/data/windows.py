"""Windows over a text: what a language model reads at once, and in which order.

A window is a sample: it reads `context` tokens and must say the next one after each of them. In training the windows
begin at multiples of the context plus a shift that is drawn anew for every epoch, so that a text is not always cut at
the same places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dragoman.batch import Batch
from dragoman.data.batching import Batching, BatchStream
from dragoman.data.dataset import Part
from dragoman.graph import Array

TRACKS = 16  # in which the state of a recurrent network is carried through a part that is evaluated


@dataclass(frozen=True, eq=False)
class Windows(Part):
    """The windows of a part: tokens first to last - 1 of the stream. Only the last window may be shorter."""

    dataset: Any  # a TokenStream
    first: int = 0
    last: int = 0

    @property
    def context(self) -> int:
        found: int = self.dataset.schema.context
        return found

    @property
    def predicted(self) -> int:
        """Tokens that have another one before them."""
        return max(0, self.last - self.first - 1)

    def lengths(self) -> Array:
        starts: Array = self.context * self.samples
        lengths: Array = np.minimum(self.context, self.predicted - starts)
        return lengths[:, None]

    def batch(self, items: Array) -> Batch:
        return self.windows(self.context * items)

    def windows(self, places: Array, length: int | None = None) -> Batch:
        """Windows that begin at these places of the part."""
        most = self.context if length is None else length
        lengths = np.minimum(most, self.predicted - places)
        offsets = np.zeros(len(places) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        rows = np.arange(offsets[-1]) + np.repeat(self.first + places - offsets[:-1], lengths)
        tokens = self.dataset.tokens
        return Batch(tokens[rows].astype(np.int32), offsets, tokens[rows + 1].astype(np.int32))

    def tracks(self, count: int = TRACKS) -> Iterator[Batch]:
        """The part as so many tracks side by side, each batch going on where the last one ended; all but the last few
        tokens, fewer than there are tracks."""
        count = max(1, min(count, self.predicted // self.context))
        length = self.predicted // count
        for t in range(0, length, self.context):
            found = self.windows(np.arange(count) * length + t, min(self.context, length - t))
            yield replace(found, continues=t > 0)


def count_windows(tokens: int, context: int, training: bool) -> int:
    """Windows of a part: in training those that fit for every shift, else all, the last one shorter."""
    if training:
        return max(int(tokens > context), (tokens - context) // context)
    return max(0, -(-(tokens - 1) // context))


class WindowStream(BatchStream):
    """Windows in random order, shifted by another number of tokens in every epoch."""

    samples: Windows

    def _make_plan(self) -> Sequence[Array]:
        part, rng = self.samples, np.random.default_rng([self.seed, self.epoch, 1])
        room = min(part.context - 1, part.predicted - part.context * len(part))
        self._shift = int(rng.integers(room + 1))
        return super()._make_plan()

    def _batch(self, items: Array, own: slice) -> Batch:
        return self.samples.windows(self._shift + self.samples.context * items[own])


class TrackStream(BatchStream):
    """Tracks of contiguous text side by side: batches go on where the last ended, until the end of the epoch.

    Where the tracks begin is drawn anew for every epoch.
    """

    samples: Windows

    def _make_plan(self) -> list[Array]:
        part, c = self.samples, self.samples.context
        tracks = max(1, round(_tracks(self.batching, c) * self.batching.factor(self.epoch)))
        self.tracks = min(tracks, part.predicted // c)
        steps = part.predicted // (self.tracks * c)
        rng = np.random.default_rng([self.seed, self.epoch, 1])
        self._shift = int(rng.integers(part.predicted - self.tracks * steps * c + 1))
        return [np.arange(self.tracks) * steps + t for t in range(steps)]

    def _sizes(self, items: Array) -> Array:
        return np.ones(len(items))

    def _batch(self, items: Array, own: slice) -> Batch:
        found = self.samples.windows(self._shift + self.samples.context * items[own])
        return replace(found, continues=self.position > 1)


def _tracks(batching: Batching, context: int) -> int:
    return batching.samples if batching.tokens is None else max(1, batching.tokens // context)
