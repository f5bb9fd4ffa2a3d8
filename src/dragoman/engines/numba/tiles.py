"""Tiles of matrix products, held in registers from the first addend to the last.

Weights are read where they stand or in panels (`panels`): a BLAS copies them before every product, which pays for many
rows but not for the few of a sentence that is being written. The sum of a number runs in the order of its inputs
whatever the tile, so a sentence gets the same bits alone and in any batch (`dots` sum in lanes: with an output tied to
the table of an embedding, few rows may differ from many in the last bit).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from dragoman.engines.numba.lanes import (
    VECTOR,
    WIDTH,
    build_load,
    build_multiply_add,
    build_reduction,
    build_spread,
    build_store,
    place_of,
)

_INDEX = ir.IntType(64)
UNROLLED = 4  # addends of a sum between two looks at whether there are more


def _prefetch(builder: Any, place: Any) -> None:
    """Bring a line into the cache nearest but one: it is needed soon, not now."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()] + [ir.IntType(32)] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    builder.call(function, [builder.bitcast(place, ir.IntType(8).as_pointer()), *map(ir.IntType(32), (0, 3, 1))])


@intrinsic  # type: ignore[untyped-decorator]
def fetch(typing: Any, array: Any, index: Any) -> Any:
    """Have what stands there brought into the cache; it may lie beyond the end."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _prefetch(builder, place_of(context, builder, signature.args[0], *arguments))
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def pointers(context: Any, builder: Any, kinds: Any, arguments: Any, *places: int) -> list[Any]:
    """Where numbers stand: argument i is a flat array, argument i + 1 the index of the first of them."""
    return [place_of(context, builder, kinds[i], arguments[i], arguments[i + 1]) for i in places]


def kept(builder: Any, place: Any) -> Any:
    """A place that stays in a register: the compiler would find it again from others each time, and run out of them."""
    return builder.asm(ir.FunctionType(place.type, [place.type]), "", "=r,0", [place], False)


def _build_tile(rows: int, vectors: int, context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
    """What `tile` says."""
    x, w, b, y = pointers(context, builder, kinds, arguments, 0, 3, 7, 10)
    x_apart, inputs, y_apart = (arguments[i] for i in (2, 6, 12))
    b_apart = None if kinds[9] == types.none else arguments[9]
    w_apart = _INDEX(vectors * WIDTH) if kinds[5] == types.none else arguments[5]
    ahead = None if kinds[13] == types.none else arguments[13]
    cells = [[cgutils.alloca_once(builder, VECTOR) for _ in range(vectors)] for _ in range(rows)]
    for r in range(rows):
        line = b if b_apart is None else builder.gep(b, [builder.mul(b_apart, _INDEX(r))])
        for c in range(vectors):
            builder.store(build_load(builder, builder.gep(line, [_INDEX(c * WIDTH)])), cells[r][c])
    lines = [kept(builder, builder.gep(x, [builder.mul(x_apart, _INDEX(r))])) for r in range(rows)]

    def add(k: Any) -> None:
        row = builder.gep(w, [builder.mul(w_apart, k)])
        weights = [build_load(builder, builder.gep(row, [_INDEX(c * WIDTH)])) for c in range(vectors)]
        for c in range(0, 0 if ahead is None else vectors, 2):
            _prefetch(builder, builder.gep(row, [builder.add(ahead, _INDEX(c * WIDTH))]))
        for r in range(rows):
            number = build_spread(builder, builder.load(builder.gep(lines[r], [k])))
            for c in range(vectors):
                total = build_multiply_add(builder, number, weights[c], builder.load(cells[r][c]))
                builder.store(total, cells[r][c])

    whole = builder.sub(inputs, builder.srem(inputs, _INDEX(UNROLLED)))
    with cgutils.for_range_slice(builder, _INDEX(0), whole, _INDEX(UNROLLED), inc=True) as (k, _):
        for i in range(UNROLLED):
            add(builder.add(k, _INDEX(i)))
    with cgutils.for_range_slice(builder, whole, inputs, _INDEX(1), inc=True) as (k, _):
        add(k)
    for r in range(rows):
        line = builder.gep(y, [builder.mul(y_apart, _INDEX(r))])
        for c in range(vectors):
            build_store(builder, builder.load(cells[r][c]), builder.gep(line, [_INDEX(c * WIDTH)]))
    return context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def tile(
    typing: Any,
    rows: Any,
    vectors: Any,
    x: Any,
    x0: Any,
    x_apart: Any,
    w: Any,
    w0: Any,
    w_apart: Any,
    inputs: Any,
    b: Any,
    b0: Any,
    b_apart: Any,
    y: Any,
    y0: Any,
    y_apart: Any,
    ahead: Any,
) -> Any:
    """y[r, c] = b[c] + sum_k x[r, k] w[k, c] for some rows and 8 columns a vector

    rows, vectors  tuples of so many numbers: their lengths are part of their types, and known when this is compiled
    x0, w0 ...     the place of the first number; x_apart ...  how far rows stand apart
    w_apart        None: weights without gaps, a panel
    b_apart        None: the same biases for all rows; else b has rows of its own, of sums that go on here
    ahead          how far on the weights stand that are asked for already; None: the processor does well by itself
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _build_tile(len(rows), len(vectors), context, builder, signature.args[2:], arguments[2:])

    i = types.intp
    return types.void(rows, vectors, x, i, i, w, i, w_apart, i, b, i, b_apart, y, i, i, ahead), generate


@functools.cache
def dots(rows: int, columns: int) -> Callable[..., None]:
    """y[r, c] = b[c] + sum_k x[r, k] w[c, k], k a multiple of 8: weights as an embedding's table has them

    dots(x, first, apart, w, first, apart, inputs, b, first, y, first, apart)
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, w, b, y = pointers(context, builder, signature.args, arguments, 0, 3, 7, 9)
        x_apart, w_apart, inputs, y_apart = (arguments[i] for i in (2, 5, 6, 11))
        cells = [[cgutils.alloca_once(builder, VECTOR) for _ in range(columns)] for _ in range(rows)]
        for cell in itertools.chain(*cells):
            builder.store(ir.Constant(VECTOR, [0.0] * WIDTH), cell)
        x_lines = [builder.gep(x, [builder.mul(x_apart, _INDEX(r))]) for r in range(rows)]
        w_lines = [builder.gep(w, [builder.mul(w_apart, _INDEX(c))]) for c in range(columns)]
        with cgutils.for_range_slice(builder, _INDEX(0), inputs, _INDEX(WIDTH), inc=True) as (k, _):
            left, right = (
                [build_load(builder, builder.gep(line, [k])) for line in lines] for lines in (x_lines, w_lines)
            )
            for r in range(rows):
                for c in range(columns):
                    total = build_multiply_add(builder, left[r], right[c], builder.load(cells[r][c]))
                    builder.store(total, cells[r][c])
        for r in range(rows):
            line = builder.gep(y, [builder.mul(y_apart, _INDEX(r))])
            for c in range(columns):
                total = build_reduction(builder, builder.load(cells[r][c]), builder.fadd)
                total = builder.fadd(total, builder.load(builder.gep(b, [_INDEX(c)])))
                builder.store(total, builder.gep(line, [_INDEX(c)]))
        return context.get_dummy_value()

    @intrinsic  # type: ignore[untyped-decorator]
    def product(
        typing: Any,
        x: Any,
        x0: Any,
        x_apart: Any,
        w: Any,
        w0: Any,
        w_apart: Any,
        inputs: Any,
        b: Any,
        b0: Any,
        y: Any,
        y0: Any,
        y_apart: Any,
    ) -> Any:
        i = types.intp
        return types.void(x, i, i, w, i, i, i, b, i, y, i, i), generate

    return product  # type: ignore[no-any-return]
