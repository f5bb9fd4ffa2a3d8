"""y = x W + b for the rows of a few sentences: matrices flat, each with the place of its first number.

x [m, k] with rows `xs` apart   W [k, n] without gaps   b [n]   y [m, n] with rows `ys` apart

Kernels call these by address: built into each of their callers, they would be compiled over and over.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import carray
from numba.core import types
from numba.extending import intrinsic

from dragoman.engines.numba.jit import callback, kernel, part
from dragoman.engines.numba.lanes import load, multiply_add, spread, store
from dragoman.engines.numba.panels import FIRST, FOUR, ONE, PANEL, THREE, TWO, lay, lay_turned, multiply_panels
from dragoman.engines.numba.tiles import dots, pointers, tile

WIDE = 32  # columns of a tile of 2 or 3 rows

dots_of_one, dots_of_two, dots_of_three = dots(1, 4), dots(2, 4), dots(3, 4)


@kernel
def product(
    x: Any, x0: Any, xs: Any, m: Any, k: Any, w: Any, w0: Any, n: Any, b: Any, b0: Any, y: Any, y0: Any, ys: Any
) -> None:
    if m == 0:
        return
    if m == 1 and n >= 8:
        _row(x, x0, k, w, w0, n, b, b0, y, y0)
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


@part
def _row(x: Any, x0: Any, k: Any, w: Any, w0: Any, n: Any, b: Any, b0: Any, y: Any, y0: Any) -> None:
    """One row of x: the weights as they come, eight rows of them at a time, and the sums beside them in the cache"""
    whole = n - n % 8
    for c in range(0, whole, 8):
        store(y, y0 + c, load(b, b0 + c))
    j = 0
    while j + 8 <= k:
        at, p = x0 + j, w0 + j * n
        x1, x2, x3, x4 = spread(x[at]), spread(x[at + 1]), spread(x[at + 2]), spread(x[at + 3])
        x5, x6, x7, x8 = spread(x[at + 4]), spread(x[at + 5]), spread(x[at + 6]), spread(x[at + 7])
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
        x1, p = spread(x[x0 + j]), w0 + j * n
        for c in range(0, whole, 8):
            store(y, y0 + c, multiply_add(x1, load(w, p + c), load(y, y0 + c)))
        j += 1
    if whole < n:  # the last columns once more, with some before them
        tile(ONE, ONE, x, x0, k, w, w0 + n - 8, n, k, b, b0 + n - 8, None, y, y0 + n - 8, n, None)


@part
def _few(
    x: Any, x0: Any, xs: Any, m: Any, k: Any, w: Any, w0: Any, n: Any, b: Any, b0: Any, y: Any, y0: Any, ys: Any
) -> None:
    for first in range(0, n, WIDE):
        c = min(first, n - WIDE)
        if m == 2:
            tile(TWO, FOUR, x, x0, xs, w, w0 + c, n, k, b, b0 + c, None, y, y0 + c, ys, None)
        else:
            tile(THREE, FOUR, x, x0, xs, w, w0 + c, n, k, b, b0 + c, None, y, y0 + c, ys, None)


@part
def _several(
    x: Any, x0: Any, xs: Any, m: Any, k: Any, w: Any, w0: Any, n: Any, b: Any, b0: Any, y: Any, y0: Any, ys: Any
) -> None:
    for first in range(0, n, PANEL):
        c = min(first, n - PANEL)
        multiply_panels(x, x0, xs, m, k, w, w0 + c, n, PANEL, b, b0 + c, None, y, y0 + c, ys, PANEL, True)


@kernel
def transposed_product(
    x: Any, x0: Any, xs: Any, m: Any, k: Any, w: Any, w0: Any, n: Any, b: Any, b0: Any, y: Any, y0: Any, ys: Any
) -> None:
    """y = x W' + b with W [n, k], an embedding's table, k a multiple of 8"""
    for first in range(0, n, 4):
        c = min(first, n - 4)
        for r in range(0, m, 3):
            xr, yr, p = x0 + r * xs, y0 + r * ys + c, w0 + c * k
            if m - r >= 3:
                dots_of_three(x, xr, xs, w, p, k, k, b, b0 + c, y, yr, ys)
            elif m - r == 2:
                dots_of_two(x, xr, xs, w, p, k, k, b, b0 + c, y, yr, ys)
            else:
                dots_of_one(x, xr, xs, w, p, k, k, b, b0 + c, y, yr, ys)


@part
def lay_out(w: Any, w0: Any, k: Any, n: Any, transposed: Any, panels: Any) -> None:
    """Weights in panels where w has its own; the columns that fill none are left out"""
    whole = n - n % PANEL
    if transposed:
        lay_turned(w, w0, k, k, whole, panels, w0)
    else:
        lay(w, w0, n, k, whole, panels, w0)


@part
def _whole_panels(x: Any, xs: Any, m: Any, k: Any, panels: Any, n: Any, b: Any, y: Any, ys: Any) -> Any:
    """The columns that fill panels; how many they are"""
    whole = n - n % PANEL
    multiply_panels(x, FIRST, xs, m, k, panels, FIRST, None, whole, b, FIRST, None, y, FIRST, ys, None, True)
    return whole


def _plain(x: Any, xs: Any, m: Any, k: Any, w: Any, panels: Any, n: Any, b: Any, y: Any, ys: Any, laid: Any) -> None:
    x, w, b, y = carray(x, 1), carray(w, 1), carray(b, 1), carray(y, 1)
    if laid and m >= 3 and n >= PANEL:
        if _whole_panels(x, xs, m, k, carray(panels, 1), n, b, y, ys) < n:  # the last columns, with some before them
            c = n - PANEL
            multiply_panels(x, FIRST, xs, m, k, w, c, n, PANEL, b, c, None, y, c, ys, FIRST, True)
    else:
        product(x, FIRST, xs, m, k, w, FIRST, n, b, FIRST, y, FIRST, ys)


def _transposed(
    x: Any, xs: Any, m: Any, k: Any, w: Any, panels: Any, n: Any, b: Any, y: Any, ys: Any, laid: Any
) -> None:
    x, w, b, y, c = carray(x, 1), carray(w, 1), carray(b, 1), carray(y, 1), FIRST
    if laid and m >= 3 and n >= PANEL:
        c = _whole_panels(x, xs, m, k, carray(panels, 1), n, b, y, ys)
    transposed_product(x, FIRST, xs, m, k, w, c * k, n - c, b, c, y, c, ys)


NUMBERS, COUNT = "CPointer(float32), ", "int64, "
SIGNATURE = f"void({NUMBERS}{3 * COUNT}{2 * NUMBERS}{COUNT}{2 * NUMBERS}{COUNT}boolean)"


@functools.cache
def _callbacks() -> tuple[Any, Any]:
    return callback(SIGNATURE, _plain), callback(SIGNATURE, _transposed)


def addresses() -> tuple[int, int]:
    """Of the product with a matrix and of that with a transposed one."""
    plain, transposed = _callbacks()
    return plain.address, transposed.address


@intrinsic  # type: ignore[untyped-decorator]
def multiply_at(
    typing: Any,
    address: Any,
    x: Any,
    x0: Any,
    m: Any,
    k: Any,
    w: Any,
    w0: Any,
    panels: Any,
    p0: Any,
    n: Any,
    b: Any,
    b0: Any,
    y: Any,
    y0: Any,
    laid: Any,
) -> Any:
    """The product at one of the `addresses`, x [m, k] and y [m, n] without gaps; laid: whether the panels are there"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, m, k, n, laid = (arguments[i] for i in (0, 3, 4, 9, 14))
        x, w, panels, b, y = pointers(context, builder, signature.args, arguments, 1, 5, 7, 10, 12)
        i, p, flag = ir.IntType(64), ir.FloatType().as_pointer(), ir.IntType(8)
        kind = ir.FunctionType(ir.VoidType(), [p, i, i, i, p, p, i, p, p, i, flag])
        function = builder.inttoptr(address, kind.as_pointer())
        builder.call(function, [x, k, m, k, w, panels, n, b, y, n, builder.zext(laid, flag)])
        return context.get_dummy_value()

    i = types.int64
    return types.void(i, x, i, i, i, w, i, panels, i, i, b, i, y, i, types.boolean), generate
