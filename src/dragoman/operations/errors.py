"""Error functions: from the outputs of a network and its targets to one number, with the output deltas beside it."""

from __future__ import annotations

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

    with np.errstate(all="ignore"):  # what overflows is told below, once
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
def mean_squared_error(y: Array, *, targets: Array, total: float | None = None) -> tuple[Array, Backward]:
    """e = (1/n) sum_i (y_i - t_i)^2 over all n elements          (thesis, Example 1.1; notes 3.6)

    total: the rows of the whole batch, when this is one shard of it
    """
    check_shapes("mean_squared_error", **_same_axes(y, targets))
    difference = y - targets.astype(y.real.dtype)
    count = _elements(y, total)
    with np.errstate(all="ignore"):  # what overflows is told below, once
        error = np.asarray((difference * difference).sum() / count)
    check_finite("the mean squared error", error)

    def backward(derror: Array) -> Array:
        dy: Array = 2 * difference / count * derror
        return dy

    return error, backward


@operation
def log_error(y: Array, *, targets: Array, total: float | None = None) -> tuple[Array, Backward]:
    """e = (1/n) sum_i -(t_i log y_i + (1 - t_i) log(1 - y_i)), y and t between 0 and 1       (thesis, (4.1.1))

    total: the rows of the whole batch, when this is one shard of it
    """
    check_shapes("log_error", **_same_axes(y, targets))
    if ((y.real < 0) | (y.real > 1)).any() or ((targets < 0) | (targets > 1)).any():
        raise LabelError("log_error compares probabilities: outputs and targets must lie between 0 and 1")
    targets = targets.astype(y.real.dtype)
    count = _elements(y, total)
    # 0 log 0 = 0: a target that is certain asks nothing of the other outcome
    with np.errstate(all="ignore"):  # what overflows is told below, once
        ones = np.where(targets > 0, -np.log(np.where(targets > 0, y, 1)), 0)
        zeros = np.where(targets < 1, -np.log(np.where(targets < 1, 1 - y, 1)), 0)
        error = np.asarray((targets * ones + (1 - targets) * zeros).sum() / count)
    check_finite("the log error", error)

    def backward(derror: Array) -> Array:
        """(y - t) / (n y (1 - y)), term by term so that 0/0 does not arise at a certain target"""
        dones = np.where(targets > 0, -targets / np.where(targets > 0, y, 1), 0)
        dzeros = np.where(targets < 1, (1 - targets) / np.where(targets < 1, 1 - y, 1), 0)
        return (dones + dzeros) / count * derror

    return error, backward


def _elements(y: Array, total: float | None) -> float:
    """n, of the whole batch."""
    return y.size if total is None else total * (y.size / len(y))


def _same_axes(y: Array, targets: Array) -> dict[str, tuple[Array, str]]:
    axes = " ".join("abcdef"[: y.ndim])
    return {"y": (y, axes), "targets": (targets, axes)}
