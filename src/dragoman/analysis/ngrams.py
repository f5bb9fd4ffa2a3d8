"""Character n-grams: a model that anyone can make by counting, to see whether a network has learnt more than that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dragoman.errors import ConfigurationError, DataError
from dragoman.graph import Array

ORDER = 5
MOST = 7000  # kinds of characters, so that the number of an n-gram of order 5 fits into 64 bits; the others are one


class Order(NamedTuple):
    """The n-grams of one order, sorted by their number.

    numbers, counts  of the n-grams        contexts, totals, kinds  of what stands before the last character: how often,
    discount         what is taken off      and how many different characters follow
    """

    numbers: Array
    counts: Array
    contexts: Array
    totals: Array
    kinds: Array
    discount: float


@dataclass(frozen=True, eq=False)
class CharacterNgrams:
    """Interpolated Kneser-Ney smoothing (Kneser and Ney, 1995; Chen and Goodman, 1999) over characters.

    p_k(c | h) = max(n(h c) - D, 0) / n(h)  +  D N(h) / n(h) * p_{k-1}(c | h without its first character)

    with n the counts of order k, below the highest order the number of different characters before h c; N(h) how many
    different characters follow h; D = n_1 / (n_1 + 2 n_2), n_i the number of n-grams counted i times. Order 0 is
    uniform over the characters of the text and one for all others.
    """

    alphabet: Array
    orders: list[Order]

    @classmethod
    def count(cls, text: str, order: int = ORDER) -> CharacterNgrams:
        """Count the n-grams of a text up to an order."""
        if not 1 <= order <= ORDER:
            raise ConfigurationError(f"n-grams of order 1 to {ORDER} can be counted, not {order}")
        if not text:
            raise DataError("there is no text to count n-grams of")
        points, often = np.unique(_points(text), return_counts=True)
        alphabet = np.sort(points[np.argsort(-often, kind="stable")[:MOST]])
        labels, base = _labels(text, alphabet), len(alphabet) + 1
        numbers, counts = np.unique(_numbers(labels, order, base), return_counts=True)
        orders: list[Order] = []
        for k in range(order, 0, -1):
            orders.append(_order(numbers, counts, base))
            numbers, counts = np.unique(numbers % np.uint64(base ** (k - 1)), return_counts=True)
        return cls(alphabet, orders[::-1])

    @property
    def kinds(self) -> int:
        """Characters it tells apart, those it has never seen together as one."""
        return len(self.alphabet) + 1

    def probabilities(self, text: str) -> Array:
        """[n] p of every character of a text, given those before it."""
        labels = _labels(text, self.alphabet)
        p = np.full(len(labels), 1 / self.kinds)
        for k, found in enumerate(self.orders, start=1):
            if len(labels) < k:
                break
            numbers = _numbers(labels, k, self.kinds)
            counts = _looked_up(found.numbers, found.counts, numbers)
            contexts = numbers // np.uint64(self.kinds)
            totals = _looked_up(found.contexts, found.totals, contexts)
            kinds = _looked_up(found.contexts, found.kinds, contexts)
            known, shorter = totals > 0, p[k - 1 :]
            left = np.maximum(counts - found.discount, 0) + found.discount * kinds * shorter
            p[k - 1 :] = np.where(known, left / np.maximum(totals, 1), shorter)
        return p

    def bits(self, text: str) -> float:
        """Bits per character of a text."""
        return float(-np.log2(self.probabilities(text)).mean())


def _points(text: str) -> Array:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _labels(text: str, alphabet: Array) -> Array:
    """0 for what is not in the alphabet."""
    points = _points(text)
    places = np.minimum(np.searchsorted(alphabet, points), len(alphabet) - 1)
    return np.where(alphabet[places] == points, places + 1, 0).astype(np.uint64)


def _numbers(labels: Array, order: int, base: int) -> Array:
    """[n - order + 1] one number for every n-gram, its last character the lowest digit."""
    count = max(0, len(labels) - order + 1)
    numbers = np.zeros(count, np.uint64)
    for i in range(order):
        numbers = numbers * np.uint64(base) + labels[i : i + count]
    return numbers


def _order(numbers: Array, counts: Array, base: int) -> Order:
    contexts, starts = np.unique(numbers // np.uint64(base), return_index=True)
    totals, kinds = np.add.reduceat(counts, starts), np.diff(np.append(starts, len(numbers)))
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return Order(numbers, counts, contexts, totals, kinds, once / (once + 2 * twice) if once else 0.5)


def _looked_up(keys: Array, values: Array, wanted: Array) -> Array:
    """The value of each key that is wanted, 0 where there is none."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0)
