"""The product of a step: few rows, and the same weights step after step.

A BLAS copies the weights into an order of its own in every call, which costs as much as the product of some ten rows.
Here float32 weights are laid out once for all steps, in panels of 16 columns; other numbers, and a single step, are
left to the BLAS. What works on panels is called by its address: built into each of its callers, it would be compiled
over and over.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray
from numba.core import cgutils, types
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

from dragoman.engines.numba.blas import gemm
from dragoman.engines.numba.jit import callback, part
from dragoman.engines.numba.lanes import WIDTH, build_load, build_store, load, store
from dragoman.engines.numba.search.tiles import pointers, tile

PANEL = np.int64(16)  # columns; those beyond the last of a matrix are 0
PACKED = 64  # columns that are laid out at a time: fewer would leave most of a page unread
BLOCK = 96  # rows that stay in the cache while all weights pass by
ROWS = 6  # of the largest tile
FIRST, ZERO = np.int64(0), np.float32(0)  # of a machine's type: kernels would be compiled anew for a Python integer

_COUNT = ir.IntType(64)

one, two, three = tile(1, 2), tile(2, 2), tile(3, 2)
four, five, six = tile(4, 2), tile(5, 2), tile(6, 2)


@part
def widened(columns: Any) -> Any:
    """So many columns in whole panels."""
    return (columns + PANEL - 1) // PANEL * PANEL


@intrinsic  # type: ignore[untyped-decorator]
def turn(typing: Any, w: Any, w0: Any, apart: Any, panels: Any, p0: Any) -> Any:
    """A square of 8 rows and columns, transposed: halves shuffled into each other three times"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, target = pointers(context, builder, signature, arguments, 0, 3)
        rows = [build_load(builder, builder.gep(source, [builder.mul(arguments[2], _COUNT(r))])) for r in range(WIDTH)]
        half = WIDTH // 2
        for _ in range(3):
            pairs = [(rows[r], rows[r + half], begin) for r in range(half) for begin in (0, half)]
            rows = [builder.shuffle_vector(a, b, _mixed(begin)) for a, b, begin in pairs]
        for r in range(WIDTH):
            build_store(builder, rows[r], builder.gep(target, [_COUNT(r * int(PANEL))]))
        return context.get_dummy_value()

    i = types.intp
    return types.void(w, i, i, panels, i), generate


def _mixed(begin: int) -> Any:
    """Four lanes of each of two vectors, by turns"""
    lanes = [lane + which * WIDTH for lane in range(begin, begin + WIDTH // 2) for which in (0, 1)]
    return ir.Constant(ir.VectorType(cgutils.int32_t, WIDTH), lanes)


def _lay(w: Any, ws: Any, k: Any, n: Any, panels: Any) -> None:
    """w [k, n], rows `ws` apart, as [n / 16, k, 16], then 16 times 0"""
    w, panels = carray(w, 1), carray(panels, 1)
    whole, wide = n - n % PANEL, widened(n)
    for i in range(k * whole, k * wide + PANEL):
        panels[i] = ZERO
    for begin in range(0, whole, PACKED):
        for j in range(k):
            for c in range(begin, min(begin + PACKED, whole), PANEL):
                at = c * k + j * PANEL
                store(panels, at, load(w, j * ws + c))
                store(panels, at + 8, load(w, j * ws + c + 8))
    for j in range(k):
        for c in range(whole, n):
            panels[whole * k + j * PANEL + c - whole] = w[j * ws + c]


def _lay_turned(w: Any, ws: Any, k: Any, n: Any, panels: Any) -> None:
    """The same of the transpose of w [n, k]"""
    w, panels = carray(w, 1), carray(panels, 1)
    whole, wide = n - n % PANEL, widened(n)
    for i in range(k * whole, k * wide + PANEL):
        panels[i] = ZERO
    squares = k - k % WIDTH
    for c in range(0, whole, WIDTH):
        at = (c - c % PANEL) * k + c % PANEL
        for j in range(0, squares, WIDTH):
            turn(w, c * ws + j, ws, panels, at + j * PANEL)
    for c in range(n):
        at = (c - c % PANEL) * k + c % PANEL
        for j in range(squares if c < whole else 0, k):
            panels[at + j * PANEL] = w[c * ws + j]


def _multiply(x: Any, m: Any, k: Any, panels: Any, n: Any, y: Any, ys: Any) -> None:
    """y [m, n] = x [m, k] times the panels, as many rows at a time as stay in the cache"""
    x, panels, y = carray(x, 1), carray(panels, 1), carray(y, 1)
    blocks = (m + BLOCK - 1) // BLOCK
    for i in range(blocks):
        begin, end = m * i // blocks, m * (i + 1) // blocks
        for c in range(0, n, PANEL):
            _panel(x, begin, end, k, panels, c * k, n * k, y, c, ys)


@part
def _panel(x: Any, begin: Any, end: Any, k: Any, w: Any, w0: Any, zeros: Any, y: Any, c: Any, ys: Any) -> None:
    """16 columns of some rows, in tiles of up to 6 rows as even as can be"""
    tiles = (end - begin + ROWS - 1) // ROWS
    least, more = (end - begin) // tiles, (end - begin) % tiles
    r = begin
    for i in range(tiles):
        rows = least + 1 if i < more else least
        xr, yr = r * k, r * ys + c
        if rows == 6:
            six(x, xr, k, w, w0, PANEL, k, w, zeros, y, yr, ys, FIRST)
        elif rows == 5:
            five(x, xr, k, w, w0, PANEL, k, w, zeros, y, yr, ys, FIRST)
        elif rows == 4:
            four(x, xr, k, w, w0, PANEL, k, w, zeros, y, yr, ys, FIRST)
        elif rows == 3:
            three(x, xr, k, w, w0, PANEL, k, w, zeros, y, yr, ys, FIRST)
        elif rows == 2:
            two(x, xr, k, w, w0, PANEL, k, w, zeros, y, yr, ys, FIRST)
        else:
            one(x, xr, k, w, w0, PANEL, k, w, zeros, y, yr, ys, FIRST)
        r += rows


@functools.cache
def _callbacks() -> tuple[CFunc, CFunc, CFunc]:
    numbers, count = "CPointer(float32), ", "int64, "
    lay = f"void({numbers}{3 * count}CPointer(float32))"
    multiply = f"void({numbers}{2 * count}{numbers}{count}{numbers}int64)"
    return callback(multiply, _multiply), callback(lay, _lay), callback(lay, _lay_turned)


def addresses() -> tuple[int, int, int]:
    """Of the product with panels, and of what lays out a matrix and a transposed one."""
    multiply, lay, lay_turned = (made.address or 0 for made in _callbacks())
    return multiply, lay, lay_turned


@intrinsic  # type: ignore[untyped-decorator]
def call(typing: Any, address: Any, arguments: Any) -> Any:
    """What stands at an address, with a tuple of 64-bit integers: counts and places of numbers"""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        integers = [builder.extract_value(given[1], i) for i in range(len(arguments))]
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)] * len(integers))
        builder.call(builder.inttoptr(given[0], kind.as_pointer()), integers)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


@part
def lay_out(products: Any, w: Any, first: Any, columns: Any, transposed: Any) -> Any:
    """op(w[:, first : first + columns]) in panels; nothing where products are left to the BLAS"""
    if products[1] == 0:
        return np.empty(0, w.dtype)
    k, n = (columns, w.shape[0]) if transposed else (w.shape[0], columns)
    panels = np.empty(k * widened(n) + PANEL, w.dtype)
    begin, lay = w[:, first:].ctypes.data, products[3] if transposed else products[2]
    call(lay, (begin, w.shape[1], k, n, panels.ctypes.data))
    return panels


@part
def multiply(
    products: Any, x: Any, rows: Any, panels: Any, w: Any, first: Any, columns: Any, transposed: Any, y: Any
) -> None:
    """y = x op(w[:, first : first + columns]) for the first rows; y has whole panels of columns

    products  addresses of the BLAS's product and of those with panels, the latter 0 where nothing is laid out
    """
    k, n = (columns, w.shape[0]) if transposed else (w.shape[0], columns)
    source, out, apart = x.ctypes.data, y.ctypes.data, y.shape[1]
    if products[1] != 0:
        call(products[1], (source, rows, k, panels.ctypes.data, widened(n), out, apart))
    else:
        begin, zero = w[:, first:].ctypes.data, w.dtype.type(0)
        gemm(products[0], False, transposed, rows, n, k, source, k, begin, w.shape[1], zero, out, apart)
