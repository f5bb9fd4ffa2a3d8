"""A vector register of eight float32, for short loops (the columns of a head) that LLVM does not vectorize."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

from dragoman.engines.numba.simd.elementwise import build_call, build_exponential

WIDTH = 8
VECTOR = ir.VectorType(ir.FloatType(), WIDTH)


class Float32x8(types.Type):
    """The numba type of a vector register of eight float32."""

    def __init__(self) -> None:
        super().__init__(name="Float32x8")


float32x8 = Float32x8()


@register_model(Float32x8)
class _Float32x8Model(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


# LLVM builders of the intrinsics here and in gemm.microkernel. A place is a pointer to one number.


def element_pointer(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """A pointer to element `index` of a flat array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def build_load(builder: Any, place: Any) -> Any:
    loaded = builder.load(builder.bitcast(place, VECTOR.as_pointer()))
    loaded.align = 4
    return loaded


def build_store(builder: Any, value: Any, place: Any) -> None:
    builder.store(value, builder.bitcast(place, VECTOR.as_pointer())).align = 4


def build_broadcast(builder: Any, x: Any) -> Any:
    one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), x, cgutils.int32_t(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(cgutils.int32_t, WIDTH), [0] * WIDTH))


def build_multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    return build_call(builder, "fma", a, b, c)


def build_reduction(builder: Any, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """Reduce eight lanes to one number, pairwise, always in the same order."""
    size = WIDTH
    while size > 1:
        half = size // 2
        masks = [ir.Constant(ir.VectorType(cgutils.int32_t, half), list(range(s, s + half))) for s in (0, half)]
        low, high = (builder.shuffle_vector(vector, vector, mask) for mask in masks)
        vector, size = combine(low, high), half
    return builder.extract_element(vector, cgutils.int32_t(0))


def build_lanewise_max(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


@intrinsic  # type: ignore[untyped-decorator]
def load(typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_load(builder, element_pointer(context, builder, signature.args[0], *arguments))

    return float32x8(array, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        build_store(builder, arguments[2], element_pointer(context, builder, signature.args[0], *arguments[:2]))
        return context.get_dummy_value()

    return types.void(array, types.intp, float32x8), generate


@intrinsic  # type: ignore[untyped-decorator]
def broadcast(typing: Any, x: Any) -> Any:
    """Copy a number to all lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_broadcast(builder, arguments[0])

    return float32x8(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def add(typing: Any, a: Any, b: Any) -> Any:
    """a + b"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments)

    return float32x8(float32x8, float32x8), generate


@intrinsic  # type: ignore[untyped-decorator]
def multiply_add(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_multiply_add(builder, *arguments)

    return float32x8(float32x8, float32x8, float32x8), generate


@intrinsic  # type: ignore[untyped-decorator]
def first_lanes(typing: Any, a: Any, count: Any, b: Any) -> Any:
    """The first `count` lanes of a, the others of b; count may be negative or larger than 8."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, count, b = arguments
        kind = ir.VectorType(cgutils.intp_t, WIDTH)
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), count, cgutils.int32_t(0))
        counts = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(cgutils.int32_t, WIDTH), [0] * WIDTH))
        return builder.select(builder.icmp_signed("<", ir.Constant(kind, list(range(WIDTH))), counts), a, b)

    return float32x8(float32x8, types.intp, float32x8), generate


@intrinsic  # type: ignore[untyped-decorator]
def horizontal_sum(typing: Any, a: Any) -> Any:
    """The sum of all lanes, pairwise, always in the same order."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_reduction(builder, arguments[0], builder.fadd)

    return types.float32(float32x8), generate


@intrinsic  # type: ignore[untyped-decorator]
def store_sums(typing: Any, array: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Store the horizontal sums of four vectors side by side; cheaper than four `horizontal_sum`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, *vectors = arguments

        def added(one: Any, two: Any, stride: int) -> Any:
            """Add lanes at distance `stride` within each vector and interleave the results."""
            either = *range(stride), *range(WIDTH, WIDTH + stride)
            low = [i + lane for i in range(0, WIDTH, 2 * stride) for lane in either]
            kind = ir.VectorType(cgutils.int32_t, WIDTH)
            first, second = (ir.Constant(kind, [i + shift for i in low]) for shift in (0, stride))
            return builder.fadd(builder.shuffle_vector(one, two, first), builder.shuffle_vector(one, two, second))

        one, two, three, four = vectors
        sums = added(added(one, two, 1), added(three, four, 1), 2)
        half = ir.VectorType(cgutils.int32_t, WIDTH // 2)
        low, high = (
            builder.shuffle_vector(sums, sums, ir.Constant(half, these)) for these in ([0, 1, 2, 3], [4, 5, 6, 7])
        )
        place = element_pointer(context, builder, signature.args[0], array, index)
        all_four = builder.fadd(low, high)
        builder.store(all_four, builder.bitcast(place, all_four.type.as_pointer())).align = 4
        return context.get_dummy_value()

    return types.void(array, types.intp, float32x8, float32x8, float32x8, float32x8), generate


@intrinsic  # type: ignore[untyped-decorator]
def lanewise_max(typing: Any, a: Any, b: Any) -> Any:
    """The larger of each pair of lanes; b if either is NaN."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_lanewise_max(builder, *arguments)

    return float32x8(float32x8, float32x8), generate


@intrinsic  # type: ignore[untyped-decorator]
def horizontal_max(typing: Any, a: Any) -> Any:
    """The largest lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_reduction(builder, arguments[0], functools.partial(build_lanewise_max, builder))

    return types.float32(float32x8), generate


@intrinsic  # type: ignore[untyped-decorator]
def exp_sub(typing: Any, x: Any, top: Any) -> Any:
    """e^(x - top)"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_exponential(builder, builder.fsub(*arguments))

    return float32x8(float32x8, float32x8), generate
