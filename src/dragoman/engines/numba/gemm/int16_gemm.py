"""Products of rows with the output weights in 16-bit integers; only the maximum of each panel is kept.

One instruction multiplies sixteen 16-bit integers, but only eight floats.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from dragoman.engines.numba.gemm.microkernel import UNROLLED, keep_in_register, pointers
from dragoman.engines.numba.gemm.packed_weights import (
    FIVE,
    FOUR,
    MOST_ROWS,
    ONE,
    PANEL,
    SIX,
    THREE,
    TWO,
    ZERO_INDEX,
    array_at,
)
from dragoman.engines.numba.jit import callback
from dragoman.engines.numba.simd.elementwise import build_call
from dragoman.engines.numba.simd.float32x8 import (
    VECTOR,
    WIDTH,
    build_broadcast,
    build_lanewise_max,
    build_load,
    build_reduction,
)

PANEL_WEIGHTS = 32  # adjacent weights of a panel: two inputs of 16 labels
CACHED_PANELS = 16  # panels that stay in the cache while all rows are multiplied with them
_INDEX = ir.IntType(64)
_SHORTS, _SUMS = ir.VectorType(ir.IntType(16), 2 * WIDTH), ir.VectorType(ir.IntType(32), WIDTH)


@intrinsic  # type: ignore[untyped-decorator]
def panel_max(
    typing: Any,
    rows: Any,
    x: Any,
    x0: Any,
    x_stride: Any,
    w: Any,
    w0: Any,
    pairs: Any,
    factors: Any,
    f0: Any,
    biases: Any,
    b0: Any,
    scales: Any,
    s0: Any,
    y: Any,
    y0: Any,
    y_stride: Any,
) -> Any:
    """y[r] = max over the 16 columns c of scale[r] factor[c] sum_k x[r, k] w[k, c] + biases[c]

    rows  a tuple whose length is the number of rows; x, w  integers, w a panel with pairs of inputs interleaved
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, arguments = signature.args[1:], arguments[1:]
        x, w, factors, biases, scales, y = pointers(context, builder, kinds, arguments, 0, 3, 6, 8, 10, 12)
        x_stride, pairs, y_stride = (arguments[i] for i in (2, 5, 14))
        accumulators = [[cgutils.alloca_once(builder, _SUMS) for _ in range(2)] for _ in rows]
        for cell in (cell for pair in accumulators for cell in pair):
            builder.store(ir.Constant(_SUMS, [0] * WIDTH), cell)
        x_rows = [
            keep_in_register(builder, builder.gep(x, [builder.mul(x_stride, _INDEX(r))])) for r in range(len(rows))
        ]
        with cgutils.for_range_slice(builder, _INDEX(0), pairs, _INDEX(UNROLLED), inc=True) as (first, _):
            for i in range(UNROLLED):
                k = builder.add(first, _INDEX(i))
                panel = builder.gep(w, [builder.mul(k, _INDEX(PANEL_WEIGHTS))])
                weights = [_shorts(builder, builder.gep(panel, [_INDEX(c * PANEL_WEIGHTS // 2)])) for c in range(2)]
                for row, sums in zip(x_rows, accumulators, strict=True):
                    numbers = _broadcast_pair(builder, builder.gep(row, [builder.mul(k, _INDEX(2))]))
                    for c in range(2):
                        gemms = _multiply_pairs(builder, numbers, weights[c])
                        builder.store(_keep_order(builder, builder.add(builder.load(sums[c]), gemms)), sums[c])
        for r, sums in enumerate(accumulators):
            scale = build_broadcast(builder, builder.load(builder.gep(scales, [_INDEX(r)])))
            found = []
            for c in range(2):
                at = [_INDEX(c * WIDTH)]
                number = builder.sitofp(builder.load(sums[c]), VECTOR)
                number = builder.fmul(number, build_load(builder, builder.gep(factors, at)))
                found.append(build_call(builder, "fma", number, scale, build_load(builder, builder.gep(biases, at))))
            top = build_reduction(
                builder, build_lanewise_max(builder, *found), functools.partial(build_lanewise_max, builder)
            )
            builder.store(top, builder.gep(y, [builder.mul(y_stride, _INDEX(r))]))
        return context.get_dummy_value()

    i = types.intp
    return types.void(rows, x, i, i, w, i, i, factors, i, biases, i, scales, i, y, i, i), generate


def _shorts(builder: Any, place: Any) -> Any:
    loaded = builder.load(builder.bitcast(place, _SHORTS.as_pointer()))
    loaded.align = 2
    return loaded


def _keep_order(builder: Any, sums: Any) -> Any:
    """Keep the order of the sums; LLVM would add products to each other first and run out of registers."""
    return builder.asm(ir.FunctionType(_SUMS, [_SUMS]), "", "=x,0", [sums], False)


def _broadcast_pair(builder: Any, place: Any) -> Any:
    """Broadcast a pair of 16-bit integers."""
    both = builder.load(builder.bitcast(place, ir.IntType(32).as_pointer()))
    both.align = 2
    one = builder.insert_element(ir.Constant(_SUMS, ir.Undefined), both, cgutils.int32_t(0))
    return builder.bitcast(builder.shuffle_vector(one, one, ir.Constant(_SUMS, [0] * WIDTH)), _SHORTS)


def _multiply_pairs(builder: Any, a: Any, b: Any) -> Any:
    """a[2i] b[2i] + a[2i + 1] b[2i + 1], one AVX2 instruction"""
    kind = ir.FunctionType(_SUMS, [_SHORTS, _SHORTS])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx2.pmadd.wd"), [a, b])


def _panel_maxima(
    x: Any, scales: Any, m: Any, k: Any, w: Any, factors: Any, biases: Any, panels: Any, maxima: Any
) -> None:
    """maxima [m, panels]: the largest logit of each row and panel"""
    x, w, maxima = array_at(x), array_at(w), array_at(maxima)
    scales, factors, biases = array_at(scales), array_at(factors), array_at(biases)
    for begin in range(0, panels, CACHED_PANELS):
        end = min(begin + CACHED_PANELS, panels)
        r = ZERO_INDEX
        while r < m:
            rows = min(MOST_ROWS, m - r)
            for p in range(begin, end):
                given = x, r * k, k, w, p * PANEL * k, k // 2, factors, p * PANEL, biases, p * PANEL
                out = scales, r, maxima, r * panels + p, panels
                if rows == 6:
                    panel_max(SIX, *given, *out)
                elif rows == 5:
                    panel_max(FIVE, *given, *out)
                elif rows == 4:
                    panel_max(FOUR, *given, *out)
                elif rows == 3:
                    panel_max(THREE, *given, *out)
                elif rows == 2:
                    panel_max(TWO, *given, *out)
                else:
                    panel_max(ONE, *given, *out)
            r += rows


@functools.cache
def panel_max_kernel() -> Any:
    """`_panel_maxima` as a C function that kernels call by its address; needs AVX2."""
    shorts, numbers, count = "CPointer(int16), ", "CPointer(float32), ", "int64, "
    return callback(f"void({shorts}{numbers}{2 * count}{shorts}{2 * numbers}{count}CPointer(float32))", _panel_maxima)
