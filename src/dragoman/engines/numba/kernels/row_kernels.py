"""Kernels that act on each row by itself: biases and activations, residual and normalization, embedding, dropout."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from dragoman.engines.numba.jit import DONE, Kinds, check_done, device_function, indirect_kernel, inlined, kernel
from dragoman.engines.numba.kernels.activations import gelu_denominator
from dragoman.engines.numba.threads.spin_gate import acquire, release
from dragoman.operations.activations import GELU_CUBE, GELU_SLOPE

MIX1, MIX2, GOLDEN = np.uint32(0x7FEB352D), np.uint32(0x846CA68B), np.uint32(0x9E3779B9)
S16, S15 = np.uint32(16), np.uint32(15)


class DropoutMask(NamedTuple):
    """The mask of operations.dropout. Python passes a plain tuple, which numba recognizes faster."""

    enabled: bool
    key: np.uint32
    first_row: int
    threshold: np.uint32
    scale: float


@inlined
def mix(h: Any) -> Any:
    """operations.dropout.mix"""
    h = np.uint32((h ^ (h >> S16)) * MIX1)
    h = np.uint32((h ^ (h >> S15)) * MIX2)
    return np.uint32(h ^ (h >> S16))


@inlined
def mask_key(dropout: DropoutMask, i: Any) -> Any:
    """The part of the mask that all columns of row i share."""
    return mix(np.uint32(np.uint32(dropout.first_row + i) ^ dropout.key))


@inlined
def is_kept(row_key: Any, j: Any, threshold: Any) -> Any:
    """Whether dropout keeps column j."""
    return mix(np.uint32(row_key + np.uint32(j) * GOLDEN)) >= threshold


@device_function
def drop_row(row: Any, row_key: Any, threshold: Any, scale: Any) -> None:
    """row *= the row of the mask with this key; numbers, since a tuple costs a sixth of the time"""
    for j in range(row.shape[0]):
        row[j] = row[j] * scale if is_kept(row_key, j, threshold) else row.dtype.type(0)


@kernel
def drop_rows(x: Any, y: Any, mask: Any) -> None:
    release()
    dropout = DropoutMask(*mask)
    for i in range(x.shape[0]):
        source, row = x[i], y[i]
        row_key = mask_key(dropout, i)
        for j in range(row.shape[0]):
            row[j] = source[j] * dropout.scale if is_kept(row_key, j, dropout.threshold) else source[j] * 0
    acquire()


@device_function
def add_biases_relu(c: Any, biases: Any) -> None:
    for i in range(c.shape[0]):
        row = c[i]
        for j in range(row.shape[0]):
            row[j] = max(row[j] + biases[j], biases.dtype.type(0))


@device_function
def gelu(c: Any, biases: Any, y: Any) -> None:
    """c <- c + b; y = GELU(c), the tanh form"""
    for i in range(c.shape[0]):
        row, out = c[i], y[i]
        for j in range(row.shape[0]):
            z = row[j] + biases[j]
            row[j] = z
            out[j] = z / gelu_denominator(z)


@device_function
def gelu_backward(dy: Any, c: Any, dc: Any, dbiases: Any) -> None:
    k, cube = c.dtype.type(GELU_SLOPE), c.dtype.type(GELU_CUBE)
    one, two, three = c.dtype.type(1), c.dtype.type(2), c.dtype.type(3)
    dbiases[:] = 0
    for i in range(c.shape[0]):
        row, delta, out = c[i], dy[i], dc[i]
        for j in range(row.shape[0]):
            z = row[j]
            s = one / gelu_denominator(z)
            slope = s + z * s * (one - s) * two * k * (one + three * cube * z * z)
            out[j] = delta[j] * slope
            dbiases[j] += out[j]


@device_function
def relu_backward(dy: Any, y: Any, dc: Any, dbiases: Any) -> None:
    """dc = dy where y > 0; dbiases = the sum of its rows"""
    dbiases[:] = 0
    for i in range(dy.shape[0]):
        delta, row, out = dy[i], y[i], dc[i]
        for j in range(row.shape[0]):
            d = delta[j] if row[j] > 0 else dy.dtype.type(0)
            out[j] = d
            dbiases[j] += d


@device_function
def sum_rows(x: Any, total: Any) -> None:
    total[:] = 0
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(row.shape[0]):
            total[j] += row[j]


def dropout_kind(real: Any) -> Any:
    return types.NamedTuple((types.boolean, types.uint32, types.int64, types.uint32, real), DropoutMask)


def normalize_kinds(real: Any, vectors: int) -> Kinds:
    vector, matrix = real[::1], real[:, ::1]
    return matrix, vector, vector, matrix, matrix, types.boolean, real


def add_normalize_kinds(real: Any, vectors: int) -> Kinds:
    matrix = real[:, ::1]
    update, gamma, beta, *others = normalize_kinds(real, vectors)
    return update, matrix, gamma, beta, matrix, *others, dropout_kind(real)


def normalize_backward_kinds(real: Any, vectors: int) -> Kinds:
    vector, matrix = real[::1], real[:, ::1]
    return matrix, matrix, matrix, vector, matrix, matrix, matrix, vector, vector, dropout_kind(real)


def embed_kinds(real: Any, vectors: int) -> Kinds:
    matrix, integers = real[:, ::1], types.int64[::1]
    return matrix, integers, matrix, integers, types.boolean, real, matrix, dropout_kind(real)


@indirect_kernel(add_normalize_kinds)
def add_normalize_rows(
    update: Any,
    residual: Any,
    gamma: Any,
    beta: Any,
    total: Any,
    y: Any,
    statistics: Any,
    inside: Any,
    epsilon: Any,
    dropout: DropoutMask,
) -> Any:
    """total = residual + dropout(update), y = gamma N(total) + beta; statistics [N, 3]: mean, 1/r, 1/sigma (or 1/r)"""
    one = total.dtype.type(1)
    d = total.shape[1]
    for i in range(total.shape[0]):
        u, x, t, out = update[i], residual[i], total[i], y[i]
        if dropout.enabled:
            row_key = mask_key(dropout, i)
            for j in range(d):
                t[j] = x[j] + (u[j] * dropout.scale if is_kept(row_key, j, dropout.threshold) else u[j] * 0)
        else:
            for j in range(d):
                t[j] = x[j] + u[j]
        normalize_row(t, out, gamma, beta, statistics[i], inside, epsilon, one)
    return DONE


call_add_normalize = add_normalize_rows.call


@kernel
def add_normalize(address: Any, *given: Any) -> None:
    release()
    done = call_add_normalize(address, (*given[:-1], DropoutMask(*given[-1])))
    acquire()
    check_done(done)


@indirect_kernel(normalize_kinds)
def normalize_rows(x: Any, gamma: Any, beta: Any, y: Any, statistics: Any, inside: Any, epsilon: Any) -> Any:
    one = x.dtype.type(1)
    for i in range(x.shape[0]):
        normalize_row(x[i], y[i], gamma, beta, statistics[i], inside, epsilon, one)
    return DONE


call_normalize = normalize_rows.call


@kernel
def normalize(address: Any, *given: Any) -> None:
    release()
    done = call_normalize(address, given)
    acquire()
    check_done(done)


@inlined
def normalize_row(t: Any, out: Any, gamma: Any, beta: Any, saved: Any, inside: Any, epsilon: Any, one: Any) -> None:
    """One row of y = gamma (t - mu) / r + beta"""
    d = t.shape[0]
    mean = t.dtype.type(0)
    for j in range(d):
        mean += t[j]
    mean /= d
    variance = t.dtype.type(0)
    for j in range(d):
        centred = t[j] - mean
        variance += centred * centred
    variance /= d
    sigma = t.dtype.type(math.sqrt(variance))
    r = t.dtype.type(math.sqrt(variance + epsilon)) if inside else sigma + epsilon
    inverse = one / r
    saved[0], saved[1] = mean, inverse
    saved[2] = inverse if inside else (one / sigma if sigma > 0 else t.dtype.type(0))
    for j in range(d):
        out[j] = (t[j] - mean) * inverse * gamma[j] + beta[j]


@indirect_kernel(normalize_backward_kinds)
def normalize_rows_backward(
    dy: Any,
    dtotal: Any,
    total: Any,
    gamma: Any,
    statistics: Any,
    dsum: Any,
    dupdate: Any,
    dgamma: Any,
    dbeta: Any,
    dropout: DropoutMask,
) -> Any:
    """(4.3.5)-(4.3.7) row by row; dsum takes in dtotal, the delta of the sum (none: empty); dupdate = mask * dsum"""
    d = total.shape[1]
    dgamma[:] = 0
    dbeta[:] = 0
    for i in range(total.shape[0]):
        delta, t, ds = dy[i], total[i], dsum[i]
        mean, inverse, slope = statistics[i, 0], statistics[i, 1], statistics[i, 2]
        average = total.dtype.type(0)
        projection = total.dtype.type(0)
        for j in range(d):
            xhat = (t[j] - mean) * inverse
            dgamma[j] += delta[j] * xhat
            dbeta[j] += delta[j]
            dxhat = delta[j] * gamma[j]
            average += dxhat
            projection += dxhat * xhat
        average /= d
        projection /= d
        for j in range(d):
            xhat = (t[j] - mean) * inverse
            ds[j] = (delta[j] * gamma[j] - average) * inverse - xhat * projection * slope
        if dtotal.size > 0:
            more = dtotal[i]
            for j in range(d):
                ds[j] += more[j]
        if dropout.enabled:
            du = dupdate[i]
            row_key = mask_key(dropout, i)
            for j in range(d):
                du[j] = ds[j] * dropout.scale if is_kept(row_key, j, dropout.threshold) else ds[j] * 0
    return DONE


call_normalize_backward = normalize_rows_backward.call


@kernel
def normalize_backward(address: Any, *given: Any) -> None:
    release()
    done = call_normalize_backward(address, (*given[:-1], DropoutMask(*given[-1])))
    acquire()
    check_done(done)


@indirect_kernel(embed_kinds)
def embed_rows(
    table: Any,
    labels: Any,
    position_table: Any,
    positions: Any,
    has_positions: Any,
    factor: Any,
    y: Any,
    dropout: DropoutMask,
) -> Any:
    d = table.shape[1]
    for i in range(labels.shape[0]):
        word_row, out = table[labels[i]], y[i]
        if has_positions:
            place = position_table[positions[i]]
            for j in range(d):
                out[j] = word_row[j] * factor + place[j]
        else:
            for j in range(d):
                out[j] = word_row[j] * factor
        if dropout.enabled:
            drop_row(out, mask_key(dropout, i), dropout.threshold, dropout.scale)
    return DONE


call_embed = embed_rows.call


@kernel
def embed(address: Any, *given: Any) -> None:
    release()
    done = call_embed(address, (*given[:-1], DropoutMask(*given[-1])))
    acquire()
    check_done(done)


@kernel
def scatter(dy: Any, labels: Any, factor: Any, dtable: Any, add: Any, mask: Any, buffer: Any) -> None:
    """dtable[label] += factor * mask * dy, row after row; without `add`, dtable starts at 0"""
    release()
    d, dropout = dy.shape[1], DropoutMask(*mask)
    if not add:
        dtable[:] = 0
    for i in range(labels.shape[0]):
        row, out = dy[i], dtable[labels[i]]
        if dropout.enabled:
            for j in range(d):
                buffer[j] = row[j]
            drop_row(buffer, mask_key(dropout, i), dropout.threshold, dropout.scale)
            for j in range(d):
                out[j] += buffer[j] * factor
        else:
            for j in range(d):
                out[j] += row[j] * factor
    acquire()


@kernel
def put(given: Any, out: Any, add: Any) -> None:
    """out = given, or out += given"""
    release()
    for i in range(given.shape[0]):
        row, target = given[i], out[i]
        if add:
            for j in range(row.shape[0]):
                target[j] += row[j]
        else:
            for j in range(row.shape[0]):
                target[j] = row[j]
    acquire()
