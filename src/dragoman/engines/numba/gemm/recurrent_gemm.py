"""The product of a time step: a few rows, and the same weights in every step.

A BLAS packs the weights in every call, which costs as much as the product of about ten rows. Here float32 weights are
packed once for all steps; double precision, and a single step, are left to the BLAS. The routines on packed weights are
called by address, so that they are not compiled again into each caller.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba.core.ccallback import CFunc

from dragoman.engines.numba.gemm.blas import cblas_gemm
from dragoman.engines.numba.gemm.packed_weights import (
    ZERO_INDEX,
    array_at,
    clear,
    multiply_packed,
    pack_padded,
    pack_transposed,
    round_up_to_panel,
)
from dragoman.engines.numba.jit import call, callback, device_function


def _pack(w: Any, ws: Any, k: Any, n: Any, panels: Any) -> None:
    """Pack w [k, n], row stride ws, into panels, followed by biases of 0."""
    panels = array_at(panels)
    pack_padded(array_at(w), ZERO_INDEX, ws, k, n, panels, ZERO_INDEX)
    clear(panels, k * round_up_to_panel(n), (k + 1) * round_up_to_panel(n))


def _pack_transposed(w: Any, ws: Any, k: Any, n: Any, panels: Any) -> None:
    """Pack the transpose of w [n, k], followed by biases of 0."""
    panels = array_at(panels)
    pack_transposed(array_at(w), ZERO_INDEX, ws, k, n, panels, ZERO_INDEX)
    clear(panels, k * round_up_to_panel(n), (k + 1) * round_up_to_panel(n))


def _multiply(x: Any, m: Any, k: Any, panels: Any, n: Any, y: Any, ys: Any) -> None:
    """y [m, n] = x [m, k] times packed weights"""
    w = array_at(panels)
    multiply_packed(
        array_at(x),
        ZERO_INDEX,
        k,
        m,
        k,
        w,
        ZERO_INDEX,
        None,
        n,
        w,
        n * k,
        None,
        array_at(y),
        ZERO_INDEX,
        ys,
        None,
        True,
    )


@functools.cache
def _callbacks() -> tuple[CFunc, CFunc, CFunc]:
    numbers, count = "CPointer(float32), ", "int64, "
    pack = f"void({numbers}{3 * count}CPointer(float32))"
    multiply_step = f"void({numbers}{2 * count}{numbers}{count}{numbers}int64)"
    return callback(multiply_step, _multiply), callback(pack, _pack), callback(pack, _pack_transposed)


def addresses() -> tuple[int, int, int]:
    """The addresses of the product with packed weights, and of packing a matrix and a transposed one."""
    multiply_step, pack, pack_transposed = (made.address or 0 for made in _callbacks())
    return multiply_step, pack, pack_transposed


@device_function
def pack_weights(gemms: Any, w: Any, first: Any, columns: Any, transposed: Any) -> Any:
    """Pack op(w[:, first : first + columns]); an empty array where products are left to the BLAS."""
    if gemms[1] == 0:
        return np.empty(0, w.dtype)
    k, n = (columns, w.shape[0]) if transposed else (w.shape[0], columns)
    panels = np.empty((k + 1) * round_up_to_panel(n), w.dtype)
    begin, pack = w[:, first:].ctypes.data, gemms[3] if transposed else gemms[2]
    call(pack, (begin, w.shape[1], k, n, panels.ctypes.data))
    return panels


@device_function
def multiply_step(
    gemms: Any, x: Any, rows: Any, panels: Any, w: Any, first: Any, columns: Any, transposed: Any, y: Any
) -> None:
    """y = x op(w[:, first : first + columns]) for the first rows; y has whole panels of columns

    gemms  the address of the BLAS's GEMM, then `addresses()`, all 0 where nothing is packed
    """
    k, n = (columns, w.shape[0]) if transposed else (w.shape[0], columns)
    source, out, out_stride = x.ctypes.data, y.ctypes.data, y.shape[1]
    if gemms[1] != 0:
        call(gemms[1], (source, rows, k, panels.ctypes.data, round_up_to_panel(n), out, out_stride))
    else:
        begin, zero = w[:, first:].ctypes.data, w.dtype.type(0)
        cblas_gemm(gemms[0], False, transposed, rows, n, k, source, k, begin, w.shape[1], zero, out, out_stride)
