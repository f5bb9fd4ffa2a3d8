"""Weights packed into panels of 16 columns, each [k, 16] and contiguous, and products with them.

Packing pays for many rows, or when the same weights are used step after step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray
from numba.core import cgutils, types
from numba.extending import intrinsic

from dragoman.engines.numba.gemm.microkernel import microkernel, pointers, prefetch
from dragoman.engines.numba.jit import device_function, inlined
from dragoman.engines.numba.simd.float32x8 import WIDTH, build_load, build_store, load, store

ZERO_INDEX = np.int64(0)  # an index of type int64; kernels would be compiled again for a Python integer
ZERO = np.float32(0)
UNKNOWN_LENGTH = 1 << 40
PANEL = np.int64(16)  # columns of a panel
PREFETCH_ROWS = np.int64(8)  # rows of weights to prefetch ahead: the stride is too large for the hardware prefetcher
PACK_COLUMNS = 128  # columns packed at a time: fewer would leave most of a page unread
CACHED_WEIGHTS = 1 << 15  # weights that stay in the cache
LEAST_COLUMNS = np.int64(64)  # columns of a block, at least
MOST_ROWS = 6  # of the largest microkernel
ONE, TWO, THREE, FOUR, FIVE, SIX = ((0,) * rows for rows in range(1, 7))  # block sizes as `microkernel` takes them


@inlined
def array_at(pointer: Any) -> Any:
    """The numbers from a pointer on, whose count only the caller knows: checks of bounds have to let them pass."""
    return carray(pointer, UNKNOWN_LENGTH)


@device_function
def clear(numbers: Any, begin: Any, end: Any) -> None:
    for i in range(begin, end):
        numbers[i] = ZERO


@device_function
def pack(w: Any, w0: Any, ws: Any, k: Any, columns: Any, panels: Any, p0: Any) -> None:
    """Pack columns of w [k, ...], row stride ws, into panels; `columns` is a multiple of 16."""
    for begin in range(0, columns, PACK_COLUMNS):
        end = min(begin + PACK_COLUMNS, columns)
        for j in range(k):
            for c in range(begin, end, PANEL):
                at = p0 + c * k + j * PANEL
                prefetch(w, w0 + (j + PREFETCH_ROWS) * ws + c)
                store(panels, at, load(w, w0 + j * ws + c))
                store(panels, at + 8, load(w, w0 + j * ws + c + 8))


@device_function
def transpose(x: Any, x0: Any, xs: Any, m: Any, n: Any, y: Any, y0: Any, ys: Any) -> None:
    """y [n, m] = transpose of x [m, n], row strides xs and ys; with m = ys = 16, y is a panel of transposed weights"""
    rows, columns = m - m % WIDTH, n - n % WIDTH
    for r in range(0, rows, WIDTH):
        for c in range(0, columns, WIDTH):
            transpose8(x, x0 + r * xs + c, xs, y, y0 + c * ys + r, ys)
    for r in range(m):
        for c in range(columns if r < rows else 0, n):
            y[y0 + c * ys + r] = x[x0 + r * xs + c]


@device_function
def round_up_to_panel(columns: Any) -> Any:
    """Round a number of columns up to whole panels."""
    return (columns + PANEL - 1) // PANEL * PANEL


@device_function
def row_stride(columns: Any) -> Any:
    """A row stride of an odd number of panels; rows at a power of 2 would share few cache sets."""
    return ((columns + PANEL - 1) // PANEL | 1) * PANEL


@device_function
def pack_padded(w: Any, w0: Any, ws: Any, k: Any, n: Any, panels: Any, p0: Any) -> None:
    """Pack all columns of w [k, n]; the last panel is padded with zeros."""
    whole = n - n % PANEL
    pack(w, w0, ws, k, whole, panels, p0)
    if whole < n:
        clear(panels, p0 + whole * k, p0 + (whole + PANEL) * k)
        for j in range(k):
            for c in range(whole, n):
                panels[p0 + whole * k + j * PANEL + c - whole] = w[w0 + j * ws + c]


@device_function
def pack_transposed(w: Any, w0: Any, ws: Any, k: Any, n: Any, panels: Any, p0: Any) -> None:
    """Pack the transpose of w [n, k]; the last panel is padded with zeros."""
    for c in range(0, n, PANEL):
        if n - c < PANEL:
            clear(panels, p0 + c * k, p0 + (c + PANEL) * k)
        transpose(w, w0 + c * ws, ws, min(PANEL, n - c), k, panels, p0 + c * k, PANEL)


@intrinsic  # type: ignore[untyped-decorator]
def transpose8(typing: Any, x: Any, x0: Any, xs: Any, y: Any, y0: Any, ys: Any) -> Any:
    """Transpose a block of 8 rows and 8 columns with three rounds of shuffles."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, target = pointers(context, builder, signature.args, arguments, 0, 3)

        def row_pointer(begin: Any, stride: Any, r: int) -> Any:
            return builder.gep(begin, [builder.mul(stride, ir.IntType(64)(r))])

        rows = [build_load(builder, row_pointer(source, arguments[2], r)) for r in range(WIDTH)]
        half = WIDTH // 2
        for _ in range(3):
            pairs = [(rows[r], rows[r + half], begin) for r in range(half) for begin in (0, half)]
            rows = [builder.shuffle_vector(a, b, _interleave(begin)) for a, b, begin in pairs]
        for r in range(WIDTH):
            build_store(builder, rows[r], row_pointer(target, arguments[5], r))
        return context.get_dummy_value()

    i = types.intp
    return types.void(x, i, i, y, i, i), generate


def _interleave(begin: int) -> Any:
    """A shuffle mask that interleaves four lanes of each of two vectors."""
    indices = [lane + which * WIDTH for lane in range(begin, begin + WIDTH // 2) for which in (0, 1)]
    return ir.Constant(ir.VectorType(cgutils.int32_t, WIDTH), indices)


@device_function
def columns_per_block(k: Any) -> Any:
    """Columns whose weights stay in the cache while all rows are multiplied with them."""
    return max(LEAST_COLUMNS, CACHED_WEIGHTS // k // PANEL * PANEL)


@device_function
def multiply_packed(
    x: Any,
    x0: Any,
    xs: Any,
    m: Any,
    k: Any,
    panels: Any,
    p0: Any,
    ws: Any,
    columns: Any,
    b: Any,
    b0: Any,
    bs: Any,
    y: Any,
    y0: Any,
    ys: Any,
    prefetch_distance: Any,
    any_rows: Any,
) -> None:
    """y = x W + b for m rows, up to 6 rows at a time against a block of the weights

    bs                     as in `microkernel`: None, or the row stride of b
    ws, prefetch_distance  as in `microkernel`, for weights that are not packed; else None
    any_rows               None if m >= 20, so that only the microkernels of 5 and 6 rows are compiled
    """
    blocks = (m + MOST_ROWS - 1) // MOST_ROWS
    width = columns_per_block(k)
    for begin in range(0, columns, width):
        end, r = min(begin + width, columns), ZERO_INDEX
        for i in range(blocks):
            rows = (m - r + blocks - i - 1) // (blocks - i)  # blocks as even as possible
            br = b0 if bs is None else b0 + r * bs
            given = x, x0 + r * xs, xs, k, panels, p0, ws, begin, end, b, br, bs, y, y0 + r * ys, ys, prefetch_distance
            if rows == 6:
                multiply_row_block(SIX, *given)
            elif rows == 5:
                multiply_row_block(FIVE, *given)
            elif any_rows is not None:
                if rows == 4:
                    multiply_row_block(FOUR, *given)
                elif rows == 3:
                    multiply_row_block(THREE, *given)
                elif rows == 2:
                    multiply_row_block(TWO, *given)
                else:
                    multiply_row_block(ONE, *given)
            r += rows


@device_function
def multiply_row_block(
    rows: Any,
    x: Any,
    x0: Any,
    xs: Any,
    k: Any,
    panels: Any,
    p0: Any,
    ws: Any,
    begin: Any,
    end: Any,
    b: Any,
    b0: Any,
    bs: Any,
    y: Any,
    y0: Any,
    ys: Any,
    prefetch_distance: Any,
) -> None:
    """One block of rows with every panel; a separate function, so that registers suffice."""
    for c in range(begin, end, PANEL):
        microkernel(rows, TWO, x, x0, xs, panels, p0 + c * k, ws, k, b, b0 + c, bs, y, y0 + c, ys, prefetch_distance)
