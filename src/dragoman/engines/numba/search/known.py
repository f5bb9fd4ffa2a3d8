"""A network as kernels take it, and whether they know how."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, cast

import numpy as np

from dragoman.batch import END
from dragoman.engines.numba.panels import PANEL
from dragoman.engines.numba.products import ours
from dragoman.engines.numba.search.products import addresses
from dragoman.engines.numba.search.sieve import NO_SIEVE, make_sieve
from dragoman.graph import Array
from dragoman.operations.fused_search import ModelSpec

MANY, MANY_TIED = 3, 16  # rows from which laying weights out pays; a table must be turned as well


# A network as kernels take it: what Flat tells, where the products are, room for panels of weights and for a sieve.
Known: Any = cast("Any", namedtuple)("Known", (*ModelSpec._fields, "product", "transposed_product", "panels", "sieve"))


def known(flat: ModelSpec, rows: int, best_alone: bool = False) -> Any:
    """`rows` are written at a time: for many, weights are laid out anew, which takes about as long as a step.

    best_alone  nothing is asked of logits but the highest
    """
    many = rows >= (MANY_TIED if flat.tied else MANY)
    sifted = many and best_alone and flat.vocabulary >= PANEL and ours()
    sieve = make_sieve(flat.depth, flat.vocabulary) if sifted else NO_SIEVE
    return Known(*flat, *addresses(), np.empty(flat.theta.size if many else 0, np.float32), sieve)


def fit(flat: ModelSpec, batch_labels: Array) -> bool:
    """Whether kernels know such a network; where not, it is left to the definition."""
    theta = flat.theta
    if theta.dtype != np.float32 or not theta.flags.c_contiguous or not theta.flags.writeable or flat.epsilon == 0:
        return False
    return (flat.depth // flat.heads) % 8 == 0 and batch_labels.dtype.kind in "iu" and flat.vocabulary > END
