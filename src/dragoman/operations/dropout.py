"""Dropout whose masks are hashed from a counter, never stored.

The mask of an element depends on (seed, step, site, global row, column) and on nothing else: it is the same in every
engine and however a batch is cut into shards, and the backward pass computes it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dragoman.errors import ConfigurationError
from dragoman.graph import Array, Backward, operation
from dragoman.operations.shapes import check_shapes

# Multipliers of the 32-bit finaliser "lowbias32" (C. Wellons, hash-prospector), and the golden ratio in 32 bits.
FIRST, SECOND, GOLDEN = 0x7FEB352D, 0x846CA68B, 0x9E3779B9
ALL_BITS = 0xFFFFFFFF


def mix(h: Array) -> Array:
    """Scramble 32-bit words: every input bit flips about half of the output bits."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(FIRST)
    h = (h ^ (h >> np.uint32(15))) * np.uint32(SECOND)
    mixed: Array = h ^ (h >> np.uint32(16))
    return mixed


def mix_word(h: int) -> int:
    """Scramble one 32-bit word, without an array."""
    h = ((h ^ h >> 16) * FIRST) & ALL_BITS
    h = ((h ^ h >> 15) * SECOND) & ALL_BITS
    return h ^ h >> 16


@dataclass(frozen=True)
class Dropout:
    """One site of one training step: which elements of a matrix of rows are kept, and scaled by 1 / (1 - rate)."""

    rate: float
    key: int
    first_row: int = 0

    def mask(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """[N, d]: 0 where dropped, 1 / (1 - rate) where kept."""
        rows = (np.arange(shape[0], dtype=np.uint64) + np.uint64(self.first_row)).astype(np.uint32)
        columns = np.arange(shape[1], dtype=np.uint32) * np.uint32(GOLDEN)
        row_keys = mix(rows ^ np.uint32(self.key))
        words = mix(row_keys[:, None] + columns[None, :])
        kept = words >= np.uint32(self.rate * 2**32)
        return kept * np.asarray(1 / (1 - self.rate), np.float64 if dtype.kind == "c" else dtype)


@dataclass(frozen=True)
class DropoutKey:
    """The randomness of one training step. A network given no noise drops nothing."""

    seed: int
    step: int

    @cached_property
    def key(self) -> int:
        """What all sites of this step share."""
        key = 0
        for word in (self.seed, self.seed >> 32, self.step, self.step >> 32):
            key = _follow(key, word)
        return key

    def dropout(self, rate: float, site: int, first_row: int = 0) -> Dropout | None:
        """The dropout of one site (a place in the network), or None when the rate is 0."""
        if not 0 <= rate < 1:
            raise ConfigurationError(f"a dropout rate is at least 0 and below 1, got {rate}")
        if rate == 0:
            return None
        return Dropout(rate, _follow(self.key, site), first_row)


def _follow(key: int, word: int) -> int:
    return mix_word((key + word + GOLDEN) & ALL_BITS)


@operation
def drop(x: Array, *, dropout: Dropout | None) -> tuple[Array, Backward]:
    """y = x * mask                      x [N, d]; no dropout: y = x"""
    check_shapes("drop", x=(x, "N d"))
    if dropout is None:
        return x, lambda dy: dy
    y = x * dropout.mask(x.shape, x.dtype)

    def backward(dy: Array) -> Array:
        return dy * dropout.mask(x.shape, x.dtype)

    return y, backward
