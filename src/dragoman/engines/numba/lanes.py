"""Eight float32 numbers at a time: what the compiler does not find by itself in loops over a head's few columns."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

from dragoman.engines.numba.arithmetic import build_call, build_exponential

WIDTH = 8
VECTOR = ir.VectorType(ir.FloatType(), WIDTH)


class Lanes(types.Type):
    """A vector register of eight float32."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


# What intrinsics are built from, here and in search.tiles. A place is the address of one number.


def place_of(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Where element `index` of a flat array stands."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def build_load(builder: Any, place: Any) -> Any:
    loaded = builder.load(builder.bitcast(place, VECTOR.as_pointer()))
    loaded.align = 4
    return loaded


def build_store(builder: Any, value: Any, place: Any) -> None:
    builder.store(value, builder.bitcast(place, VECTOR.as_pointer())).align = 4


def build_spread(builder: Any, x: Any) -> Any:
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), x, cgutils.int32_t(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(cgutils.int32_t, WIDTH), [0] * WIDTH))


def build_multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    return build_call(builder, "fma", a, b, c)


def build_reduction(builder: Any, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """One number of eight, pairwise: the same order every time."""
    size = WIDTH
    while size > 1:
        half = size // 2
        masks = [ir.Constant(ir.VectorType(cgutils.int32_t, half), list(range(s, s + half))) for s in (0, half)]
        low, high = (builder.shuffle_vector(vector, vector, mask) for mask in masks)
        vector, size = combine(low, high), half
    return builder.extract_element(vector, cgutils.int32_t(0))


def build_larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


@intrinsic  # type: ignore[untyped-decorator]
def load(typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_load(builder, place_of(context, builder, signature.args[0], *arguments))

    return lanes(array, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        build_store(builder, arguments[2], place_of(context, builder, signature.args[0], *arguments[:2]))
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def spread(typing: Any, x: Any) -> Any:
    """The same number in all lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_spread(builder, arguments[0])

    return lanes(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def multiply_add(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_multiply_add(builder, *arguments)

    return lanes(lanes, lanes, lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def together(typing: Any, a: Any) -> Any:
    """The sum of the lanes, pairwise: the same order every time."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_reduction(builder, arguments[0], builder.fadd)

    return types.float32(lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def store_sums(typing: Any, array: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The sums of the lanes of four vectors, side by side: less work than one after the other."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, *vectors = arguments

        def added(one: Any, two: Any, apart: int) -> Any:
            """Neighbours so far apart, of either vector by turns."""
            either = *range(apart), *range(WIDTH, WIDTH + apart)
            low = [i + lane for i in range(0, WIDTH, 2 * apart) for lane in either]
            kind = ir.VectorType(cgutils.int32_t, WIDTH)
            first, second = (ir.Constant(kind, [i + shift for i in low]) for shift in (0, apart))
            return builder.fadd(builder.shuffle_vector(one, two, first), builder.shuffle_vector(one, two, second))

        one, two, three, four = vectors
        sums = added(added(one, two, 1), added(three, four, 1), 2)
        half = ir.VectorType(cgutils.int32_t, WIDTH // 2)
        low, high = (
            builder.shuffle_vector(sums, sums, ir.Constant(half, these)) for these in ([0, 1, 2, 3], [4, 5, 6, 7])
        )
        place = place_of(context, builder, signature.args[0], array, index)
        all_four = builder.fadd(low, high)
        builder.store(all_four, builder.bitcast(place, all_four.type.as_pointer())).align = 4
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes, lanes, lanes, lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def larger(typing: Any, a: Any, b: Any) -> Any:
    """The larger of each pair of lanes; b where either is no number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_larger(builder, *arguments)

    return lanes(lanes, lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def largest(typing: Any, a: Any) -> Any:
    """The largest of the lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_reduction(builder, arguments[0], functools.partial(build_larger, builder))

    return types.float32(lanes), generate


@intrinsic  # type: ignore[untyped-decorator]
def powers(typing: Any, x: Any, top: Any) -> Any:
    """e^(x - top)"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_exponential(builder, builder.fsub(*arguments))

    return lanes(lanes, lanes), generate
