"""The operations of dragoman.operations on compiled kernels. What a kernel does not cover is left to the definition."""

from __future__ import annotations

from typing import Any

import numpy as np

from dragoman import operations
from dragoman.engines.numba import attention, blas, errors, rows, wide_attention
from dragoman.engines.numba import linear as products
from dragoman.graph import Array, Backward, Pending
from dragoman.operations.dropout import Dropout
from dragoman.operations.shapes import check_finite, check_labels
from dragoman.operations.softmax import log_sum_exp as log_sum_exp_of

ENGINE = "numba"
REAL = (np.dtype(np.float32), np.dtype(np.float64))
NO_ROWS = {kind: np.zeros((0, 0), kind) for kind in REAL}
NO_NUMBERS = {kind: np.zeros(0, kind) for kind in REAL}
NO_LABELS = np.zeros(0, np.int64)
NONE_DROPPED = (False, np.uint32(0), 0, np.uint32(0))


def _matrices(*arrays: Array | None) -> bool:
    """Whether kernels may be handed these: C-ordered matrices of one kind of real numbers."""
    kind = None
    for array in arrays:
        if array is None:
            continue
        if array.dtype not in REAL or not array.flags.c_contiguous or kind not in (None, array.dtype):
            return False
        kind = array.dtype
    return True


def _dropped(dropout: Dropout | None, kind: Any) -> tuple[Any, ...]:
    """Dropout as kernels take it: whether, key, first row, threshold, scale."""
    if dropout is None:
        return (*NONE_DROPPED, kind.type(1))
    threshold = np.uint32(dropout.rate * 2**32)
    return True, np.uint32(dropout.key), dropout.first_row, threshold, kind.type(1 / (1 - dropout.rate))


@operations.linear.register(ENGINE)
def linear(
    x: Array, weights: Array, biases: Array | None = None, *, activation: str = "identity", transposed: bool = False
) -> Any:
    if blas.GEMM is None or not _matrices(x, weights, biases) or x.ndim != 2 or weights.ndim != 2:
        return NotImplemented
    inputs, outputs = weights.shape[::-1] if transposed else weights.shape
    kind = products.ACTIVATIONS.get(activation)
    if kind is None or x.shape[1] != inputs or (biases is not None and biases.shape != (outputs,)):
        return NotImplemented
    product, dtype = blas.GEMM[x.dtype], x.dtype
    none = NO_NUMBERS[dtype] if kind == products.IDENTITY else np.zeros(outputs, dtype)
    b = none if biases is None else biases
    c = np.empty((len(x), outputs), dtype)
    y = np.empty_like(c) if kind == products.GELU else c
    products.linear(product, x, weights, transposed, b, kind, c, y)

    def backward(dy: Array) -> tuple[Array, Pending, Array | None]:
        dy = np.ascontiguousarray(dy)
        dc = dy if kind == products.IDENTITY else np.empty_like(dy)
        dx, dbiases = np.empty_like(x), np.empty_like(b)
        products.linear_backward(product, dy, weights, transposed, kind, c, dc, dbiases, dx)
        left, right = (dc, x) if transposed else (x, dc)
        dweights = Pending(weights.shape, dtype, lambda out: products.weights_derivative(product, left, right, out))
        return dx, dweights, None if biases is None else dbiases

    return y, backward


@operations.normalize.register(ENGINE)
def normalize(x: Array, gamma: Array, beta: Array, *, form: str = "inside", epsilon: float = 1e-5) -> Any:
    if not _rows_fit(x, x, gamma, beta, form, epsilon):
        return NotImplemented
    kind = x.dtype
    y, statistics = np.empty_like(x), np.empty((len(x), 3), kind)
    rows.normalize(x, gamma, beta, y, statistics, form == "inside", kind.type(epsilon))

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
    rows.add_normalize(
        update,
        residual,
        gamma,
        beta,
        total,
        y,
        statistics,
        form == "inside",
        kind.type(epsilon),
        *_dropped(dropout, kind),
    )

    def backward(dtotal: Array | None, dy: Array | None) -> tuple[Array, Array, Array, Array]:
        delta = np.zeros_like(y) if dy is None else dy
        return _normalize_backward(delta, dtotal, total, gamma, statistics, dropout)

    return (total, y), backward


def _rows_fit(update: Array, residual: Array, gamma: Array, beta: Array, form: str, epsilon: float) -> bool:
    """A constant row with epsilon 0 and every mistake are the definition's."""
    return (
        _matrices(update, residual, gamma, beta)
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
    rows.normalize_backward(
        np.ascontiguousarray(dy),
        NO_ROWS[kind] if dtotal is None else np.ascontiguousarray(dtotal),
        dtotal is not None,
        total,
        gamma,
        statistics,
        dsum,
        NO_ROWS[kind] if dropout is None else dupdate,
        dgamma,
        dbeta,
        *_dropped(dropout, kind),
    )
    return dupdate, dsum, dgamma, dbeta


@operations.drop.register(ENGINE)
def drop(x: Array, *, dropout: Dropout | None) -> Any:
    if dropout is None or not _matrices(x) or x.ndim != 2:
        return NotImplemented
    _, key, first_row, threshold, scale = _dropped(dropout, x.dtype)

    def masked(values: Array) -> Array:
        out = np.empty_like(values)
        rows.drop_rows(np.ascontiguousarray(values), out, key, first_row, threshold, scale)
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
    if not _matrices(table, position_table) or table.ndim != 2 or labels.ndim != 1:
        return NotImplemented
    if (position_table is None) != (positions is None):
        return NotImplemented
    if position_table is not None and positions is not None:
        if position_table.ndim != 2 or position_table.shape[1] != table.shape[1] or positions.shape != labels.shape:
            return NotImplemented
        if len(positions) and not 0 <= positions.min() <= positions.max() < len(position_table):
            return NotImplemented
    check_labels("embed", labels, len(table))
    kind, which = table.dtype, labels.astype(np.int64, copy=False)
    where = NO_LABELS if positions is None else positions.astype(np.int64, copy=False)
    y = np.empty((len(labels), table.shape[1]), kind)
    places = NO_ROWS[kind] if position_table is None else position_table
    rows.embed(table, which, places, where, positions is not None, kind.type(scale), y, *_dropped(dropout, kind))

    def backward(dy: Array) -> tuple[Pending, Pending | None]:
        delta = np.ascontiguousarray(dy)

        def scattered(numbers: Array, factor: float) -> Any:
            def write(out: Array) -> None:
                out[...] = 0
                buffer = np.empty(out.shape[1], kind)
                rows.scatter(delta, numbers, kind.type(factor), out, *_dropped(dropout, kind), buffer)

            return write

        dtable = Pending(table.shape, kind, scattered(which, scale))
        if position_table is None:
            return dtable, None
        return dtable, Pending(position_table.shape, kind, scattered(where, 1.0))

    return y, backward


def _goals(
    shape: tuple[int, ...], kind: Any, targets: Array, weights: Array | None, smoothing: float, total: float | None
) -> tuple[Array, Array, float, float] | None:
    """What the cross-entropy of logits of this shape is taken from: targets, weights, what to divide by, smoothing."""
    if len(shape) != 2 or not shape[0] or not shape[1] or targets.shape != shape[:1] or not 0 <= smoothing < 1:
        return None
    if weights is not None and weights.shape != targets.shape:
        return None
    check_labels("cross_entropy", targets, shape[1])
    w = np.ones(shape[0], kind) if weights is None else weights.astype(kind, copy=False)
    positions = float(w.sum() if total is None else total)
    return (targets.astype(np.int64, copy=False), w, positions, float(smoothing)) if positions else None


@operations.cross_entropy.register(ENGINE)
def cross_entropy(
    logits: Array,
    *,
    targets: Array,
    weights: Array | None = None,
    smoothing: float = 0.0,
    total: float | None = None,
) -> Any:
    goals = _goals(logits.shape, logits.dtype, targets, weights, smoothing, total) if _matrices(logits) else None
    if goals is None:
        return NotImplemented
    error, hits = errors.cross_entropy(logits, *goals)
    value = np.asarray(error, logits.dtype)
    check_finite("the cross-entropy", value)

    def backward(derror: Array, _: None = None) -> Array:
        delta, none = logits.copy(), NO_NUMBERS[logits.dtype]
        errors.cross_entropy_delta(delta, none, none, *goals)
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
    if blas.GEMM is None or not _matrices(x, weights, biases) or x.ndim != 2 or weights.ndim != 2:
        return NotImplemented
    inputs, size = weights.shape[::-1] if transposed else weights.shape
    goals = _goals((len(x), size), x.dtype, targets, loss_weights, smoothing, total)
    if goals is None or x.shape[1] != inputs or (biases is not None and biases.shape != (size,)):
        return NotImplemented
    product, kind = blas.GEMM[x.dtype], x.dtype
    b = NO_NUMBERS[kind] if biases is None else biases
    delta, dbiases = np.empty((len(x), size), kind), np.empty_like(b)
    error, hits = products.linear_cross_entropy(product, x, weights, transposed, b, delta, dbiases, *goals)
    value = np.asarray(error, kind)
    check_finite("the cross-entropy", value)

    def backward(derror: Array, _: None = None) -> tuple[Array, Pending, Array | None]:
        if derror != 1:
            np.multiply(delta, derror, out=delta)
            np.multiply(dbiases, derror, out=dbiases)
        dx = np.empty_like(x)
        products.input_derivative(product, delta, weights, not transposed, dx)
        left, right = (delta, x) if transposed else (x, delta)
        dweights = Pending(weights.shape, kind, lambda out: products.weights_derivative(product, left, right, out))
        return dx, dweights, None if biases is None else dbiases

    return (value, float(hits)), backward


@log_sum_exp_of.register(ENGINE)
def log_sum_exp(x: Array) -> Any:
    if not _matrices(x) or x.ndim != 2 or not x.size or not np.isfinite(x.sum()):  # max in a kernel passes NaN by
        return NotImplemented
    tops, sums = np.empty(len(x)), np.empty(len(x))
    errors.log_sum_exp(x, tops, sums)
    return tops, sums


@operations.attend_self.register(ENGINE)
def attend_self(
    qkv: Array,
    distance_bias: Array | None = None,
    *,
    offsets: Array,
    heads: int,
    causal: bool = False,
    scaled: bool = True,
) -> Any:
    if qkv.ndim != 2 or qkv.shape[1] % 3 or not _layout_fits(qkv, qkv, qkv.shape[1] // 3, offsets, offsets, heads):
        return NotImplemented
    if not _bias_fits(distance_bias, qkv.dtype, heads):
        return NotImplemented
    d = qkv.shape[1] // 3
    y, backward_parts = _attend(qkv, qkv, (0, d, 2 * d), distance_bias, offsets, offsets, heads, causal, scaled)

    def backward(dy: Array) -> tuple[Array, Array | None]:
        dqkv = np.empty_like(qkv)
        return dqkv, backward_parts(dy, dqkv, dqkv)

    return y, backward


@operations.attend_cross.register(ENGINE)
def attend_cross(
    queries: Array, kv: Array, *, offsets: Array, memory_offsets: Array, heads: int, scaled: bool = True
) -> Any:
    if queries.ndim != 2 or kv.ndim != 2 or kv.shape[1] != 2 * queries.shape[1]:
        return NotImplemented
    d = queries.shape[1]
    if not _layout_fits(queries, kv, d, offsets, memory_offsets, heads):
        return NotImplemented
    y, backward_parts = _attend(queries, kv, (0, 0, d), None, offsets, memory_offsets, heads, False, scaled)

    def backward(dy: Array) -> tuple[Array, Array]:
        dqueries, dkv = np.empty_like(queries), np.empty_like(kv)
        backward_parts(dy, dqueries, dkv)
        return dqueries, dkv

    return y, backward


@operations.attend_step.register(ENGINE)
def attend_step(
    queries: Array,
    rows: Array,
    distance_bias: Array | None = None,
    *,
    starts: Array,
    lengths: Array,
    heads: int,
    scaled: bool = True,
) -> Any:
    queries = np.ascontiguousarray(queries)
    depth = queries.shape[1]
    width = depth // heads
    if queries.dtype != np.float32 or width % 8 or not _matrices(queries, rows) or rows.shape[1] != 2 * depth:
        return NotImplemented
    if len(starts) != len(queries) or not _bias_fits(distance_bias, queries.dtype, heads) or not len(starts):
        return NotImplemented
    if starts.min() < 0 or lengths.min() < 0 or (starts + lengths).max() > len(rows):
        return NotImplemented
    y = np.empty_like(queries)
    bias = attention.NO_BIAS[queries.dtype] if distance_bias is None else distance_bias
    scale = np.float32(width**-0.5 if scaled else 1.0)
    work = np.empty(max(1, int(lengths.max())), np.float32)
    wide_attention.step(
        _lane(width), queries.reshape(-1), rows.reshape(-1), starts, lengths, heads, scale, bias, y.reshape(-1), work
    )
    return y


def _lane(width: int) -> tuple[int, ...]:
    """The width of a head as wide_attention takes it."""
    return (0,) * (width // 8)


def _layout_fits(q: Array, k: Array, depth: int, offsets: Array, memory_offsets: Array, heads: int) -> bool:
    if not _matrices(q, k) or heads < 1 or depth % heads or len(offsets) != len(memory_offsets) or not len(offsets):
        return False
    for matrix, ends in ((q, offsets), (k, memory_offsets)):
        if ends[0] != 0 or ends[-1] != len(matrix) or (ends[1:] < ends[:-1]).any():
            return False
    return True


def _bias_fits(bias: Array | None, kind: Any, heads: int) -> bool:
    return bias is None or (
        bias.dtype == kind
        and bias.ndim == 2
        and bias.flags.c_contiguous
        and len(bias) == heads
        and bias.shape[1] % 2 == 1
    )


def _attend(
    q: Array,
    k: Array,
    columns: tuple[int, int, int],
    bias: Array | None,
    offsets: Array,
    memory_offsets: Array,
    heads: int,
    causal: bool,
    scaled: bool,
) -> tuple[Array, Backward]:
    """Attention on rows of q and k (which holds the values too), beginning at the given columns."""
    q0, k0, v0 = columns
    kind, depth = q.dtype, k.shape[1] - v0
    width = depth // heads
    scale = kind.type(width**-0.5 if scaled else 1.0)
    ends, memory_ends = offsets.astype(np.int64, copy=False), memory_offsets.astype(np.int64, copy=False)
    longest = int(np.diff(memory_ends).max(initial=1))
    added = attention.NO_BIAS[kind] if bias is None else bias
    y, lse = np.empty((len(q), depth), kind), np.empty((len(q), heads), kind)
    wide = kind == np.float32 and width % 8 == 0
    layout = (ends, memory_ends, heads, causal, scale, added)
    if wide:
        flat = (q.reshape(-1), q.shape[1], q0, k.reshape(-1), k.shape[1], k0, v0)
        wide_attention.forward(
            _lane(width), *flat, *layout, y.reshape(-1), lse, np.empty(longest * (2 * width + 1), kind)
        )
    else:
        attention.forward(width, q, q0, k, k0, k, v0, *layout, y, lse, np.empty((width + 1, longest), kind))

    def backward_parts(dy: Array, dq: Array, dk: Array) -> Array | None:
        """Writes dq and dk; returns the derivative of the bias."""
        delta, dbias = np.ascontiguousarray(dy), np.zeros_like(added)
        if wide:
            work = np.empty(longest * (4 * width + 2), kind)
            flat_deltas = (delta.reshape(-1), dq.reshape(-1), dk.reshape(-1))
            wide_attention.backward(_lane(width), *flat, *layout, y.reshape(-1), lse, *flat_deltas, dbias, work)
        else:
            work = np.empty((2 * width + 2, longest), kind)
            attention.backward(width, q, q0, k, k0, k, v0, *layout, y, lse, delta, dq, dk, dk, dbias, work)
        return None if bias is None else dbias

    return y, backward_parts
