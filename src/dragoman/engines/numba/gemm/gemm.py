"""The matrix products of training: C = op(A) op(B) + (nothing, biases, or C itself).

In single precision we use our own GEMM: 6 x 16 microkernels, op(B) packed block by block, sums that start from the
biases. On AVX2 processors, and on those that split wider vectors in halves, it is faster than OpenBLAS
(docs/benchmarks.md). With wider vectors, and in double precision, the BLAS runs.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from llvmlite.binding import get_host_cpu_name
from threadpoolctl import ThreadpoolController

from dragoman.engines.numba.gemm.blas import GEMM, cblas_gemm
from dragoman.engines.numba.gemm.packed_weights import (
    PANEL,
    ZERO_INDEX,
    array_at,
    clear,
    columns_per_block,
    multiply_packed,
    pack,
    pack_transposed,
    round_up_to_panel,
    transpose,
)
from dragoman.engines.numba.jit import call, callback, device_function
from dragoman.graph import Array

DEPTH_BLOCK = np.int64(512)  # inputs summed at a time
LEAST_ROWS = 20  # any number from here on is a sum of fives and sixes, so no other microkernels are compiled
NARROW_SIMD = ("haswell", "zen")  # OpenBLAS's names for processors with 8-float vectors and no wider ones
SPLIT_SIMD = "znver4"  # LLVM's name for processors that run wider vectors as two of 8
CACHE_LINE = 64  # bytes: vectors that straddle two lines take two loads
TRANSPOSED, NOT_TRANSPOSED = np.bool_(True), np.bool_(False)  # not literals, which kernels would be compiled again for
INIT_ZERO, INIT_BIASES, INIT_OUTPUT = np.int64(0), np.int64(1), np.int64(2)  # what the sums of C start from


class Operand(NamedTuple):
    """A factor of a matrix product: a matrix, its first column, and whether it is transposed."""

    matrix: Array
    first: int | np.int64
    transposed: bool | np.bool_


def _gemm(
    a: Any,
    xs: Any,
    transposed_a: Any,
    w: Any,
    ws: Any,
    transposed_w: Any,
    b: Any,
    init: Any,
    m: Any,
    n: Any,
    k: Any,
    y: Any,
    ys: Any,
    work: Any,
) -> None:
    """y [m, n] = op(a) op(w) + what `init` says; transposed: a [k, m] or w [n, k]; m >= 20, n >= 16

    xs, ws, ys  row strides of a, w and y
    """
    x, w, b, y, work = array_at(a), array_at(w), array_at(b), array_at(y), array_at(work)
    zeros, place, begin = ZERO_INDEX, round_up_to_panel(n), ZERO_INDEX
    if init != INIT_BIASES:
        clear(work, zeros, place)
        b = work
    x0 = ZERO_INDEX
    if transposed_a:
        transpose(x, ZERO_INDEX, xs, k, m, work, place, k)
        x, x0, xs, place = work, place, k, place + round_up_to_panel(m * k)
    width = columns_per_block(min(k, DEPTH_BLOCK))
    while begin < n:
        done, begin = begin, min(begin, n - PANEL)  # the last panel may overlap the one before
        columns = min(width, (n - begin) // PANEL * PANEL)
        separate = init == INIT_OUTPUT and begin < done  # the overlap already holds its results
        out, y0, out_stride = (work, place, columns) if separate else (y, begin, ys)
        panels = place + m * columns * separate
        for k0 in range(0, k, DEPTH_BLOCK):
            inputs = min(DEPTH_BLOCK, k - k0)
            if transposed_w:
                pack_transposed(w, begin * ws + k0, ws, inputs, columns, work, panels)
            else:
                pack(w, k0 * ws + begin, ws, inputs, columns, work, panels)
            accumulate = k0 > 0 or (init == INIT_OUTPUT and not separate)
            sums, s0, ss = (out, y0, out_stride) if accumulate else (b, begin, ZERO_INDEX)
            given = x, x0 + k0, xs, m, inputs, work, panels, None, columns, sums, s0, ss
            multiply_packed(*given, out, y0, out_stride, None, None)
        for r in range(m if separate else ZERO_INDEX):
            for c in range(done - begin, columns):
                y[r * ys + begin + c] += work[y0 + r * out_stride + c]
        begin += columns


@device_function
def workspace_size(transposed_a: Any, m: Any, n: Any, k: Any) -> Any:
    """Elements of the workspace of `_gemm`."""
    inputs = min(k, DEPTH_BLOCK)
    packed = inputs * min(columns_per_block(inputs), round_up_to_panel(n))
    return round_up_to_panel(n) + round_up_to_panel(m * k) * transposed_a + m * PANEL + packed


@functools.cache
def _own_gemm() -> Any:
    numbers, count = "CPointer(float32), ", "int64, "
    given = 2 * (numbers + 2 * count) + numbers + 4 * count + numbers + count
    return callback(f"void({given}CPointer(float32))", _gemm)


@functools.cache
def has_own_gemm() -> bool:
    """Whether our own GEMM is faster than the BLAS on this processor."""
    libraries = ThreadpoolController().lib_controllers
    has_narrow = any(library.info().get("architecture", "").lower() in NARROW_SIMD for library in libraries)
    return has_narrow or get_host_cpu_name() == SPLIT_SIMD


def gemm_addresses(kind: np.dtype[Any]) -> tuple[int, int]:
    """The addresses of the BLAS's GEMM and of our own, 0 where the BLAS is faster: what kernels take as `gemms`."""
    assert GEMM is not None
    return GEMM[kind], _own_gemm().address if kind == np.float32 and has_own_gemm() else 0


@device_function
def matmul(gemms: Any, a: Any, transposed_a: Any, b: Any, transposed_b: Any, biases: Any, c: Any) -> None:
    """c = op(a) op(b) + biases (none: an empty vector)"""
    init = INIT_BIASES if biases.size > 0 else INIT_ZERO
    sides = Operand(a, ZERO_INDEX, transposed_a), Operand(b, ZERO_INDEX, transposed_b)
    matmul_columns(gemms, *sides, biases, init, c, ZERO_INDEX, c.shape[1])


@device_function
def matmul_columns(
    gemms: Any, left: Operand, right: Operand, biases: Any, init: Any, c: Any, c_first: Any, n: Any
) -> None:
    """n columns of c, from c_first on, = op(left) op(right) + what `init` says"""
    a, a_first, transposed_a = left
    b, b_first, transposed_b = right
    m, size = c.shape[0], c.itemsize
    k = a.shape[0] if transposed_a else a.shape[1]
    at, bt, out = a.ctypes.data + a_first * size, b.ctypes.data + b_first * size, c.ctypes.data + c_first * size
    if gemms[1] != 0 and m >= LEAST_ROWS and n >= PANEL and k > 0:
        work = np.empty(workspace_size(transposed_a, m, n, k) + CACHE_LINE // size, c.dtype)
        aligned = work.ctypes.data + -work.ctypes.data % CACHE_LINE
        sides = at, a.shape[1], np.int64(transposed_a), bt, b.shape[1], np.int64(transposed_b)
        call(gemms[1], (*sides, biases.ctypes.data, init, m, n, k, out, c.shape[1], aligned))
        return
    beta = c.dtype.type(init == INIT_OUTPUT)
    cblas_gemm(gemms[0], transposed_a, transposed_b, m, n, k, at, a.shape[1], bt, b.shape[1], beta, out, c.shape[1])
    for i in range(m if init == INIT_BIASES else ZERO_INDEX):
        row = c[i]
        for j in range(n):
            row[c_first + j] += biases[j]
