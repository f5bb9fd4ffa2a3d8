"""Products of rows with a vocabulary's weights in integers of 16 bits, of which the highest of each panel are kept.

Integers are multiplied sixteen at a time, real numbers eight.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import carray
from numba.core import cgutils, types
from numba.extending import intrinsic

from dragoman.engines.numba.arithmetic import build_call
from dragoman.engines.numba.jit import callback
from dragoman.engines.numba.lanes import VECTOR, WIDTH, build_larger, build_load, build_reduction, build_spread
from dragoman.engines.numba.panels import FIRST, FIVE, FOUR, ONE, PANEL, ROWS, SIX, THREE, TWO
from dragoman.engines.numba.tiles import UNROLLED, kept, pointers

LABELS = 32  # weights of a panel beside each other: two inputs of 16 labels
BLOCK = 16  # panels that stay in the cache while all rows pass by
_INDEX = ir.IntType(64)
_SHORTS, _SUMS = ir.VectorType(ir.IntType(16), 2 * WIDTH), ir.VectorType(ir.IntType(32), WIDTH)


@intrinsic  # type: ignore[untyped-decorator]
def tops(
    typing: Any,
    rows: Any,
    x: Any,
    x0: Any,
    x_apart: Any,
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
    y_apart: Any,
) -> Any:
    """y[r] = the largest of the 16 numbers scale[r] factor[c] sum_k x[r, k] w[k, c] + biases[c]

    rows  a tuple of so many numbers, as tiles take it; x, w  integers, those of w in a panel, two inputs at a time
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, arguments = signature.args[1:], arguments[1:]
        x, w, factors, biases, scales, y = pointers(context, builder, kinds, arguments, 0, 3, 6, 8, 10, 12)
        x_apart, pairs, y_apart = (arguments[i] for i in (2, 5, 14))
        cells = [[cgutils.alloca_once(builder, _SUMS) for _ in range(2)] for _ in rows]
        for cell in (cell for pair in cells for cell in pair):
            builder.store(ir.Constant(_SUMS, [0] * WIDTH), cell)
        lines = [kept(builder, builder.gep(x, [builder.mul(x_apart, _INDEX(r))])) for r in range(len(rows))]
        with cgutils.for_range_slice(builder, _INDEX(0), pairs, _INDEX(UNROLLED), inc=True) as (first, _):
            for i in range(UNROLLED):
                k = builder.add(first, _INDEX(i))
                panel = builder.gep(w, [builder.mul(k, _INDEX(LABELS))])
                weights = [_shorts(builder, builder.gep(panel, [_INDEX(c * LABELS // 2)])) for c in range(2)]
                for line, sums in zip(lines, cells, strict=True):
                    numbers = _pair(builder, builder.gep(line, [builder.mul(k, _INDEX(2))]))
                    for c in range(2):
                        products = _multiply_pairs(builder, numbers, weights[c])
                        builder.store(_held(builder, builder.add(builder.load(sums[c]), products)), sums[c])
        for r, sums in enumerate(cells):
            scale = build_spread(builder, builder.load(builder.gep(scales, [_INDEX(r)])))
            found = []
            for c in range(2):
                at = [_INDEX(c * WIDTH)]
                number = builder.sitofp(builder.load(sums[c]), VECTOR)
                number = builder.fmul(number, build_load(builder, builder.gep(factors, at)))
                found.append(build_call(builder, "fma", number, scale, build_load(builder, builder.gep(biases, at))))
            top = build_reduction(builder, build_larger(builder, *found), functools.partial(build_larger, builder))
            builder.store(top, builder.gep(y, [builder.mul(y_apart, _INDEX(r))]))
        return context.get_dummy_value()

    i = types.intp
    return types.void(rows, x, i, i, w, i, i, factors, i, biases, i, scales, i, y, i, i), generate


def _shorts(builder: Any, place: Any) -> Any:
    loaded = builder.load(builder.bitcast(place, _SHORTS.as_pointer()))
    loaded.align = 2
    return loaded


def _held(builder: Any, sums: Any) -> Any:
    """Sums in the order they are written in: the compiler would add products to each other and run out of registers."""
    return builder.asm(ir.FunctionType(_SUMS, [_SUMS]), "", "=x,0", [sums], False)


def _pair(builder: Any, place: Any) -> Any:
    """Two numbers, in all places."""
    both = builder.load(builder.bitcast(place, ir.IntType(32).as_pointer()))
    both.align = 2
    one = builder.insert_element(ir.Constant(_SUMS, ir.Undefined), both, cgutils.int32_t(0))
    return builder.bitcast(builder.shuffle_vector(one, one, ir.Constant(_SUMS, [0] * WIDTH)), _SHORTS)


def _multiply_pairs(builder: Any, a: Any, b: Any) -> Any:
    """a[2i] b[2i] + a[2i + 1] b[2i + 1], one instruction of processors with vectors of 8 numbers"""
    kind = ir.FunctionType(_SUMS, [_SHORTS, _SHORTS])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx2.pmadd.wd"), [a, b])


def _sift(x: Any, scales: Any, m: Any, k: Any, w: Any, factors: Any, biases: Any, panels: Any, maxima: Any) -> None:
    """maxima [m, panels] of the logits of each panel"""
    x, w, maxima = carray(x, 1), carray(w, 1), carray(maxima, 1)
    scales, factors, biases = carray(scales, 1), carray(factors, 1), carray(biases, 1)
    for begin in range(0, panels, BLOCK):
        end = min(begin + BLOCK, panels)
        r = FIRST
        while r < m:
            rows = min(ROWS, m - r)
            for p in range(begin, end):
                given = x, r * k, k, w, p * PANEL * k, k // 2, factors, p * PANEL, biases, p * PANEL
                out = scales, r, maxima, r * panels + p, panels
                if rows == 6:
                    tops(SIX, *given, *out)
                elif rows == 5:
                    tops(FIVE, *given, *out)
                elif rows == 4:
                    tops(FOUR, *given, *out)
                elif rows == 3:
                    tops(THREE, *given, *out)
                elif rows == 2:
                    tops(TWO, *given, *out)
                else:
                    tops(ONE, *given, *out)
            r += rows


@functools.cache
def sifting() -> Any:
    """The product as a kernel that kernels call by its address; only for processors that have the instruction."""
    shorts, numbers, count = "CPointer(int16), ", "CPointer(float32), ", "int64, "
    return callback(f"void({shorts}{numbers}{2 * count}{shorts}{2 * numbers}{count}CPointer(float32))", _sift)
