"""exp and max of one number, written so that LLVM vectorizes loops over them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LOG2_E, LOG2_E_REST = 1.44269502, 1.92596300e-8  # log2(e) as a float32, and its rounding error
LOWEST, HIGHEST = -87.3, 88.0  # outside these, e^x is not a normal float32
SHIFT = 12582912.0  # 1.5 * 2^23: adding it rounds a float32 to the nearest integer
# 2^f on [-1/2, 1/2], interpolated at the Chebyshev points
EXP2_COEFFICIENTS = (1.0000000710, 0.6931469492, 0.2402212175, 0.0555074262, 0.0096754597, 0.0013266970)
NO_REASSOCIATION = ("nsz",)  # an explicit flag replaces the default ones, which would simplify x + s - s to x


def build_call(builder: Any, name: str, *values: Any, flags: tuple[str, ...] = ()) -> Any:
    """Call an LLVM math intrinsic on scalars or vectors."""
    kind = values[0].type
    prefix = f"v{kind.count}" if isinstance(kind, ir.VectorType) else ""
    element = kind.element if prefix else kind
    size = "f32" if element == ir.FloatType() else "f64"
    function = ir.FunctionType(kind, [kind] * len(values))
    found = cgutils.get_or_insert_function(builder.module, function, f"llvm.{name}.{prefix}{size}")
    return builder.call(found, values, fastmath=flags)


def build_exponential(builder: Any, x: Any) -> Any:
    """e^x of a float32 or a vector of them, relative error below 3e-7; x is clamped to [LOWEST, HIGHEST].

    NaN propagates.
    """
    kind, integers = x.type, ir.IntType(32)
    if isinstance(kind, ir.VectorType):
        integers = ir.VectorType(integers, kind.count)

    def all_of(number: float, kind: Any = kind) -> Any:
        return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)

    for bound, outside in ((all_of(LOWEST), ">"), (all_of(HIGHEST), "<")):
        x = builder.select(builder.fcmp_ordered(outside, bound, x), bound, x)
    shifted = build_call(builder, "fma", x, all_of(LOG2_E), all_of(SHIFT))
    nearest = builder.fsub(shifted, all_of(SHIFT), flags=NO_REASSOCIATION)
    rest = build_call(builder, "fma", x, all_of(LOG2_E), builder.fneg(nearest))
    rest = build_call(builder, "fma", x, all_of(LOG2_E_REST), rest)
    total = all_of(EXP2_COEFFICIENTS[-1])
    for coefficient in EXP2_COEFFICIENTS[-2::-1]:
        total = build_call(builder, "fma", total, rest, all_of(coefficient))
    exponent = builder.shl(builder.bitcast(shifted, integers), all_of(23, integers))
    return builder.bitcast(builder.add(builder.bitcast(total, integers), exponent), kind)


@intrinsic  # type: ignore[untyped-decorator]
def exponential(typing: Any, x: Any) -> Any:
    """e^x"""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        single = signature.args[0] == types.float32
        return build_exponential(builder, *arguments) if single else build_call(builder, "exp", *arguments)

    return x(x), generate


@intrinsic  # type: ignore[untyped-decorator]
def maximum(typing: Any, a: Any, b: Any) -> Any:
    """The larger of two numbers; NaN propagates. Loops over Python's max would not be vectorized."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_call(builder, "maximum", *arguments, flags=("nsz", "reassoc"))

    return a(a, b), generate
