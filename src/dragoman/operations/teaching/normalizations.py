"""Normalizations that average over other axes than token normalization (lecture; book 7.5).

token     over the columns of each row: `dragoman.operations.normalize`
batch     over all rows of the batch, column by column: every sample depends on all others
instance  over the positions of each sequence, column by column
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dragoman.graph import Array, Backward, operation
from dragoman.operations.normalization import standardize_rows
from dragoman.operations.shapes import check_offsets, check_shapes


@operation
def batch_normalize(x: Array, gamma: Array, beta: Array, *, epsilon: float = 1e-5) -> tuple[Array, Backward]:
    """y = gamma * (x - mu) / sqrt(sigma^2 + eps) + beta, with mean and variance of each column

    x [N, d]   gamma [d]   beta [d]   ->   y [N, d]
    """
    check_shapes("batch_normalize", x=(x, "N d"), gamma=(gamma, "d"), beta=(beta, "d"))
    xhat, standardize_backward = standardize_rows(x.T, "inside", epsilon)
    y = xhat.T * gamma + beta

    def backward(dy: Array) -> tuple[Array, Array, Array]:
        """(4.3.5)-(4.3.7), of columns"""
        dgamma = (xhat.T * dy).sum(axis=0)
        dbeta = dy.sum(axis=0)
        dx = standardize_backward((dy * gamma).T).T
        return dx, dgamma, dbeta

    return y, backward


@operation
def instance_normalize(
    x: Array, gamma: Array, beta: Array, *, offsets: Array, epsilon: float = 1e-5
) -> tuple[Array, Backward]:
    """The same with mean and variance of each column over the positions of each sequence

    x [N, d]   gamma [d]   beta [d]   ->   y [N, d]
    """
    check_shapes("instance_normalize", x=(x, "N d"), gamma=(gamma, "d"), beta=(beta, "d"))
    check_offsets("instance_normalize", x, offsets, "x")
    y, backwards = np.empty(x.shape, np.result_type(x, gamma, beta)), []
    for a, b in pairwise(offsets):
        if a < b:
            y[a:b], sequence_backward = batch_normalize.definition(x[a:b], gamma, beta, epsilon=epsilon)
            backwards.append((slice(a, b), sequence_backward))

    def backward(dy: Array) -> tuple[Array, Array, Array]:
        """Each sequence by itself; they share gamma and beta"""
        dx, dgamma, dbeta = np.empty_like(y), np.zeros_like(gamma), np.zeros_like(beta)
        for rows, sequence_backward in backwards:
            dx[rows], dgamma_of_sequence, dbeta_of_sequence = sequence_backward(dy[rows])
            dgamma = dgamma + dgamma_of_sequence
            dbeta = dbeta + dbeta_of_sequence
        return dx, dgamma, dbeta

    return y, backward
