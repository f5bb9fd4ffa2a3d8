"""Microkernels: small blocks of a matrix product, accumulated in registers.

Weights are read in place or from packed panels (`packed_weights`). A BLAS packs them in every call, which pays for many
rows but not for the few rows of a search. Every element is summed in the order of its inputs whatever the block size,
so a sentence gets the same bits alone and in any batch. (`dot_microkernel` sums in lanes: with an output tied to the
embedding table, few rows may differ from many in the last bit.)
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from dragoman.engines.numba.simd.float32x8 import (
    VECTOR,
    WIDTH,
    build_broadcast,
    build_load,
    build_multiply_add,
    build_reduction,
    build_store,
    element_pointer,
)

_INDEX = ir.IntType(64)
UNROLLED = 4  # inputs per iteration of the inner loop


def _prefetch(builder: Any, place: Any) -> None:
    """Prefetch a cache line for reading, with high temporal locality."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()] + [ir.IntType(32)] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    builder.call(function, [builder.bitcast(place, ir.IntType(8).as_pointer()), *map(ir.IntType(32), (0, 3, 1))])


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line of an element; it may lie beyond the end of the array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _prefetch(builder, element_pointer(context, builder, signature.args[0], *arguments))
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def pointers(context: Any, builder: Any, kinds: Any, arguments: Any, *places: int) -> list[Any]:
    """Pointers into flat arrays: argument i is the array, argument i + 1 the index of its first element."""
    return [element_pointer(context, builder, kinds[i], arguments[i], arguments[i + 1]) for i in places]


def keep_in_register(builder: Any, place: Any) -> Any:
    """Keep a pointer in a register; LLVM would recompute it from others and run out of registers."""
    return builder.asm(ir.FunctionType(place.type, [place.type]), "", "=r,0", [place], False)


def _build_microkernel(rows: int, vectors: int, context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
    """The code of `microkernel`."""
    x, w, b, y = pointers(context, builder, kinds, arguments, 0, 3, 7, 10)
    x_stride, inputs, y_stride = (arguments[i] for i in (2, 6, 12))
    b_stride = None if kinds[9] == types.none else arguments[9]
    w_stride = _INDEX(vectors * WIDTH) if kinds[5] == types.none else arguments[5]
    prefetch_distance = None if kinds[13] == types.none else arguments[13]
    accumulators = [[cgutils.alloca_once(builder, VECTOR) for _ in range(vectors)] for _ in range(rows)]
    for r in range(rows):
        row = b if b_stride is None else builder.gep(b, [builder.mul(b_stride, _INDEX(r))])
        for c in range(vectors):
            builder.store(build_load(builder, builder.gep(row, [_INDEX(c * WIDTH)])), accumulators[r][c])
    x_rows = [keep_in_register(builder, builder.gep(x, [builder.mul(x_stride, _INDEX(r))])) for r in range(rows)]

    def add(k: Any) -> None:
        row = builder.gep(w, [builder.mul(w_stride, k)])
        weights = [build_load(builder, builder.gep(row, [_INDEX(c * WIDTH)])) for c in range(vectors)]
        for c in range(0, 0 if prefetch_distance is None else vectors, 2):
            _prefetch(builder, builder.gep(row, [builder.add(prefetch_distance, _INDEX(c * WIDTH))]))
        for r in range(rows):
            number = build_broadcast(builder, builder.load(builder.gep(x_rows[r], [k])))
            for c in range(vectors):
                total = build_multiply_add(builder, number, weights[c], builder.load(accumulators[r][c]))
                builder.store(total, accumulators[r][c])

    whole = builder.sub(inputs, builder.srem(inputs, _INDEX(UNROLLED)))
    with cgutils.for_range_slice(builder, _INDEX(0), whole, _INDEX(UNROLLED), inc=True) as (k, _):
        for i in range(UNROLLED):
            add(builder.add(k, _INDEX(i)))
    with cgutils.for_range_slice(builder, whole, inputs, _INDEX(1), inc=True) as (k, _):
        add(k)
    for r in range(rows):
        row = builder.gep(y, [builder.mul(y_stride, _INDEX(r))])
        for c in range(vectors):
            build_store(builder, builder.load(accumulators[r][c]), builder.gep(row, [_INDEX(c * WIDTH)]))
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def microkernel(
    typing: Any,
    rows: Any,
    vectors: Any,
    x: Any,
    x0: Any,
    x_stride: Any,
    w: Any,
    w0: Any,
    w_stride: Any,
    inputs: Any,
    b: Any,
    b0: Any,
    b_stride: Any,
    y: Any,
    y0: Any,
    y_stride: Any,
    prefetch_distance: Any,
) -> Any:
    """y[r, c] = b[c] + sum_k x[r, k] w[k, c] for a block of rows and 8 columns per vector

    rows, vectors      tuples whose lengths are the block size, a compile-time constant
    x0, w0, ...        index of the first element; x_stride, ...  row strides
    w_stride           None: w is a packed panel
    b_stride           None: the same biases for all rows; else b [rows, columns] holds partial sums to continue
    prefetch_distance  how far ahead weights are prefetched; None: not at all
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _build_microkernel(len(rows), len(vectors), context, builder, signature.args[2:], arguments[2:])

    i = types.intp
    return types.void(rows, vectors, x, i, i, w, i, w_stride, i, b, i, b_stride, y, i, i, prefetch_distance), generate


@functools.cache
def dot_microkernel(rows: int, columns: int) -> Callable[..., None]:
    """y[r, c] = b[c] + sum_k x[r, k] w[c, k], k a multiple of 8: the weights are an embedding table

    Arguments: x, x0, x_stride, w, w0, w_stride, inputs, b, b0, y, y0, y_stride
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, w, b, y = pointers(context, builder, signature.args, arguments, 0, 3, 7, 9)
        x_stride, w_stride, inputs, y_stride = (arguments[i] for i in (2, 5, 6, 11))
        accumulators = [[cgutils.alloca_once(builder, VECTOR) for _ in range(columns)] for _ in range(rows)]
        for cell in itertools.chain(*accumulators):
            builder.store(ir.Constant(VECTOR, [0.0] * WIDTH), cell)
        x_lines = [builder.gep(x, [builder.mul(x_stride, _INDEX(r))]) for r in range(rows)]
        w_lines = [builder.gep(w, [builder.mul(w_stride, _INDEX(c))]) for c in range(columns)]
        with cgutils.for_range_slice(builder, _INDEX(0), inputs, _INDEX(WIDTH), inc=True) as (k, _):
            left, right = (
                [build_load(builder, builder.gep(row, [k])) for row in x_rows] for x_rows in (x_lines, w_lines)
            )
            for r in range(rows):
                for c in range(columns):
                    total = build_multiply_add(builder, left[r], right[c], builder.load(accumulators[r][c]))
                    builder.store(total, accumulators[r][c])
        for r in range(rows):
            row = builder.gep(y, [builder.mul(y_stride, _INDEX(r))])
            for c in range(columns):
                total = build_reduction(builder, builder.load(accumulators[r][c]), builder.fadd)
                total = builder.fadd(total, builder.load(builder.gep(b, [_INDEX(c)])))
                builder.store(total, builder.gep(row, [_INDEX(c)]))
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def product(
        typing: Any,
        x: Any,
        x0: Any,
        x_stride: Any,
        w: Any,
        w0: Any,
        w_stride: Any,
        inputs: Any,
        b: Any,
        b0: Any,
        y: Any,
        y0: Any,
        y_stride: Any,
    ) -> Any:
        i = types.intp
        return types.void(x, i, i, w, i, i, i, b, i, y, i, i), generate

    return product  # type: ignore[no-any-return]
