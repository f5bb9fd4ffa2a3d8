"""What the claims of the notes share: a sample, and their formulas as printed.

The notes write one sample as a column, y = W x + b; the operations take it as a row, x W^T + b.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dragoman.analysis.audit.claim import Evidence, agreement
from dragoman.graph import Array
from dragoman.graph.gradient_check import COMPLEX_TOLERANCE
from dragoman.operations.teaching.jacobians import numerical_jacobian

RNG = np.random.default_rng(8)
x, W, b = RNG.standard_normal(4), RNG.standard_normal((3, 4)), RNG.standard_normal(3)  # n = 4, m = 3
W2, b2 = RNG.standard_normal((2, 3)), RNG.standard_normal(2)
dl_dy = RNG.standard_normal(3)


def jacobian(closed: Array, function: Callable[[Array], Array], at: Array) -> Evidence:
    """A printed Jacobian, all its entries, against the complex step of the function it belongs to."""
    return agreement("complex step", closed, numerical_jacobian(function, at), COMPLEX_TOLERANCE)


def affine(x: Array, W: Array, b: Array) -> Array:
    """(3.1), one row at a time: y_i = x_1 w_i1 + ... + x_n w_in + b_i"""
    return np.array([sum(x[j] * W[i, j] for j in range(len(x))) + b[i] for i in range(len(b))])


def exponential_share(x: Array) -> Array:
    """Softmax as the notes print it"""
    y: Array = np.exp(x) / np.exp(x).sum()
    return y
