"""The matrix products of training, C = op(A) op(B) + what C begins with.

In single precision they are our own: tiles of 6 x 16 numbers in registers, op(B) laid out block by block, biases where
the sums begin. On processors with vectors of 8 numbers they are ahead of the BLAS that NumPy brings
(docs/benchmarks.md), and where wider ones are taken in halves; where they are wide, and in double precision, products
are left to the BLAS.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite.binding import get_host_cpu_name
from numba import carray
from threadpoolctl import ThreadpoolController

from dragoman.engines.numba.blas import GEMM, gemm
from dragoman.engines.numba.jit import call, callback, part
from dragoman.engines.numba.panels import (
    FIRST,
    PANEL,
    clear,
    columns_at_a_time,
    lay,
    lay_turned,
    multiply_panels,
    transpose,
    widened,
)

DEEP = np.int64(512)  # inputs that are summed up at a time
LEAST_ROWS = 20  # any number from here on is a sum of fives and sixes, so that no other tiles are needed
OURS = ("haswell", "zen")  # what OpenBLAS calls processors with vectors of 8 numbers and no wider ones
HALVED = "znver4"  # what LLVM calls those that take wider vectors as two of 8
LINE = 64  # bytes the processor fetches at a time: vectors that lie across two take two fetches
TURNED, STRAIGHT = np.bool_(True), np.bool_(False)  # no literals: kernels would be compiled anew for each
NOTHING, BIASES, ITSELF = np.int64(0), np.int64(1), np.int64(2)  # what the sums of C begin with


def _multiply(
    a: Any,
    xs: Any,
    turned_a: Any,
    w: Any,
    ws: Any,
    turned_w: Any,
    b: Any,
    begins: Any,
    m: Any,
    n: Any,
    k: Any,
    y: Any,
    ys: Any,
    work: Any,
) -> None:
    """y [m, n] = op(a) op(w) + what it begins with, turned: a [k, m] or w [n, k]; m is 20 or more, n 16 or more

    xs, ws, ys  how far the rows of a, w and y stand apart
    """
    x, w, b, y, work = carray(a, 1), carray(w, 1), carray(b, 1), carray(y, 1), carray(work, 1)
    zeros, place, begin = FIRST, widened(n), FIRST
    if begins != BIASES:
        clear(work, zeros, place)
        b = work
    x0 = FIRST
    if turned_a:
        transpose(x, FIRST, xs, k, m, work, place, k)
        x, x0, xs, place = work, place, k, place + widened(m * k)
    width = columns_at_a_time(min(k, DEEP))
    while begin < n:
        done, begin = begin, min(begin, n - PANEL)  # the last columns, if need be with some before them
        columns = min(width, (n - begin) // PANEL * PANEL)
        aside = begins == ITSELF and begin < done  # what those begin with is there no more
        out, y0, apart = (work, place, columns) if aside else (y, begin, ys)
        panels = place + m * columns * aside
        for k0 in range(0, k, DEEP):
            inputs = min(DEEP, k - k0)
            if turned_w:
                lay_turned(w, begin * ws + k0, ws, inputs, columns, work, panels)
            else:
                lay(w, k0 * ws + begin, ws, inputs, columns, work, panels)
            on = k0 > 0 or (begins == ITSELF and not aside)
            sums, s0, ss = (out, y0, apart) if on else (b, begin, FIRST)
            given = x, x0 + k0, xs, m, inputs, work, panels, None, columns, sums, s0, ss
            multiply_panels(*given, out, y0, apart, None, None)
        for r in range(m if aside else FIRST):
            for c in range(done - begin, columns):
                y[r * ys + begin + c] += work[y0 + r * apart + c]
        begin += columns


@part
def room(turned_a: Any, m: Any, n: Any, k: Any) -> Any:
    """How many numbers `_multiply` needs to work with."""
    inputs = min(k, DEEP)
    laid = inputs * min(columns_at_a_time(inputs), widened(n))
    return widened(n) + widened(m * k) * turned_a + m * PANEL + laid


@functools.cache
def _callback() -> Any:
    numbers, count = "CPointer(float32), ", "int64, "
    given = 2 * (numbers + 2 * count) + numbers + 4 * count + numbers + count
    return callback(f"void({given}CPointer(float32))", _multiply)


@functools.cache
def ours() -> bool:
    libraries = ThreadpoolController().lib_controllers
    narrow = any(library.info().get("architecture", "").lower() in OURS for library in libraries)
    return narrow or get_host_cpu_name() == HALVED


def products_of(kind: np.dtype[Any]) -> tuple[int, int]:
    """Addresses of the BLAS's product and of ours, 0 where that is not asked."""
    assert GEMM is not None
    return GEMM[kind], _callback().address if kind == np.float32 and ours() else 0


@part
def multiply(products: Any, a: Any, turned_a: Any, b: Any, turned_b: Any, biases: Any, c: Any) -> None:
    """c = op(a) op(b) + biases (none: a vector of no size)"""
    begins = BIASES if biases.size > 0 else NOTHING
    multiply_columns(products, a, FIRST, turned_a, b, FIRST, turned_b, biases, begins, c, FIRST, c.shape[1])


@part
def multiply_columns(
    products: Any,
    a: Any,
    a_first: Any,
    turned_a: Any,
    b: Any,
    b_first: Any,
    turned_b: Any,
    biases: Any,
    begins: Any,
    c: Any,
    c_first: Any,
    n: Any,
) -> None:
    """n columns of c = op(a) op(b) + what they begin with; of a, b and c, the columns from their first on"""
    m, size = c.shape[0], c.itemsize
    k = a.shape[0] if turned_a else a.shape[1]
    left, right, out = a.ctypes.data + a_first * size, b.ctypes.data + b_first * size, c.ctypes.data + c_first * size
    if products[1] != 0 and m >= LEAST_ROWS and n >= PANEL and k > 0:
        work = np.empty(room(turned_a, m, n, k) + LINE // size, c.dtype)
        aligned = work.ctypes.data + -work.ctypes.data % LINE
        sides = left, a.shape[1], np.int64(turned_a), right, b.shape[1], np.int64(turned_b)
        call(products[1], (*sides, biases.ctypes.data, begins, m, n, k, out, c.shape[1], aligned))
        return
    beta = c.dtype.type(begins == ITSELF)
    gemm(products[0], turned_a, turned_b, m, n, k, left, a.shape[1], right, b.shape[1], beta, out, c.shape[1])
    for i in range(m if begins == BIASES else FIRST):
        row = c[i]
        for j in range(n):
            row[c_first + j] += biases[j]
