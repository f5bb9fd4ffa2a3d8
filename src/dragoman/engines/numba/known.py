"""A network as kernels take it, and whether they know how."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dragoman.batch import END
from dragoman.engines.numba.jit import kernel
from dragoman.engines.numba.products import addresses
from dragoman.graph import Array
from dragoman.operations.writing import Flat

MANY = 3  # rows from which laying weights out pays


class Known(NamedTuple):
    """A network as kernels take it: what Flat tells, where the products are, and room for panels of weights."""

    theta: Array
    ends: Array
    encoders: Array
    decoders: Array
    source_positions: Array
    reference_positions: Array
    depth: int
    hidden: int
    heads: int
    source_vocabulary: int
    vocabulary: int
    pre: bool
    outside: bool
    tied: bool
    positioned: bool
    activation: int
    reach: int
    epsilon: float
    scale: float
    product: int
    transposed_product: int
    panels: Array


def known(flat: Flat, rows: int) -> Known:
    """`rows` are written at a time: for many, weights are laid out anew, which takes as long as reading them twice."""
    return Known(*flat, *addresses(), np.empty(flat.theta.size if rows >= MANY else 0, np.float32))


def fit(flat: Flat, batch_labels: Array) -> bool:
    """Whether kernels know such a network; where not, it is left to the definition."""
    theta = flat.theta
    if theta.dtype != np.float32 or not theta.flags.c_contiguous or flat.epsilon == 0:
        return False
    return (flat.depth // flat.heads) % 8 == 0 and batch_labels.dtype.kind in "iu" and flat.vocabulary > END


@kernel
def sound(net: Any, labels: Any, offsets: Any, prefixes: Any) -> Any:
    """Whether all labels and positions are known; where not, the definition says what is wrong"""
    for i in range(labels.shape[0]):
        if not 0 <= labels[i] < net.source_vocabulary:
            return False
    for s in range(prefixes.shape[0]):
        if net.positioned and offsets[s + 1] - offsets[s] > net.source_positions.shape[0]:
            return False
        for t in range(prefixes.shape[1]):
            if prefixes[s, t] >= net.vocabulary:
                return False
    return True
