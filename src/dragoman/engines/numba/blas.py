"""The matrix product of the BLAS that NumPy brings, callable inside kernels: no way back through Python between a
product and what follows it.

Wheels of NumPy carry OpenBLAS with 64-bit integers under names of their own. Where there is none such, `GEMM` is None
and products are left to NumPy.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from threadpoolctl import ThreadpoolController

ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112  # of the CBLAS standard
NAMES: dict[np.dtype[Any], str] = {
    np.dtype(np.float32): "scipy_cblas_sgemm64_",
    np.dtype(np.float64): "scipy_cblas_dgemm64_",
}


def _find() -> dict[np.dtype[Any], int] | None:
    """Addresses of the products in single and double precision."""
    for library in ThreadpoolController().lib_controllers:
        if library.internal_api != "openblas":
            continue
        try:
            loaded = ctypes.CDLL(library.filepath)
            return {
                kind: ctypes.cast(getattr(loaded, name), ctypes.c_void_p).value or 0 for kind, name in NAMES.items()
            }
        except (OSError, AttributeError):
            continue
    return None


GEMM = _find()


@intrinsic  # type: ignore[untyped-decorator]
def gemm(
    typing: Any,
    address: Any,
    transpose_a: Any,
    transpose_b: Any,
    m: Any,
    n: Any,
    k: Any,
    a: Any,
    lda: Any,
    b: Any,
    ldb: Any,
    beta: Any,
    c: Any,
    ldc: Any,
) -> Any:
    """C = op(A) op(B) + beta C, rows one after the other: op(A) [m, k], op(B) [k, n]

    address  of the product, from GEMM; a, b, c  of the first numbers; lda, ldb, ldc  how far rows stand apart
    beta     0 or 1, in the precision of the matrices, which it tells
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        where, ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc = arguments
        integer, real = ir.IntType(64), context.get_value_type(signature.args[10])
        enum, pointer = ir.IntType(32), real.as_pointer()
        kind = ir.FunctionType(
            ir.VoidType(),
            [enum] * 3 + [integer] * 3 + [real, pointer, integer, pointer, integer, real, pointer, integer],
        )
        function = builder.inttoptr(where, kind.as_pointer())
        flags = [builder.select(flag, enum(TRANSPOSED), enum(PLAIN)) for flag in (ta, tb)]
        a, b, c = (builder.inttoptr(place, pointer) for place in (a, b, c))
        builder.call(function, [enum(ROW_MAJOR), *flags, m, n, k, real(1.0), a, lda, b, ldb, beta, c, ldc])
        return context.get_dummy_value()

    if beta not in (types.float32, types.float64):
        raise TypeError(f"beta is float32 or float64, not {beta}")
    i, flag = types.int64, types.boolean
    return types.void(i, flag, flag, i, i, i, i, i, i, i, beta, i, i), generate
