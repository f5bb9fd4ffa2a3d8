"""The matrix products of training, C = op(A) op(B) + b.

In single precision they are our own: tiles of 6 x 16 numbers in registers, op(B) laid out block by block, biases where
the sums begin. On processors with vectors of 8 numbers they are ahead of the BLAS that NumPy brings
(docs/benchmarks.md); where vectors are wider, and in double precision, products are left to the BLAS.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
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
)

DEEP = np.int64(512)  # inputs that are summed up at a time
LEAST_ROWS = 20  # any number from here on is a sum of fives and sixes, so that no other tiles are needed
OURS = ("haswell", "zen")  # what OpenBLAS calls processors with vectors of 8 numbers and no wider ones


def _multiply(
    a: Any, turned_a: Any, w: Any, turned_w: Any, b: Any, biased: Any, m: Any, n: Any, k: Any, y: Any, work: Any
) -> None:
    """y [m, n] = op(a) op(w) + b, turned: a [k, m] or w [n, k]; m is 20 or more, n 16 or more"""
    x, w, b, y, work = carray(a, 1), carray(w, 1), carray(b, 1), carray(y, 1), carray(work, 1)
    place, b0, begin = FIRST, FIRST, FIRST
    if turned_a:
        transpose(x, FIRST, m, k, m, work, FIRST, k)
        x, place = work, m * k
    if not biased:
        clear(work, place, place + n)
        b, b0, place = work, place, place + n
    width = columns_at_a_time(min(k, DEEP))
    while begin < n:
        begin = min(begin, n - PANEL)  # the last columns, if need be with some before them
        columns = min(width, (n - begin) // PANEL * PANEL)
        for k0 in range(0, k, DEEP):
            inputs = min(DEEP, k - k0)
            if turned_w:
                lay_turned(w, begin * k + k0, k, inputs, columns, work, place)
            else:
                lay(w, k0 * n + begin, n, inputs, columns, work, place)
            sums, s0, apart = (b, b0 + begin, FIRST) if k0 == 0 else (y, begin, n)
            multiply_panels(x, k0, k, m, inputs, work, place, None, columns, sums, s0, apart, y, begin, n, None, None)
        begin += columns


@functools.cache
def _callback() -> Any:
    numbers, count = "CPointer(float32), ", "int64, "
    return callback(f"void({2 * (numbers + count)}{numbers}{4 * count}{numbers}CPointer(float32))", _multiply)


@functools.cache
def _ours() -> bool:
    return any(
        library.info().get("architecture", "").lower() in OURS for library in ThreadpoolController().lib_controllers
    )


def products_of(kind: np.dtype[Any]) -> tuple[int, int]:
    """Addresses of the BLAS's product and of ours, 0 where that is not asked."""
    assert GEMM is not None
    return GEMM[kind], _callback().address if kind == np.float32 and _ours() else 0


@part
def multiply(products: Any, a: Any, turned_a: Any, b: Any, turned_b: Any, biases: Any, c: Any) -> None:
    """c = op(a) op(b) + biases (none: a vector of no size)"""
    m, n = c.shape
    k = a.shape[0] if turned_a else a.shape[1]
    if products[1] != 0 and m >= LEAST_ROWS and n >= PANEL and k > 0:
        inputs = min(k, DEEP)
        work = np.empty(m * k * turned_a + n + inputs * min(columns_at_a_time(inputs), n), c.dtype)
        sides = a.ctypes.data, np.int64(turned_a), b.ctypes.data, np.int64(turned_b)
        added = biases.ctypes.data, np.int64(biases.size > 0)
        call(products[1], (*sides, *added, m, n, k, c.ctypes.data, work.ctypes.data))
        return
    zero, ca, cb = c.dtype.type(0), a.shape[1], b.shape[1]
    gemm(products[0], turned_a, turned_b, m, n, k, a.ctypes.data, ca, b.ctypes.data, cb, zero, c.ctypes.data, n)
    if biases.size > 0:
        for i in range(m):
            row = c[i]
            for j in range(n):
                row[j] += biases[j]
