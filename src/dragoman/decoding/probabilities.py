"""Log-probabilities from logits, and of given sequences."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dragoman.batch import END, Batch
from dragoman.errors import NonFiniteError, ShapeError
from dragoman.graph import Array, value_of
from dragoman.operations.shapes import check_labels
from dragoman.operations.softmax import log_sum_exp

FIRST = END  # the first label that may be written; below are pad, unknown and start


def log_normalizer(logits: Array) -> Array:
    """log sum_s e^z_s, so that log p = z - log_normalizer(z)          logits [N, V] -> [N], in double precision

    The sum runs over all labels, also those that are never written: log p is the network's own distribution.
    """
    if logits.ndim != 2 or logits.shape[1] <= FIRST:
        raise ShapeError(
            f"expected logits [N, V] of more than {FIRST} tokens, the end token among them; got {logits.shape}"
        )
    top, normalizer = log_sum_exp(logits)
    if not np.isfinite(top).all():
        row = int(np.isfinite(top).argmin())
        raise NonFiniteError(f"row {row} of the logits has the maximum {top[row]}; check the network's weights")
    return normalizer


def check_possible(best: Array) -> None:
    """Raise if a sentence has no possible next label. best [B]: log-probability or logit of the best one."""
    if np.isneginf(best).any():
        raise NonFiniteError(
            f"sentence {int(np.isneginf(best).argmax())} of a batch: the network gives every label that may come next "
            "a probability of 0"
        )


def highest(x: Array, count: int) -> tuple[Array, Array]:
    """Return the `count` highest of each row, best first, ties from left to right: (values, columns), [N, count].

    A row with fewer entries above -inf is filled up with -inf at column 0.
    """
    count = min(count, x.shape[1])
    bound = np.partition(x, -count, axis=1)[:, -count]
    among = (x >= bound[:, None]) & (x > -np.inf)  # more than count if there are ties
    rows, columns = np.divmod(np.flatnonzero(among), x.shape[1])  # from left to right
    places = np.arange(len(rows)) - np.searchsorted(rows, rows)
    width = max(count, int(places.max(initial=-1)) + 1)
    values, sources = np.full((len(x), width), -np.inf, x.dtype), np.zeros((len(x), width), np.int64)
    values[rows, places], sources[rows, places] = x[rows, columns], columns
    order = np.argsort(-values, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(sources, order, axis=1)


class Scoring(Protocol):
    """The interface of networks that scoring needs."""

    @property
    def plain(self) -> Any:
        """The network without gradients: plain(batch) -> logits [N, V]."""
        ...


def log_probabilities(network: Scoring, batch: Batch) -> Array:
    """Return [N], log p(target | earlier labels), all positions in one pass (teacher forcing)."""
    if batch.targets is None:
        raise ShapeError("the batch has no targets, so there is nothing to score; build it with Batch.pairs")
    logits = value_of(network.plain(batch))
    check_labels("score", batch.targets, logits.shape[1])
    chosen: Array = logits[np.arange(len(logits)), batch.targets] - log_normalizer(logits)
    return chosen


def score(network: Scoring, batch: Batch) -> Array:
    """Return [B], log p(reference | source): summed over positions, without those of loss weight 0 (pads)."""
    at = log_probabilities(network, batch)
    if batch.loss_weights is not None:
        at = np.where(batch.loss_weights > 0, at, 0)
    sentence = np.repeat(np.arange(len(batch)), batch.lengths)
    return np.bincount(sentence, weights=at, minlength=len(batch))
