"""t-SNE: points of a plane whose neighbours are those of the vectors (van der Maaten and Hinton, 2008).

Exact, with its gradient beside its equation: a figure has hundreds of words, for which no tree is needed, and a
dependency on scikit-learn for one plot would weigh more than this file.
"""

from __future__ import annotations

import math

import numpy as np

from dragoman.errors import ConfigurationError, NonFiniteError, ShapeError
from dragoman.graph import Array, Tensor, backpropagate, operation
from dragoman.graph.tensor import Backward

MOST = 3000  # points: every step computes all pairs
STEPS, EARLY = 1000, 250  # of gradient descent; with exaggerated similarities, which gathers clusters first
EXAGGERATION, START = 12.0, 1e-4
LEAST = 1e-12  # of a similarity, so that its logarithm is finite
HALVINGS = 64


@operation
def divergence(y: Array, *, similarities: Array) -> tuple[Array, Backward]:
    """KL(P || Q) = sum_ij p_ij log(p_ij / q_ij),  q_ij = w_ij / sum w,  w_ij = 1 / (1 + |y_i - y_j|^2),  w_ii = 0

    y [n, 2]   similarities P [n, n], symmetric, sum 1   ->   []
    """
    difference = y[:, None] - y[None]
    w = 1 / (1 + (difference * difference).sum(axis=2))
    np.fill_diagonal(w, 0)
    p = similarities
    q = w / w.sum()
    there = p > 0
    value = (p[there] * (np.log(p[there]) - np.log(q[there]))).sum()

    def backward(dvalue: Array) -> Array:
        """dKL/dy_i = 4 sum_j (p_ij - q_ij) w_ij (y_i - y_j)"""
        pull: Array = (p - q) * w
        dy: Array = 4 * dvalue * (pull.sum(axis=1)[:, None] * y - pull @ y)
        return dy

    return np.asarray(value), backward


def similarities(vectors: Array, perplexity: float) -> Array:
    """[n, d] -> P [n, n], p_ij = (p_j|i + p_i|j) / 2n: p_j|i is a normal distribution around i, as wide as it takes to
    have `perplexity` neighbours."""
    squares = (vectors * vectors).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares[None] - 2 * vectors @ vectors.T, 0)
    np.fill_diagonal(distances, np.inf)
    distances -= distances.min(axis=1, keepdims=True)  # the nearest at 0: no row vanishes
    scale = np.median(distances[np.isfinite(distances)]) or 1.0
    conditional = _conditional(distances / scale, math.log(perplexity))
    joint: Array = (conditional + conditional.T) / (2 * len(vectors))
    return joint


def _conditional(distances: Array, entropy: float) -> Array:
    """exp(-beta_i d_ij) / sum, with beta_i found by bisection so that each row has the wanted entropy."""
    low, high = np.zeros(len(distances)), np.full(len(distances), np.inf)
    beta = np.ones(len(distances))
    for _ in range(HALVINGS):
        p = np.exp(-beta[:, None] * distances)
        p /= p.sum(axis=1, keepdims=True)
        wide = -(p * np.log(np.maximum(p, LEAST))).sum(axis=1) > entropy
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
        beta = np.where(np.isinf(high), 2 * beta, (low + np.where(np.isinf(high), 0, high)) / 2)
    return p


def usual_perplexity(count: int) -> float:
    """30 neighbours, as is usual, or a third of the others where there are fewer than 90."""
    return min(30.0, max(1.0, (count - 1) / 3))


def tsne(vectors: Array, start: Array, perplexity: float | None = None, seed: int = 0) -> Array:
    """[n, d] -> [n, 2]: minimise the divergence from `start` [n, 2] on (such as the principal plane).

    The seed moves equal vectors apart by a little; the same seed gives the same points.
    """
    count = len(vectors)
    if vectors.ndim != 2 or count < 4:
        raise ShapeError(f"t-SNE needs at least 4 vectors, got shape {vectors.shape}")
    if count > MOST:
        raise ConfigurationError(f"t-SNE of {count:,} points; up to {MOST:,} are drawn: name fewer words")
    if not np.isfinite(vectors).all():
        raise NonFiniteError("vectors with NaN or infinity have no neighbours; the network has diverged")
    wanted = usual_perplexity(count) if perplexity is None else perplexity
    if not 1 <= wanted <= count - 1:
        raise ConfigurationError(f"a perplexity between 1 and {count - 1} expected for {count} points, got {wanted:g}")
    p = similarities(vectors.astype(np.float64), wanted)
    spread = float(start[:, 0].std()) or 1.0
    y = START * start.astype(np.float64) / spread
    y += 1e-4 * START * np.random.default_rng(seed).standard_normal(y.shape)
    return _minimised(p, y)


def _minimised(p: Array, y: Array) -> Array:
    """Gradient descent with momentum; each coordinate's step grows while its direction stays (delta-bar-delta)."""
    rate = max(50.0, len(p) / EXAGGERATION / 4)
    for steps, momentum, exaggeration in ((EARLY, 0.5, EXAGGERATION), (STEPS - EARLY, 0.8, 1.0)):
        gains, velocity = np.ones_like(y), np.zeros_like(y)
        for _ in range(steps):
            points = Tensor(y)
            # of the exaggerated P, which does not sum to 1, this is the usual pull p - q, no longer a derivative
            (gradient,) = backpropagate(divergence(points, similarities=exaggeration * p), [points])
            gains = np.maximum(np.where(gradient * velocity < 0, gains + 0.2, gains * 0.8), 0.01)
            velocity = momentum * velocity - rate * gains * gradient
            y = y + velocity
    centred: Array = y - y.mean(axis=0)
    return centred
