"""The GEMM of NumPy's own OpenBLAS, callable inside kernels."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from dragoman.engines.openblas import find_gemm

ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112  # of the CBLAS standard
GEMM = find_gemm()  # by precision; None where products are left to NumPy


@intrinsic  # type: ignore[untyped-decorator]
def cblas_gemm(
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
    """C = op(A) op(B) + beta C, row-major: op(A) [m, k], op(B) [k, n]

    address  of the routine, from GEMM; a, b, c  addresses of the matrices; lda, ldb, ldc  row strides
    beta     0 or 1; its type is the precision of the matrices
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
