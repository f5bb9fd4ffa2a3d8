"""Weights in panels of 16 columns, each [k, 16] without gaps, and the products of rows with them.

With many rows, or the same weights step after step, it pays to lay them out: a panel is read as it comes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from dragoman.engines.numba.jit import part
from dragoman.engines.numba.lanes import WIDTH, build_load, build_store, load, store
from dragoman.engines.numba.tiles import fetch, pointers, tile

FIRST = np.int64(0)  # of a machine's type: kernels would be compiled anew for a Python integer
ZERO = np.float32(0)
PANEL = np.int64(16)  # columns of a panel
AHEAD = np.int64(8)  # rows on, weights are asked for: too far apart for the processor to guess
PACKED = 128  # columns that are laid out at a time: fewer would leave most of a page unread
BLOCK = 1 << 15  # weights that stay in the cache
LEAST = np.int64(64)  # columns of a block, however many weights they have
ROWS = 6  # of the largest tile
ONE, TWO, THREE, FOUR, FIVE, SIX = ((0,) * rows for rows in range(1, 7))  # as tiles take them


@part
def clear(numbers: Any, begin: Any, end: Any) -> None:
    for i in range(begin, end):
        numbers[i] = ZERO


@part
def lay(w: Any, w0: Any, ws: Any, k: Any, columns: Any, panels: Any, p0: Any) -> None:
    """Of w [k, ...], rows `ws` apart, so many columns, which fill whole panels"""
    for begin in range(0, columns, PACKED):
        end = min(begin + PACKED, columns)
        for j in range(k):
            for c in range(begin, end, PANEL):
                at = p0 + c * k + j * PANEL
                fetch(w, w0 + (j + AHEAD) * ws + c)
                store(panels, at, load(w, w0 + j * ws + c))
                store(panels, at + 8, load(w, w0 + j * ws + c + 8))


@part
def transpose(x: Any, x0: Any, xs: Any, m: Any, n: Any, y: Any, y0: Any, ys: Any) -> None:
    """y [n, m] = x [m, n]', rows so many numbers apart; m = 16 and ys = 16 make a panel of transposed weights"""
    rows, columns = m - m % WIDTH, n - n % WIDTH
    for r in range(0, rows, WIDTH):
        for c in range(0, columns, WIDTH):
            turn(x, x0 + r * xs + c, xs, y, y0 + c * ys + r, ys)
    for r in range(m):
        for c in range(columns if r < rows else 0, n):
            y[y0 + c * ys + r] = x[x0 + r * xs + c]


@part
def widened(columns: Any) -> Any:
    """So many columns in whole panels."""
    return (columns + PANEL - 1) // PANEL * PANEL


@part
def lay_padded(w: Any, w0: Any, ws: Any, k: Any, n: Any, panels: Any, p0: Any) -> None:
    """All columns of w [k, n], and some of 0 where they do not fill the last panel"""
    whole = n - n % PANEL
    lay(w, w0, ws, k, whole, panels, p0)
    if whole < n:
        clear(panels, p0 + whole * k, p0 + (whole + PANEL) * k)
        for j in range(k):
            for c in range(whole, n):
                panels[p0 + whole * k + j * PANEL + c - whole] = w[w0 + j * ws + c]


@part
def lay_turned(w: Any, w0: Any, ws: Any, k: Any, n: Any, panels: Any, p0: Any) -> None:
    """The same of the transpose of w [n, k]"""
    for c in range(0, n, PANEL):
        if n - c < PANEL:
            clear(panels, p0 + c * k, p0 + (c + PANEL) * k)
        transpose(w, w0 + c * ws, ws, min(PANEL, n - c), k, panels, p0 + c * k, PANEL)


@intrinsic  # type: ignore[untyped-decorator]
def turn(typing: Any, x: Any, x0: Any, xs: Any, y: Any, y0: Any, ys: Any) -> Any:
    """A square of 8 rows and columns, transposed: halves shuffled into each other three times"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, target = pointers(context, builder, signature.args, arguments, 0, 3)

        def line(begin: Any, apart: Any, r: int) -> Any:
            return builder.gep(begin, [builder.mul(apart, ir.IntType(64)(r))])

        rows = [build_load(builder, line(source, arguments[2], r)) for r in range(WIDTH)]
        half = WIDTH // 2
        for _ in range(3):
            pairs = [(rows[r], rows[r + half], begin) for r in range(half) for begin in (0, half)]
            rows = [builder.shuffle_vector(a, b, _mixed(begin)) for a, b, begin in pairs]
        for r in range(WIDTH):
            build_store(builder, rows[r], line(target, arguments[5], r))
        return context.get_dummy_value()

    i = types.intp
    return types.void(x, i, i, y, i, i), generate


def _mixed(begin: int) -> Any:
    """Four lanes of each of two vectors, by turns"""
    lanes = [lane + which * WIDTH for lane in range(begin, begin + WIDTH // 2) for which in (0, 1)]
    return ir.Constant(ir.VectorType(cgutils.int32_t, WIDTH), lanes)


@part
def columns_at_a_time(k: Any) -> Any:
    """So many that their weights stay in the cache while all rows pass by."""
    return max(LEAST, BLOCK // k // PANEL * PANEL)


@part
def multiply_panels(
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
    ahead: Any,
    few: Any,
) -> None:
    """y = x W + b for m rows: 6 of them stay in the nearest cache while a block of the weights passes by

    bs         as tiles take it: None, or how far the rows of b stand apart
    ws, ahead  of a panel that is read where its weights were, as tiles take them; else None
    few        None where m is 20 or more: tiles of 6 and 5 rows are all that is compiled
    """
    tiles = (m + ROWS - 1) // ROWS
    width = columns_at_a_time(k)
    for begin in range(0, columns, width):
        end, r = min(begin + width, columns), FIRST
        for i in range(tiles):
            rows = (m - r + tiles - i - 1) // (tiles - i)  # as even as can be
            br = b0 if bs is None else b0 + r * bs
            given = x, x0 + r * xs, xs, k, panels, p0, ws, begin, end, b, br, bs, y, y0 + r * ys, ys, ahead
            if rows == 6:
                strip(SIX, *given)
            elif rows == 5:
                strip(FIVE, *given)
            elif few is not None:
                if rows == 4:
                    strip(FOUR, *given)
                elif rows == 3:
                    strip(THREE, *given)
                elif rows == 2:
                    strip(TWO, *given)
                else:
                    strip(ONE, *given)
            r += rows


@part
def strip(
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
    ahead: Any,
) -> None:
    """A tile of rows for each panel; a function of its own, or the registers would not do"""
    for c in range(begin, end, PANEL):
        tile(rows, TWO, x, x0, xs, panels, p0 + c * k, ws, k, b, b0 + c, bs, y, y0 + c, ys, ahead)
