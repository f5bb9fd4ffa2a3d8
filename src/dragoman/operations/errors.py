"""Error functions: from the outputs of a network and its targets to one number, with the output deltas beside it."""

from __future__ import annotations

import math

import numpy as np

from dragoman.errors import ConfigurationError, LabelError
from dragoman.graph import Array, Backward, operation
from dragoman.operations.linear import linear
from dragoman.operations.shapes import check_finite, check_labels, check_shapes
from dragoman.operations.softmax import shifted


@operation
def cross_entropy(
    logits: Array,
    *,
    targets: Array,
    weights: Array | None = None,
    smoothing: float = 0.0,
    total: float | None = None,
) -> tuple[tuple[Array, float], Backward]:
    """e = sum_j w_j (log sum_s e^zhat_js - zhat_jt) / sum_j w_j,  zhat = z - max z     (thesis, (4.2.3), listing 19)

    logits [N, V]   targets [N]   weights [N], 0 at padding   ->   e, and the weighted number of right predictions
    smoothing: the target distribution is (1 - smoothing) one-hot + smoothing / V
    total: what the sums are divided by, when this is one shard of a larger batch
    """
    check_shapes("cross_entropy", logits=(logits, "N V"), targets=(targets, "N"), weights=(weights, "N"))
    check_labels("cross_entropy", targets, logits.shape[1])
    if not 0 <= smoothing < 1:
        raise ConfigurationError(f"label smoothing is at least 0 and below 1, got {smoothing}")
    rows, size = np.arange(len(targets)), logits.shape[1]
    w = np.ones(len(targets), logits.real.dtype) if weights is None else weights.astype(logits.real.dtype)
    positions = float(w.sum() if total is None else total)
    factor = w / positions if positions else w  # a batch that is all padding has no error

    with np.errstate(all="ignore"):  # overflow is reported below, once
        z = shifted(logits)
        exponentials = np.exp(z)
        sums = exponentials.sum(axis=1)
        losses = np.log(sums) - (1 - smoothing) * z[rows, targets]
        if smoothing:
            losses = losses - smoothing * z.mean(axis=1)
        error = np.asarray(factor @ losses)
    check_finite("the cross-entropy", error)
    hits = float(w @ (logits.real.argmax(axis=1) == targets)) if len(targets) else 0.0

    def backward(derror: Array, _: None = None) -> Array:
        """(4.2.4): Delta = (softmax(z) - target distribution) w / sum w"""
        delta: Array = exponentials / sums[:, None]
        delta[rows, targets] -= 1 - smoothing
        if smoothing:
            delta -= smoothing / size
        delta *= (factor * derror)[:, None]
        return delta

    return (error, hits), backward


@operation
def linear_cross_entropy(
    x: Array,
    weights: Array,
    biases: Array | None = None,
    *,
    targets: Array,
    loss_weights: Array | None = None,
    smoothing: float = 0.0,
    total: float | None = None,
    transposed: bool = False,
) -> tuple[tuple[Array, float], Backward]:
    """The cross-entropy of the logits x W + b: the last layer and the error as one, for nobody else needs the logits

    x [N, d]   weights [d, V], or [V, d] when transposed   biases [V] or None; the rest as for cross_entropy
    """
    logits, linear_backward = linear.definition(x, weights, biases, transposed=transposed)
    value, error_backward = cross_entropy.definition(
        logits, targets=targets, weights=loss_weights, smoothing=smoothing, total=total
    )

    def backward(derror: Array, _: None = None) -> tuple[Array, Array, Array | None]:
        derivatives: tuple[Array, Array, Array | None] = linear_backward(error_backward(derror))
        return derivatives

    return value, backward


@operation
def mean_squared_error(
    y: Array, *, targets: Array, weights: Array | None = None, total: float | None = None
) -> tuple[Array, Backward]:
    """e = sum_i w_i mean_j (y_ij - t_ij)^2 / sum_i w_i          (thesis, Example 1.1; notes 3.6, where all w_i = 1)

    y, targets [N, ...]   weights [N], one for each row
    total: the sum of the weights (without weights, the rows) of the whole batch, when this is one shard of it
    """
    check_shapes("mean_squared_error", **_same_axes(y, targets, weights))
    difference = y - targets.astype(y.real.dtype)
    factor = _factor(y, weights, total)
    with np.errstate(all="ignore"):  # overflow is reported below, once
        error = np.asarray((factor * difference * difference).sum())
    check_finite("the mean squared error", error)

    def backward(derror: Array) -> Array:
        dy: Array = 2 * factor * difference * derror
        return dy

    return error, backward


@operation
def log_error(
    y: Array, *, targets: Array, weights: Array | None = None, total: float | None = None
) -> tuple[tuple[Array, float], Backward]:
    """e = sum_i w_i mean_j -(t_ij log y_ij + (1 - t_ij) log(1 - y_ij)) / sum_i w_i       (thesis, (4.1.1))

    y, targets [N, ...], between 0 and 1   weights and total as for mean_squared_error
    ->   e, and the weighted share of outputs on their target's side of one half
    One output [N, 1] may also have targets [N].
    """
    targets = _like(targets, y)
    check_shapes("log_error", **_same_axes(y, targets, weights))
    if ((y.real < 0) | (y.real > 1)).any() or ((targets < 0) | (targets > 1)).any():
        raise LabelError("log_error compares probabilities: outputs and targets must lie between 0 and 1")
    targets = targets.astype(y.real.dtype)
    factor = _factor(y, weights, total)
    # 0 log 0 = 0: a target that is certain asks nothing of the other outcome
    with np.errstate(all="ignore"):  # overflow is reported below, once
        ones = np.where(targets > 0, -np.log(np.where(targets > 0, y, 1)), 0)
        zeros = np.where(targets < 1, -np.log(np.where(targets < 1, 1 - y, 1)), 0)
        error = np.asarray((factor * (targets * ones + (1 - targets) * zeros)).sum())
    check_finite("the log error", error)

    def backward(derror: Array, _: None = None) -> Array:
        """w (y - t) / (y (1 - y)), term by term so that 0/0 does not arise at a certain target"""
        dones = np.where(targets > 0, -targets / np.where(targets > 0, y, 1), 0)
        dzeros = np.where(targets < 1, (1 - targets) / np.where(targets < 1, 1 - y, 1), 0)
        dy: Array = factor * (dones + dzeros) * derror
        return dy

    return (error, _hits(y.real > 0.5, targets, weights)), backward


@operation
def logistic_log_error(
    z: Array, *, targets: Array, weights: Array | None = None, total: float | None = None
) -> tuple[tuple[Array, float], Backward]:
    """The log error of y = 1 / (1 + exp(-z)), from the logits z: log_error(activate(z, "logistic"))   (thesis, (4.1.1))

    -(t log y + (1 - t) log(1 - y)) = log(1 + exp(z)) - t z, which stays finite where y rounds to 0 or to 1

    z, targets [N, ...], targets between 0 and 1   the rest as for log_error
    """
    targets = _like(targets, z)
    check_shapes("logistic_log_error", **_same_axes(z, targets, weights, "z"))
    if ((targets < 0) | (targets > 1)).any():
        raise LabelError("logistic_log_error compares with probabilities: targets must lie between 0 and 1")
    targets = targets.astype(z.real.dtype)
    factor = _factor(z, weights, total)
    above = z.real > 0
    with np.errstate(all="ignore"):  # what overflows is told below, once
        small = np.exp(np.where(above, -z, z))  # exp(-|z|)
        error = np.asarray((factor * (np.where(above, z, 0) + np.log1p(small) - targets * z)).sum())
    check_finite("the log error", error)

    def backward(derror: Array, _: None = None) -> Array:
        """w (y - t)                     (4.1.1) with the derivative of the logistic function, y (1 - y)"""
        y = np.where(above, 1, small) / (1 + small)
        dz: Array = factor * (y - targets) * derror
        return dz

    return (error, _hits(above, targets, weights)), backward


def _like(targets: Array, outputs: Array) -> Array:
    """Targets [N] of outputs [N, 1] as a column."""
    return targets[:, None] if targets.ndim == 1 and outputs.shape[1:] == (1,) else targets


def _hits(predicted: Array, targets: Array, weights: Array | None) -> float:
    """The weighted number of targets predicted right; NaN if they are shares, not labels."""
    if ((targets != 0) & (targets != 1)).any():
        return math.nan
    if not len(targets):
        return 0.0
    right = (predicted == (targets > 0.5)).reshape(len(targets), -1).mean(axis=1)
    return float(right.sum() if weights is None else weights @ right)


def _factor(y: Array, weights: Array | None, total: float | None) -> Array:
    """[N, 1, ...] what the error of each element is multiplied by: w_i / (sum_i w_i * elements of a row)."""
    w = np.ones(len(y), y.real.dtype) if weights is None else weights.astype(y.real.dtype)
    rows = float(w.sum() if total is None else total)
    elements = y.size / len(y) if len(y) else 1.0
    factor: Array = w / (rows * elements) if rows else w  # a batch without weight has no error
    return factor.reshape(-1, *[1] * (y.ndim - 1))


def _same_axes(y: Array, targets: Array, weights: Array | None, name: str = "y") -> dict[str, tuple[Array | None, str]]:
    axes = "abcdef"[: y.ndim]
    return {name: (y, " ".join(axes)), "targets": (targets, " ".join(axes)), "weights": (weights, axes[:1])}
