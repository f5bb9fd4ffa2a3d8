"""Batch: sequences packed one after the other, without padding."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from dragoman.errors import ConfigurationError, LabelError, NonFiniteError, ShapeError
from dragoman.graph import Array

PAD, UNKNOWN, START, END = 0, 1, 2, 3


@dataclass(frozen=True, eq=False)
class Batch:
    """B sequences, their N positions as rows one after the other.

    labels   [N] integers, or [N, d] real rows (image patches, series); only real positions, no padding
    offsets  [B + 1]; sequence i is the rows offsets[i] to offsets[i + 1]
    targets  what the loss compares with, labels or real numbers: [N, ...] for positions, [B, ...] for samples
             (further axes: several labels each, real vectors); None when only predicting
    loss_weights  weight of each target in the error, [N] or [B]; None means 1 everywhere
    source   the sequences a decoder looks at, aligned with these; None for a single sequence
    first_row  the row of the whole batch at which this shard begins (dropout counts rows globally)
    per      what a target belongs to: every "position" or every "sample" (sequence); None: as many as there are tell
    first_sequence  the sequence of the whole batch at which this shard begins
    continues  whether sequence i goes on where sequence i of the batch before ended, so that a recurrent network may
             go on with its state; None: the sequences of different batches have nothing to do with each other

    The thesis's padded layout is the same thing with pad labels packed as ordinary rows of loss weight 0.
    """

    labels: Array
    offsets: Array
    targets: Array | None = None
    loss_weights: Array | None = None
    source: Batch | None = None
    first_row: int = 0
    per: Literal["position", "sample"] | None = None
    first_sequence: int = 0
    continues: bool | None = None

    def __post_init__(self) -> None:
        for name in ("labels", "offsets"):
            if not isinstance(getattr(self, name), np.ndarray):
                raise ShapeError(f"{name} must be an array, got {type(getattr(self, name)).__name__}; see Batch.pack")
        offsets = self.offsets
        if offsets.ndim != 1 or not offsets.size or offsets[0] != 0 or (np.diff(offsets) < 0).any():
            raise ShapeError(f"offsets must rise from 0, one more than there are sequences; got {offsets!r}")
        if offsets[-1] != len(self.labels):
            raise ShapeError(f"offsets end at {offsets[-1]}, but there are {len(self.labels)} rows")
        if np.issubdtype(self.labels.dtype, np.inexact) and not np.isfinite(self.labels).all():
            row = int(np.argwhere(~np.isfinite(self.labels))[0][0])
            raise NonFiniteError(f"row {row} of the batch holds NaN or infinity; clean the data before batching it")
        if self.source is not None and len(self.source) != len(self):
            raise ShapeError(f"{len(self.source)} sources but {len(self)} references")
        self._check_targets()

    def _check_targets(self) -> None:
        """Check targets and their weights: one per position or per sample, and finite."""
        if self.per not in (None, "position", "sample"):
            raise ConfigurationError(
                f"per is 'position' or 'sample', got {self.per!r}; it says what a target belongs to"
            )
        object.__setattr__(self, "per", self.per or self._inferred())
        count = len(self) if self.per == "sample" else len(self.labels)
        if self.targets is not None:
            if not isinstance(self.targets, np.ndarray) or len(self.targets) != count:
                shape = getattr(self.targets, "shape", type(self.targets).__name__)
                raise ShapeError(
                    f"targets {shape} are not one for each {self.per}: {len(self)} samples of {len(self.labels)} "
                    "positions altogether; say per='position' or per='sample' and give as many"
                )
            if self.targets.dtype.kind == "f" and not np.isfinite(self.targets).all():
                raise NonFiniteError("the targets hold NaN or infinity; clean the data before batching it")
        if self.loss_weights is not None:
            if self.loss_weights.shape != (count,):
                raise ShapeError(
                    f"loss_weights {self.loss_weights.shape} do not match the {count} "
                    f"{'samples' if self.per == 'sample' else 'rows'} that have targets"
                )
            if not np.isfinite(self.loss_weights).all() or (self.loss_weights < 0).any():
                raise NonFiniteError("loss_weights must be finite and not negative")

    def _inferred(self) -> Literal["position", "sample"]:
        """Infer from their number what targets belong to; raise an error if that is ambiguous."""
        targets = self.targets
        if not isinstance(targets, np.ndarray) or not targets.ndim or len(targets) != len(self):
            return "position"
        if len(self) == len(self.labels) and (self.lengths != 1).any():
            raise ShapeError(
                f"{len(self)} targets for {len(self)} samples of {len(self.labels)} positions altogether: they may "
                "belong to either; say per='position' or per='sample'"
            )
        return "position" if len(self) == len(self.labels) else "sample"

    def __len__(self) -> int:
        """B, the number of sequences."""
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Array:
        return np.diff(self.offsets)

    @cached_property
    def positions(self) -> Array:
        """[N] the position of each row in its own sequence, from 0."""
        starts: Array = np.repeat(self.offsets[:-1], self.lengths)
        return np.arange(len(self.labels)) - starts

    @property
    def weight(self) -> float:
        """The sum of the loss weights: what the error of the whole batch is divided by."""
        if self.loss_weights is not None:
            return float(self.loss_weights.sum(dtype=np.float64))  # the same by parts
        return float(len(self) if self.per == "sample" else len(self.labels))

    def shards(self, count: int) -> list[Batch]:
        """Split the batch into at most `count` batches of whole sequences with about equal work.

        A row that is predicted costs more than one of its source, by the output layer and attention across: 2.5 times
        as much in the preset Large, 13 times in Small. A factor of 4 is even enough for both.
        """
        if count <= 1 or len(self) <= 1:
            return [self]
        rows = (self.offsets if self.source is None else 4 * self.offsets + self.source.offsets).tolist()
        ends = [0]
        for i in range(1, count):
            goal = rows[-1] * i / count
            cut = bisect_left(rows, goal)
            ends.append(cut - (abs(rows[cut - 1] - goal) < abs(rows[cut] - goal)))
        return [self.between(a, b) for a, b in pairwise([*ends, len(self)]) if a < b]

    def derive(self, function: Callable[[Batch], Batch], width: int | None = None) -> Batch:
        """The batch that `function` makes of this one with NumPy, with as many sequences. A network that is traced
        for any batch has this function called for every batch. It must not refer to the network.

        width  of the rows that it makes; None: it makes labels
        """
        return function(self)

    def between(self, first: int, last: int) -> Batch:
        """Return sequences first to last - 1 with their first row; not checked again."""
        a, b = int(self.offsets[first]), int(self.offsets[last])
        judged = slice(first, last) if self.per == "sample" else slice(a, b)
        part = object.__new__(Batch)
        vars(part).update(
            labels=self.labels[a:b],
            offsets=self.offsets[first : last + 1] - a,
            targets=None if self.targets is None else self.targets[judged],
            loss_weights=None if self.loss_weights is None else self.loss_weights[judged],
            source=None if self.source is None else self.source.between(first, last),
            first_row=self.first_row + a,
            per=self.per,
            first_sequence=self.first_sequence + first,
            continues=self.continues,
        )
        return part

    @classmethod
    def pack(cls, sequences: Sequence[Sequence[int] | Array], source: Batch | None = None) -> Batch:
        """Sequences of labels (or of rows) without targets."""
        labels, offsets = _concatenate(sequences)
        return cls(labels, offsets, source=source)

    @classmethod
    def empty(cls) -> Batch:
        """No sequences at all."""
        return cls(np.zeros(0, np.int32), np.zeros(1, np.int64))

    @classmethod
    def rows(cls, x: Array, targets: Array | None = None) -> Batch:
        """Each row of x [N, d] a sample of its own, with its target."""
        return cls(x, np.arange(len(x) + 1), targets)

    @classmethod
    def pairs(cls, sources: Sequence[Sequence[int] | Array], references: Sequence[Sequence[int] | Array]) -> Batch:
        """Sequence transduction (2.2): the network reads a reference without its last label and must say the next one.

        Every reference carries its start and end labels: [start, a, b, end] is read as start, a, b with targets
        a, b, end. Positions whose target is the pad label weigh nothing in the loss.
        """
        if len(sources) != len(references):
            raise ShapeError(f"{len(sources)} sources but {len(references)} references")
        for i, reference in enumerate(references):
            if len(reference) < 2:
                raise LabelError(f"reference {i} has {len(reference)} labels; it needs at least its start and its end")
        return cls.shifted(*_concatenate(references), cls.pack(sources))

    @classmethod
    def shifted(cls, labels: Array, offsets: Array, source: Batch) -> Batch:
        """The same of references that are packed already, each of at least two labels."""
        read, compared = np.ones(len(labels), bool), np.ones(len(labels), bool)
        read[offsets[1:] - 1] = False
        compared[offsets[:-1]] = False
        targets = labels[compared]
        weights = (targets != PAD).astype(np.float32)
        return cls(labels[read], offsets - np.arange(len(offsets)), targets, weights, source)


def _concatenate(sequences: Sequence[Sequence[int] | Array]) -> tuple[Array, Array]:
    arrays = [np.asarray(sequence) for sequence in sequences]
    offsets = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([len(array) for array in arrays], out=offsets[1:])
    filled = [array for array in arrays if len(array)]
    if len({array.shape[1:] for array in filled}) > 1:
        raise ShapeError(f"rows of one batch have one width, got {sorted({array.shape[1:] for array in filled})}")
    return (np.concatenate(filled) if filled else np.zeros(0, np.int64)), offsets
