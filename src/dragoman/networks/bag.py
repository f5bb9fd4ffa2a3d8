"""A bag of n-grams: every word, pair and triple of words votes for the outputs; their order counts no further."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
from pydantic import Field

from dragoman.batch import Batch
from dragoman.graph import Array, Parameter, Value, value_of
from dragoman.layers import ForwardContext, Initializer, Layer, Perceptron
from dragoman.networks.heads import EncoderSizes, EncodingNetwork
from dragoman.networks.network import Configuration
from dragoman.networks.sizes import MOST_LABELS, check_memory
from dragoman.operations import embed, mean_rows

PRIME = np.uint64(1_000_003)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class BagSettings(Configuration):
    """What is chosen of a Bag.

    ngrams   the longest run of labels that votes
    buckets  rows that runs of two and more labels share, by their hash
    dropout  share of the votes that are left out of a training step
    """

    ngrams: int = Field(default=2, ge=1, le=5)
    buckets: int = Field(default=1 << 18, ge=1, le=MOST_LABELS)
    dropout: float = Field(default=0.0, ge=0, lt=1)

    def summary(self) -> str:
        return "words" if self.ngrams == 1 else f"runs of up to {self.ngrams} words, {self.buckets:,} buckets"


class BagConfiguration(BagSettings, EncoderSizes):
    """Everything a Bag is built from."""

    vocabulary: int = Field(ge=1, le=MOST_LABELS)
    pooling: str = Field(default="mean", pattern="^mean$", exclude=True)

    @property
    def rows(self) -> int:
        """Of the table: labels, then buckets."""
        return self.vocabulary + (self.buckets if self.ngrams > 1 else 0)

    def count(self) -> int:
        """p, without building the network."""
        return self.rows * self.outputs + self.outputs * (self.outputs + 1)


class Votes(Layer):
    """The vote of every label and every bucket, [rows, outputs]."""

    table: Value

    def __init__(self, rows: int, outputs: int, initial: Initializer) -> None:
        self.table = Parameter(initial.zeros(rows, outputs))


class Bag(EncodingNetwork):
    """Labels -> n-grams -> their votes -> mean -> outputs.

    y = a(W x + b), x the mean of the table's rows; the table begins with 0 and W with the identity: what was never
    seen does not vote.
    """

    configuration: BagConfiguration

    def __init__(self, configuration: BagConfiguration, seed: int = 0, dtype: Any = np.float32) -> None:
        c = self.configuration = configuration
        check_memory(c.count(), dtype)
        initial, sites = Initializer(seed, dtype), itertools.count()
        self.votes = Votes(c.rows, c.outputs, initial)
        self.site = next(sites)
        self.output = Perceptron(c.outputs, c.outputs, initial, c.output_activation)
        self._bind()
        value_of(self.output.weights)[...] = np.eye(c.outputs)

    def ngrams(self, batch: Batch) -> Batch:
        """The rows of the table that vote in each sample: its labels, and the buckets of the runs that begin at each of
        them."""
        return batch.derive(functools.partial(_ngrams, c=self.configuration))

    def _read(self, batch: Batch, run: ForwardContext) -> tuple[Value, Value]:
        ngrams = self.ngrams(batch)
        dropout = run.dropout(self.configuration.dropout, self.site, ngrams.first_row)
        x = embed(self.votes.table, labels=ngrams.labels, dropout=dropout)
        return x, mean_rows(x, offsets=ngrams.offsets)

    def features(self, batch: Batch) -> tuple[Array, Array]:
        """The votes of the labels by themselves [N, outputs], and the mean of all votes [B, outputs]."""
        plain = self.plain
        alone = value_of(embed(plain.votes.table, labels=batch.labels))
        return alone, value_of(plain._read(batch, ForwardContext())[1])

    @property
    def maximum_length(self) -> None:
        """Nothing in it counts positions."""
        return

    def attention(self, batch: Batch) -> dict[str, Array]:
        """It looks nowhere."""
        return {}


def _ngrams(batch: Batch, c: BagConfiguration) -> Batch:
    samples = np.repeat(np.arange(len(batch)), batch.lengths)
    rows, owners = [batch.labels.astype(np.int64)], [samples]
    runs = batch.labels.astype(np.uint64) + np.uint64(1)
    ends = batch.offsets[1:][samples]
    for length in range(2, c.ngrams + 1):
        starts = np.flatnonzero(np.arange(len(samples)) + length <= ends)
        following = batch.labels[starts + length - 1].astype(np.uint64) + np.uint64(1)
        runs = runs[: len(samples)].copy()
        runs[starts] = runs[starts] * PRIME + following
        mixed = (runs[starts] * GOLDEN) >> np.uint64(20)
        rows.append(c.vocabulary + (mixed % np.uint64(c.buckets)).astype(np.int64))
        owners.append(samples[starts])
    owner = np.concatenate(owners)
    offsets = np.zeros(len(batch) + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=len(batch)), out=offsets[1:])
    # a shard begins after the n-grams of the samples before it, as if every one of them were long enough
    before = c.ngrams * batch.first_row - batch.first_sequence * c.ngrams * (c.ngrams - 1) // 2
    labels = np.concatenate(rows)[np.argsort(owner, kind="stable")]
    return Batch(labels, offsets, first_row=max(0, before), first_sequence=batch.first_sequence)
