"""Functions of one number, written so that loops over them are compiled into vector instructions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LOG2_E, LEFT_OUT = 1.44269502, 1.92596300e-8  # a float32, and what it lacks
LOWEST, HIGHEST = -87.3, 88.0  # outside, e^x is no normal number of single precision
SHIFT = 12582912.0  # 1.5 * 2^23: added to a number, it leaves the nearest integer
# 2^f on [-1/2, 1/2], the polynomial that is nearest at Chebyshev's points
POWERS = (1.0000000710, 0.6931469492, 0.2402212175, 0.0555074262, 0.0096754597, 0.0013266970)
IN_ORDER = ("nsz",)  # an operation with a flag of its own is not given those that would let x + s - s be x


def build_call(builder: Any, name: str, *values: Any, flags: tuple[str, ...] = ()) -> Any:
    """One of LLVM's functions, of numbers or of vectors."""
    kind = values[0].type
    lanes = f"v{kind.count}" if isinstance(kind, ir.VectorType) else ""
    element = kind.element if lanes else kind
    size = "f32" if element == ir.FloatType() else "f64"
    function = ir.FunctionType(kind, [kind] * len(values))
    found = cgutils.get_or_insert_function(builder.module, function, f"llvm.{name}.{lanes}{size}")
    return builder.call(found, values, fastmath=flags)


def build_exponential(builder: Any, x: Any) -> Any:
    """e^x of a float32 or of a vector of them, within 3e-7 of itself; outside of the bounds, as at the bound

    What is no number stays none.
    """
    kind, integers = x.type, ir.IntType(32)
    if isinstance(kind, ir.VectorType):
        integers = ir.VectorType(integers, kind.count)

    def all_of(number: float, kind: Any = kind) -> Any:
        return ir.Constant(kind, [number] * kind.count if isinstance(kind, ir.VectorType) else number)

    for bound, outside in ((all_of(LOWEST), ">"), (all_of(HIGHEST), "<")):
        x = builder.select(builder.fcmp_ordered(outside, bound, x), bound, x)
    shifted = build_call(builder, "fma", x, all_of(LOG2_E), all_of(SHIFT))
    nearest = builder.fsub(shifted, all_of(SHIFT), flags=IN_ORDER)
    rest = build_call(builder, "fma", x, all_of(LOG2_E), builder.fneg(nearest))
    rest = build_call(builder, "fma", x, all_of(LEFT_OUT), rest)
    total = all_of(POWERS[-1])
    for coefficient in POWERS[-2::-1]:
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
    """The larger; none where either is no number. Python's max would leave loops to one number at a time."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build_call(builder, "maximum", *arguments, flags=("nsz", "reassoc"))

    return a(a, b), generate
