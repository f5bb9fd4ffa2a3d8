"""y = x W + b for a few rows. Matrices are flat arrays, each with the index of its first element.

x [m, k], row stride xs   W [k, n], contiguous   b [n]   y [m, n], row stride ys

Kernels call these by address, so that they are not compiled again into each caller.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from dragoman.engines.numba.gemm.microkernel import dot_microkernel, microkernel, pointers
from dragoman.engines.numba.gemm.packed_weights import (
    FOUR,
    ONE,
    PANEL,
    THREE,
    TWO,
    ZERO_INDEX,
    array_at,
    multiply_packed,
    pack,
    pack_transposed,
)
from dragoman.engines.numba.jit import callback, device_function, kernel
from dragoman.engines.numba.simd.float32x8 import broadcast, load, multiply_add, store

WIDE = 32  # columns of a microkernel of 2 or 3 rows

dots_of_1, dots_of_2, dots_of_3 = dot_microkernel(1, 4), dot_microkernel(2, 4), dot_microkernel(3, 4)


@kernel
def small_gemm(
    x: Any, x0: Any, xs: Any, m: Any, k: Any, w: Any, w0: Any, n: Any, b: Any, b0: Any, y: Any, y0: Any, ys: Any
) -> None:
    if m == 0:
        return
    if m == 1 and n >= 8:
        _one_row(x, x0, k, w, w0, n, b, b0, y, y0)
    elif m <= 3 and n >= WIDE:
        _few(x, x0, xs, m, k, w, w0, n, b, b0, y, y0, ys)
    elif m >= 3 and n >= PANEL:
        _several(x, x0, xs, m, k, w, w0, n, b, b0, y, y0, ys)
    else:
        for r in range(m):
            for c in range(n):
                total = b[b0 + c]
                for j in range(k):
                    total += x[x0 + r * xs + j] * w[w0 + j * n + c]
                y[y0 + r * ys + c] = total


@device_function
def _one_row(x: Any, x0: Any, k: Any, w: Any, w0: Any, n: Any, b: Any, b0: Any, y: Any, y0: Any) -> None:
    """One row of x: eight rows of weights at a time, partial sums in y."""
    whole = n - n % 8
    for c in range(0, whole, 8):
        store(y, y0 + c, load(b, b0 + c))
    j = 0
    while j + 8 <= k:
        at, p = x0 + j, w0 + j * n
        x1, x2, x3, x4 = broadcast(x[at]), broadcast(x[at + 1]), broadcast(x[at + 2]), broadcast(x[at + 3])
        x5, x6, x7, x8 = broadcast(x[at + 4]), broadcast(x[at + 5]), broadcast(x[at + 6]), broadcast(x[at + 7])
        for c in range(0, whole, 8):
            total = multiply_add(x1, load(w, p + c), load(y, y0 + c))
            total = multiply_add(x2, load(w, p + n + c), total)
            total = multiply_add(x3, load(w, p + 2 * n + c), total)
            total = multiply_add(x4, load(w, p + 3 * n + c), total)
            total = multiply_add(x5, load(w, p + 4 * n + c), total)
            total = multiply_add(x6, load(w, p + 5 * n + c), total)
            total = multiply_add(x7, load(w, p + 6 * n + c), total)
            store(y, y0 + c, multiply_add(x8, load(w, p + 7 * n + c), total))
        j += 8
    while j < k:
        x1, p = broadcast(x[x0 + j]), w0 + j * n
        for c in range(0, whole, 8):
            store(y, y0 + c, multiply_add(x1, load(w, p + c), load(y, y0 + c)))
        j += 1
    if whole < n:  # the last 8 columns, some of them again
        microkernel(ONE, ONE, x, x0, k, w, w0 + n - 8, n, k, b, b0 + n - 8, None, y, y0 + n - 8, n, None)


@device_function
def _few(
    x: Any, x0: Any, xs: Any, m: Any, k: Any, w: Any, w0: Any, n: Any, b: Any, b0: Any, y: Any, y0: Any, ys: Any
) -> None:
    for first in range(0, n, WIDE):
        c = min(first, n - WIDE)
        if m == 2:
            microkernel(TWO, FOUR, x, x0, xs, w, w0 + c, n, k, b, b0 + c, None, y, y0 + c, ys, None)
        else:
            microkernel(THREE, FOUR, x, x0, xs, w, w0 + c, n, k, b, b0 + c, None, y, y0 + c, ys, None)


@device_function
def _several(
    x: Any, x0: Any, xs: Any, m: Any, k: Any, w: Any, w0: Any, n: Any, b: Any, b0: Any, y: Any, y0: Any, ys: Any
) -> None:
    for first in range(0, n, PANEL):
        c = min(first, n - PANEL)
        multiply_packed(x, x0, xs, m, k, w, w0 + c, n, PANEL, b, b0 + c, None, y, y0 + c, ys, PANEL, True)


@kernel
def small_gemm_transposed(
    x: Any, x0: Any, xs: Any, m: Any, k: Any, w: Any, w0: Any, n: Any, b: Any, b0: Any, y: Any, y0: Any, ys: Any
) -> None:
    """y = x W' + b with W [n, k], an embedding table, k a multiple of 8"""
    for first in range(0, n, 4):
        c = min(first, n - 4)
        for r in range(0, m, 3):
            xr, yr, p = x0 + r * xs, y0 + r * ys + c, w0 + c * k
            if m - r >= 3:
                dots_of_3(x, xr, xs, w, p, k, k, b, b0 + c, y, yr, ys)
            elif m - r == 2:
                dots_of_2(x, xr, xs, w, p, k, k, b, b0 + c, y, yr, ys)
            else:
                dots_of_1(x, xr, xs, w, p, k, k, b, b0 + c, y, yr, ys)


@device_function
def pack_in_place(w: Any, w0: Any, k: Any, n: Any, transposed: Any, packed_weights: Any) -> None:
    """Pack weights into panels at the same index as in w; columns beyond the last whole panel are not packed."""
    whole = n - n % PANEL
    if transposed:
        pack_transposed(w, w0, k, k, whole, packed_weights, w0)
    else:
        pack(w, w0, n, k, whole, packed_weights, w0)


@device_function
def _multiply_panels(x: Any, xs: Any, m: Any, k: Any, packed_weights: Any, n: Any, b: Any, y: Any, ys: Any) -> Any:
    """Multiply with the whole panels; returns how many columns they are."""
    whole = n - n % PANEL
    multiply_packed(
        x,
        ZERO_INDEX,
        xs,
        m,
        k,
        packed_weights,
        ZERO_INDEX,
        None,
        whole,
        b,
        ZERO_INDEX,
        None,
        y,
        ZERO_INDEX,
        ys,
        None,
        True,
    )
    return whole


def _multiply(
    x: Any, xs: Any, m: Any, k: Any, w: Any, packed_weights: Any, n: Any, b: Any, y: Any, ys: Any, packed: Any
) -> None:
    x, w, b, y = array_at(x), array_at(w), array_at(b), array_at(y)
    if packed and m >= 3 and n >= PANEL:
        if _multiply_panels(x, xs, m, k, array_at(packed_weights), n, b, y, ys) < n:  # the last 16 columns, not packed
            c = n - PANEL
            multiply_packed(x, ZERO_INDEX, xs, m, k, w, c, n, PANEL, b, c, None, y, c, ys, ZERO_INDEX, True)
    else:
        small_gemm(x, ZERO_INDEX, xs, m, k, w, ZERO_INDEX, n, b, ZERO_INDEX, y, ZERO_INDEX, ys)


def _multiply_transposed(
    x: Any, xs: Any, m: Any, k: Any, w: Any, packed_weights: Any, n: Any, b: Any, y: Any, ys: Any, packed: Any
) -> None:
    x, w, b, y, c = array_at(x), array_at(w), array_at(b), array_at(y), ZERO_INDEX
    if packed and m >= 3 and n >= PANEL:
        c = _multiply_panels(x, xs, m, k, array_at(packed_weights), n, b, y, ys)
    small_gemm_transposed(x, ZERO_INDEX, xs, m, k, w, c * k, n - c, b, c, y, c, ys)


NUMBERS, COUNT = "CPointer(float32), ", "int64, "
SIGNATURE = f"void({NUMBERS}{3 * COUNT}{2 * NUMBERS}{COUNT}{2 * NUMBERS}{COUNT}boolean)"


@functools.cache
def _callbacks() -> tuple[Any, Any]:
    return callback(SIGNATURE, _multiply), callback(SIGNATURE, _multiply_transposed)


def addresses() -> tuple[int, int]:
    """The addresses of the product with a matrix and with a transposed one."""
    plain, transposed = _callbacks()
    return plain.address, transposed.address


@intrinsic  # type: ignore[untyped-decorator]
def call_gemm(
    typing: Any,
    address: Any,
    x: Any,
    x0: Any,
    m: Any,
    k: Any,
    w: Any,
    w0: Any,
    packed_weights: Any,
    p0: Any,
    n: Any,
    b: Any,
    b0: Any,
    y: Any,
    y0: Any,
    packed: Any,
) -> Any:
    """Call the product at one of the `addresses`; x [m, k] and y [m, n] contiguous; packed: whether panels are set"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, m, k, n, packed = (arguments[i] for i in (0, 3, 4, 9, 14))
        x, w, packed_weights, b, y = pointers(context, builder, signature.args, arguments, 1, 5, 7, 10, 12)
        i, p, flag = ir.IntType(64), ir.FloatType().as_pointer(), ir.IntType(8)
        kind = ir.FunctionType(ir.VoidType(), [p, i, i, i, p, p, i, p, p, i, flag])
        function = builder.inttoptr(address, kind.as_pointer())
        builder.call(function, [x, k, m, k, w, packed_weights, n, b, y, n, builder.zext(packed, flag)])
        return context.get_dummy_value()

    i = types.int64
    return types.void(i, x, i, i, i, w, i, packed_weights, i, i, b, i, y, i, types.boolean), generate
