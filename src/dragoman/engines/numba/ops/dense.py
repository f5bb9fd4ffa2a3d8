"""Registers the operations on rows: linear, normalization, dropout, embedding, cross-entropy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dragoman import operations
from dragoman.engines.activations import CODES, GELU, IDENTITY, IN_LINEAR
from dragoman.engines.numba.gemm import blas
from dragoman.engines.numba.gemm.gemm import LEAST_ROWS, gemm_addresses
from dragoman.engines.numba.gemm.packed_weights import PANEL
from dragoman.engines.numba.kernels import cross_entropy as cross_entropy_kernels
from dragoman.engines.numba.kernels import linear as linear_kernels
from dragoman.engines.numba.kernels import row_kernels
from dragoman.engines.numba.ops.arguments import (
    NO_LABELS,
    NO_NUMBERS,
    NO_ROWS,
    are_integers,
    dropout_mask,
    int64s,
    matrices,
    standard,
    within,
)
from dragoman.graph import Array, DeferredGradient
from dragoman.operations.dropout import Dropout
from dragoman.operations.shapes import check_finite, check_labels
from dragoman.operations.softmax import log_sum_exp as log_sum_exp_of

ENGINE = "numba"
# Rows of logits per block, at least; else 1.5 times the inputs. More logits would leave the cache before they are
# differentiated, with fewer the weights would be read too often.
LEAST_LOGIT_ROWS = 192
PIECE_COLUMNS = 768  # outputs of a layer per piece of its weights' derivative, at least
LEAST_PIECE_COLUMNS = 128  # the same when other threads are idle


@operations.linear.register(ENGINE)
def linear(
    x: Array, weights: Array, biases: Array | None = None, *, activation: str = "identity", transposed: bool = False
) -> Any:
    if blas.GEMM is None or not matrices(x, weights, biases) or x.ndim != 2 or weights.ndim != 2:
        return NotImplemented
    inputs, outputs = weights.shape[::-1] if transposed else weights.shape
    kind = CODES[activation] if activation in IN_LINEAR else None
    if kind is None or x.shape[1] != inputs or (biases is not None and biases.shape != (outputs,)):
        return NotImplemented
    gemms, dtype = gemm_addresses(x.dtype), x.dtype
    none = NO_NUMBERS[dtype] if kind == IDENTITY else np.zeros(outputs, dtype)
    b = none if biases is None else biases
    c = np.empty((len(x), outputs), dtype)
    y = np.empty_like(c) if kind == GELU else c
    linear_kernels.linear(linear_kernels.linear_rows.address(dtype), gemms, x, weights, transposed, b, kind, c, y)

    def backward(dy: Array) -> tuple[Array, DeferredGradient, Array | None]:
        dy = standard(dy)
        dc = dy if kind == IDENTITY else np.empty_like(dy)
        dx, dbiases = np.empty_like(x), np.empty_like(b)
        address = linear_kernels.linear_rows_backward.address(dtype)
        linear_kernels.linear_backward(address, gemms, dy, weights, transposed, kind, c, dc, dbiases, dx)
        return dx, weights_derivative(gemms, x, dc, weights.shape, transposed), None if biases is None else dbiases

    return y, backward


def weights_derivative(
    gemms: tuple[int, int], x: Array, dc: Array, shape: tuple[int, ...], transposed: bool
) -> DeferredGradient:
    """x' dc, or its transpose, computed when it is needed, in pieces that threads can share."""
    outputs = dc.shape[1]
    pieces = finest = max(1, outputs // PIECE_COLUMNS)
    # small products are left to the BLAS, whose bits may depend on where they are split
    own = gemms[1] != 0 and x.shape[1] >= (PANEL if transposed else LEAST_ROWS)
    while own and outputs >= 2 * finest * LEAST_PIECE_COLUMNS:
        finest *= 2

    def write(out: Array, add: bool, piece: int, pieces: int) -> None:
        first, stop = (outputs * i // pieces // PANEL * PANEL if i < pieces else outputs for i in (piece, piece + 1))
        if transposed:
            linear_kernels.weights_derivative(gemms, dc, first, x, 0, out[first:stop], 0, x.shape[1], add)
        else:
            linear_kernels.weights_derivative(gemms, x, 0, dc, first, out, first, stop - first, add)

    return DeferredGradient(shape, dc.dtype, write, pieces, finest, dc.nbytes)


@operations.normalize.register(ENGINE)
def normalize(x: Array, gamma: Array, beta: Array, *, form: str = "inside", epsilon: float = 1e-5) -> Any:
    if not _rows_fit(x, x, gamma, beta, form, epsilon):
        return NotImplemented
    kind = x.dtype
    y, statistics = np.empty_like(x), np.empty((len(x), 3), kind)
    address = row_kernels.normalize_rows.address(kind)
    row_kernels.normalize(address, x, gamma, beta, y, statistics, form == "inside", kind.type(epsilon))

    def backward(dy: Array) -> tuple[Array, Array, Array]:
        _, dx, dgamma, dbeta = _normalize_backward(dy, None, x, gamma, statistics, None)
        return dx, dgamma, dbeta

    return y, backward


@operations.add_normalize.register(ENGINE)
def add_normalize(
    update: Array,
    residual: Array,
    gamma: Array,
    beta: Array,
    *,
    form: str = "inside",
    epsilon: float = 1e-5,
    dropout: Dropout | None = None,
) -> Any:
    if not _rows_fit(update, residual, gamma, beta, form, epsilon):
        return NotImplemented
    kind = update.dtype
    total, y, statistics = np.empty_like(update), np.empty_like(update), np.empty((len(update), 3), kind)
    row_kernels.add_normalize(
        row_kernels.add_normalize_rows.address(kind),
        update,
        residual,
        gamma,
        beta,
        total,
        y,
        statistics,
        form == "inside",
        kind.type(epsilon),
        dropout_mask(dropout, kind),
    )

    def backward(dtotal: Array | None, dy: Array | None) -> tuple[Array, Array, Array, Array]:
        delta = np.zeros_like(y) if dy is None else dy
        return _normalize_backward(delta, dtotal, total, gamma, statistics, dropout)

    return (total, y), backward


def _rows_fit(update: Array, residual: Array, gamma: Array, beta: Array, form: str, epsilon: float) -> bool:
    """Whether the kernels support these arguments. Invalid input falls back to the definition, which raises."""
    return (
        matrices(update, residual, gamma, beta)
        and update.ndim == 2
        and update.shape == residual.shape
        and gamma.shape == beta.shape == update.shape[1:]
        and form in ("inside", "outside")
        and epsilon > 0
    )


def _normalize_backward(
    dy: Array, dtotal: Array | None, total: Array, gamma: Array, statistics: Array, dropout: Dropout | None
) -> tuple[Array, Array, Array, Array]:
    kind = total.dtype
    dsum = np.empty_like(total)
    dupdate = dsum if dropout is None else np.empty_like(total)
    dgamma, dbeta = np.empty_like(gamma), np.empty_like(gamma)
    row_kernels.normalize_backward(
        row_kernels.normalize_rows_backward.address(kind),
        standard(dy),
        NO_ROWS[kind] if dtotal is None else standard(dtotal),
        total,
        gamma,
        statistics,
        dsum,
        NO_ROWS[kind] if dropout is None else dupdate,
        dgamma,
        dbeta,
        dropout_mask(dropout, kind),
    )
    return dupdate, dsum, dgamma, dbeta


@operations.drop.register(ENGINE)
def drop(x: Array, *, dropout: Dropout | None) -> Any:
    if dropout is None or not matrices(x) or x.ndim != 2:
        return NotImplemented
    mask = dropout_mask(dropout, x.dtype)

    def masked(values: Array) -> Array:
        out = np.empty_like(values)
        row_kernels.drop_rows(standard(values), out, mask)
        return out

    return masked(x), masked


@operations.embed.register(ENGINE)
def embed(
    table: Array,
    position_table: Array | None = None,
    *,
    labels: Array,
    positions: Array | None = None,
    scale: float = 1.0,
    dropout: Dropout | None = None,
) -> Any:
    if not matrices(table, position_table) or table.ndim != 2 or labels.ndim != 1:
        return NotImplemented
    if (position_table is None) != (positions is None):
        return NotImplemented
    if position_table is not None and positions is not None:
        if position_table.ndim != 2 or position_table.shape[1] != table.shape[1] or positions.shape != labels.shape:
            return NotImplemented
        if not are_integers(positions) or not within(int64s(positions), len(position_table)):
            return NotImplemented
    kind, which = table.dtype, checked_labels("embed", labels, len(table))
    where = NO_LABELS if positions is None else int64s(positions)
    y = np.empty((len(labels), table.shape[1]), kind)
    places = NO_ROWS[kind] if position_table is None else position_table
    address, mask = row_kernels.embed_rows.address(kind), dropout_mask(dropout, kind)
    row_kernels.embed(address, table, which, places, where, positions is not None, kind.type(scale), y, mask)

    def backward(dy: Array) -> tuple[DeferredGradient, DeferredGradient | None]:
        delta = standard(dy)

        dtable = DeferredGradient(table.shape, kind, scatter_writer(delta, which, scale, dropout), kept=delta.nbytes)
        if position_table is None:
            return dtable, None
        return dtable, DeferredGradient(position_table.shape, kind, scatter_writer(delta, where, 1.0, dropout))

    return y, backward


def scatter_writer(delta: Array, labels: Array, factor: float, dropout: Dropout | None) -> Any:
    """A function that writes the derivative of a table from the deltas of the rows that were looked up."""
    kind = delta.dtype

    def write(out: Array, add: bool, *_: int) -> None:
        buffer = np.empty(out.shape[1], kind)
        row_kernels.scatter(delta, labels, kind.type(factor), out, add, dropout_mask(dropout, kind), buffer)

    return write


def checked_labels(operation: str, labels: Array, size: int) -> Array:
    """Labels as int64; raises if one is not in the vocabulary."""
    if not are_integers(labels) or not within(int64s(labels), size):
        check_labels(operation, labels, size)
    return int64s(labels)


def _checked_targets(
    shape: tuple[int, ...], kind: Any, targets: Array, weights: Array | None, smoothing: float, total: float | None
) -> tuple[Array, Array, float, float] | None:
    """The fields of WeightedTargets; None if the kernels do not support these."""
    if len(shape) != 2 or not shape[0] or not shape[1] or targets.shape != shape[:1] or not 0 <= smoothing < 1:
        return None
    if weights is not None and weights.shape != targets.shape:
        return None
    which = checked_labels("cross_entropy", targets, shape[1])
    w = np.ones(shape[0], kind) if weights is None else standard(weights, kind)
    positions = float(w.sum() if total is None else total)
    return (which, w, positions, float(smoothing)) if positions else None


def _finite(error: float, kind: Any) -> Array:
    value: Array = np.asarray(error, kind)
    if not math.isfinite(value):
        check_finite("the cross-entropy", value)
    return value


@operations.cross_entropy.register(ENGINE)
def cross_entropy(
    logits: Array,
    *,
    targets: Array,
    weights: Array | None = None,
    smoothing: float = 0.0,
    total: float | None = None,
) -> Any:
    targets_given = (
        _checked_targets(logits.shape, logits.dtype, targets, weights, smoothing, total) if matrices(logits) else None
    )
    if targets_given is None:
        return NotImplemented
    error, hits = cross_entropy_kernels.cross_entropy(logits, targets_given)
    value = _finite(error, logits.dtype)

    def backward(derror: Array, _: None = None) -> Array:
        delta, none = logits.copy(), NO_NUMBERS[logits.dtype]
        cross_entropy_kernels.cross_entropy_delta(delta, none, targets_given)
        if derror != 1:
            delta *= derror
        return delta

    return (value, float(hits)), backward


@operations.linear_cross_entropy.register(ENGINE)
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
) -> Any:
    if blas.GEMM is None or not matrices(x, weights, biases) or x.ndim != 2 or weights.ndim != 2:
        return NotImplemented
    inputs, size = weights.shape[::-1] if transposed else weights.shape
    targets_given = _checked_targets((len(x), size), x.dtype, targets, loss_weights, smoothing, total)
    if targets_given is None or x.shape[1] != inputs or (biases is not None and biases.shape != (size,)):
        return NotImplemented
    gemms, kind = gemm_addresses(x.dtype), x.dtype
    b = NO_NUMBERS[kind] if biases is None else biases
    block = math.ceil(len(x) / math.ceil(len(x) / max(LEAST_LOGIT_ROWS, 3 * inputs // 2)))
    delta, dx, dbiases = np.empty((block, size), kind), np.empty_like(x), np.empty_like(b)
    dweights = NO_ROWS[kind] if block == len(x) else np.empty_like(weights)
    error, hits = linear_kernels.linear_cross_entropy(
        gemms, x, weights, transposed, b, targets_given, delta, dx, dweights, dbiases
    )
    value = _finite(error, kind)

    def backward(derror: Array, _: None = None) -> tuple[Array, Array | DeferredGradient, Array | None]:
        if derror != 1:
            for derivative in (delta, dx, dweights, dbiases):
                np.multiply(derivative, derror, out=derivative)
        found = (
            weights_derivative(gemms, x, delta, weights.shape, transposed)
            if block == len(x)
            else _copy_writer(dweights)
        )
        return dx, found, None if biases is None else dbiases

    return (value, float(hits)), backward


def _copy_writer(derivative: Array) -> DeferredGradient:
    """A large derivative that is already computed, copied in pieces that threads can share."""

    def write(out: Array, add: bool, piece: int, pieces: int) -> None:
        some = slice(len(out) * piece // pieces, len(out) * (piece + 1) // pieces)
        row_kernels.put(derivative[some], out[some], add)

    return DeferredGradient(derivative.shape, derivative.dtype, write, finest=8, kept=derivative.nbytes)


@log_sum_exp_of.register(ENGINE)
def log_sum_exp(x: Array) -> Any:
    if not matrices(x) or x.ndim != 2 or not x.size or not np.isfinite(x.sum()):
        return NotImplemented
    tops, sums = np.empty(len(x)), np.empty(len(x))
    cross_entropy_kernels.log_sum_exp(x, tops, sums)
    return tops, sums
