"""The product of a step: few rows, and the same weights step after step.

A BLAS copies the weights into an order of its own in every call, which costs as much as the product of some ten rows.
Here float32 weights are laid out once for all steps, in panels; other numbers, and a single step, are left to the BLAS.
What works on panels is called by its address: built into each of its callers, it would be compiled over and over.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import carray
from numba.core.ccallback import CFunc

from dragoman.engines.numba.blas import gemm
from dragoman.engines.numba.jit import call, callback, part
from dragoman.engines.numba.panels import FIRST, clear, lay_padded, lay_turned, multiply_panels, widened


def _lay(w: Any, ws: Any, k: Any, n: Any, panels: Any) -> None:
    """w [k, n], rows `ws` apart, in panels, then biases of 0"""
    panels = carray(panels, 1)
    lay_padded(carray(w, 1), FIRST, ws, k, n, panels, FIRST)
    clear(panels, k * widened(n), (k + 1) * widened(n))


def _lay_turned(w: Any, ws: Any, k: Any, n: Any, panels: Any) -> None:
    """The same of the transpose of w [n, k]"""
    panels = carray(panels, 1)
    lay_turned(carray(w, 1), FIRST, ws, k, n, panels, FIRST)
    clear(panels, k * widened(n), (k + 1) * widened(n))


def _multiply(x: Any, m: Any, k: Any, panels: Any, n: Any, y: Any, ys: Any) -> None:
    """y [m, n] = x [m, k] times the panels"""
    w = carray(panels, 1)
    multiply_panels(
        carray(x, 1), FIRST, k, m, k, w, FIRST, None, n, w, n * k, None, carray(y, 1), FIRST, ys, None, True
    )


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


@part
def lay_out(products: Any, w: Any, first: Any, columns: Any, transposed: Any) -> Any:
    """op(w[:, first : first + columns]) in panels; nothing where products are left to the BLAS"""
    if products[1] == 0:
        return np.empty(0, w.dtype)
    k, n = (columns, w.shape[0]) if transposed else (w.shape[0], columns)
    panels = np.empty((k + 1) * widened(n), w.dtype)
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
