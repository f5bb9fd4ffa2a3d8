"""A bag of n-grams begins with what counting alone says: naive Bayes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman.batch import Batch
from dragoman.data.batching import Batching, plan_epoch
from dragoman.data.classes import Classes
from dragoman.data.dataset import Part
from dragoman.graph import Array, value_of
from dragoman.networks import Bag

SCALE = 1.0  # what the mean of the votes is multiplied by: naive Bayes adds them up, and is far too sure
SMOOTHING = 1.0  # examples of each class that every n-gram is counted in besides its own
SHRUNK = 3.0  # examples of the mean that the number of an n-gram is averaged with
TOGETHER = 256


def start_votes(network: Bag, part: Part, classes: Classes | None, balanced: bool) -> None:
    """Give every n-gram its log-ratio as its vote: log p(n-gram | class), less the mean over the classes.

    Of two classes, and of several labels, each against the others: log p(n-gram | label) - log p(n-gram | not label).
    Without classes, the mean of the scaled numbers where the n-gram occurs, shrunk towards 0 where it occurs seldom.
    N-grams that do not occur do not vote. The biases are those of the classes' shares, unless they weigh the same.

    Naive Bayes is what the weights of a logistic classifier are when n-grams are independent given the class; training
    corrects it where they are not (Wang and Manning 2012, Baselines and Bigrams).
    """
    counts, seen, totals = _count(network, part, classes)
    assert network.output.biases is not None
    table, biases = value_of(network.votes.table), value_of(network.output.biases)
    there = seen > 0
    if classes is None:
        votes = counts / (seen + SHRUNK)[:, None]
    elif classes.binary or classes.several:
        votes = _log_shares(counts) - _log_shares(seen[:, None] - counts)
        share = (totals + 1) / (len(part) + 2)
        biases[...] = 0 if balanced else np.log(share / (1 - share))
    else:
        votes = _log_shares(counts)
        votes -= votes.mean(axis=1, keepdims=True)
        logs = np.log((totals + 1) / (len(part) + len(totals)))
        biases[...] = 0 if balanced else logs - logs.mean()
    table[...] = np.where(there[:, None], SCALE * votes, 0)


def _log_shares(counts: Array) -> Array:
    smoothed = counts + SMOOTHING
    found: Array = np.log(smoothed / smoothed.sum(axis=0))
    return found


def _count(network: Bag, part: Part, classes: Classes | None) -> tuple[Array, Array, Array]:
    """[rows, outputs] the sum of the targets of the samples that an n-gram occurs in, [rows] their number, and
    [outputs] the sum of all targets."""
    c = network.configuration
    counts, seen, totals = np.zeros((c.rows, c.outputs)), np.zeros(c.rows), np.zeros(c.outputs)
    for items in plan_epoch(part.lengths(), Batching(TOGETHER), 0, 0):
        batch = part.batch(items)
        targets = _indicators(batch, classes)
        ngrams = network.ngrams(batch)
        owners = np.repeat(np.arange(len(batch)), ngrams.lengths)
        pairs = np.unique(owners * np.int64(c.rows) + ngrams.labels)  # an n-gram counts once in a sample
        owners, rows = pairs // c.rows, pairs % c.rows
        seen += np.bincount(rows, minlength=c.rows)
        totals += targets.sum(axis=0)
        for k in range(c.outputs):
            counts[:, k] += np.bincount(rows, targets[owners, k], minlength=c.rows)
    return counts, seen, totals


def _indicators(batch: Batch, classes: Classes | None) -> Array:
    """[B, outputs] the targets as numbers: 1 for classes that apply."""
    targets: Any = batch.targets
    if classes is None or classes.several:
        return np.asarray(targets, np.float64)
    if classes.binary:
        return np.asarray(targets, np.float64)[:, None]
    return np.asarray(np.eye(classes.size)[targets])
