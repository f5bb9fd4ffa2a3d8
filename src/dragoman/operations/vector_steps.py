"""Gradient descent over a text, one prediction at a time: how word vectors are trained.

Every choice left to chance is a hash of (seed, epoch, place in the text, number of the draw): it does not matter who
draws it, or when. So an engine that replaces this takes exactly the same steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dragoman.graph import Array, dispatched
from dragoman.operations.dropout import ALL_BITS, GOLDEN, mix_word
from dragoman.operations.word_vectors import negative_sampling, predict

SUBSAMPLING, WINDOW, NEGATIVES = 1, 2, 3  # what is drawn


@dataclass(frozen=True)
class Plan:
    """How a text becomes predictions, and how far each one moves the vectors.

    cbow          the words around predict the middle one; otherwise (skip-gram) the middle one predicts each of them
    window        at most so many words on either side, the number drawn for each place
    negatives     words drawn against each true one; 0 is the full softmax
    first_rate, last_rate   the learning rate, falling in a straight line over `total` words
    kept [V]      a word stays in the text where its draw is at most this (subsampling of frequent words)
    shares, others [V]      whose turn it is among the negatives, an alias table: see `drawn`
    """

    cbow: bool
    window: int
    negatives: int
    first_rate: float
    last_rate: float
    total: int
    kept: Array
    shares: Array
    others: Array


@dataclass(frozen=True)
class Epoch:
    """One time through the text: its words are number `before` and following of all words there will be."""

    seed: int
    number: int
    before: int

    def key(self, what: int) -> int:
        """Return the hash key of one kind of draw."""
        key = 0
        for word in (self.seed, self.seed >> 32, self.number, what):
            key = mix_word((key + word + GOLDEN) & ALL_BITS)
        return key


@dispatched
def vector_steps(
    table: Array, outputs: Array, labels: Array, offsets: Array, *, plan: Plan, epoch: Epoch, first: int, last: int
) -> tuple[float, int]:
    """Train on the sentences first to last - 1, in place; return the sum of the errors and their number.

    table [V, d]   outputs [V, d]   labels [M], all words of the text   offsets [sentences + 1]
    """
    error, count = 0.0, 0
    for sentence in range(first, last):
        places = _kept_places(labels, int(offsets[sentence]), int(offsets[sentence + 1]), plan, epoch)
        for middle, place in enumerate(places):
            reach = plan.window - (mix_word(place & ALL_BITS ^ epoch.key(WINDOW)) * plan.window >> 32)
            around = labels[[*places[max(0, middle - reach) : middle], *places[middle + 1 : middle + 1 + reach]]]
            rate = plan.first_rate + (plan.last_rate - plan.first_rate) * ((epoch.before + place) / plan.total)
            row_key = mix_word(place & ALL_BITS ^ epoch.key(NEGATIVES))
            if plan.cbow:
                predictions = [(around, labels[place])] if len(around) else []
            else:
                predictions = [(labels[place : place + 1], word) for word in around]
            for number, (inputs, target) in enumerate(predictions):
                error += _step(table, outputs, inputs, int(target), plan, row_key, number, rate)
            count += len(predictions)
    return error, count


def _kept_places(labels: Array, start: int, stop: int, plan: Plan, epoch: Epoch) -> list[int]:
    key = epoch.key(SUBSAMPLING)
    return [place for place in range(start, stop) if mix_word(place & ALL_BITS ^ key) <= plan.kept[labels[place]]]


def drawn(plan: Plan, row_key: int, number: int) -> int:
    """Draw a word: a column of the alias table with equal chances, then the word of the column or its other one."""
    product = mix_word((row_key + number * GOLDEN) & ALL_BITS) * len(plan.shares)
    column, rest = product >> 32, product & ALL_BITS
    return column if rest <= plan.shares[column] else int(plan.others[column])


def _step(
    table: Array, outputs: Array, inputs: Array, target: int, plan: Plan, row_key: int, number: int, rate: float
) -> float:
    """The mean of the inputs (skip-gram has one) predicts the target; everything that took part moves a little."""
    h = table[inputs].mean(axis=0, keepdims=True)
    if plan.negatives:
        words = [drawn(plan, row_key, number * plan.negatives + k) for k in range(plan.negatives)]
        rows = np.array([target, *(word for word in words if word != target)])
        error, backward = negative_sampling.definition(
            h, outputs[rows], targets=np.zeros(1, int), negatives=np.arange(1, len(rows))[None]
        )
    else:
        rows = np.arange(len(outputs))
        error, backward = predict(h, outputs, np.array([target]))
    dh, doutputs = backward(np.ones((), table.dtype))
    step = table.dtype.type(rate)
    # Each of n inputs moves as far as their mean should, n times its derivative dh / n, as in word2vec and gensim: with
    # the derivative itself no rate that was tried gave vectors like theirs (docs/vectors.md has the figures).
    with np.errstate(all="ignore"):  # overflow is reported by the error of the next step
        np.subtract.at(table, inputs, step * dh)  # a word that stands there twice moves twice
        np.subtract.at(outputs, rows, step * doutputs)
    return float(error)
