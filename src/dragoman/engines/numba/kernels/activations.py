"""Activation functions; the float32 versions are written so that LLVM vectorizes loops over them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from dragoman.engines.numba.simd.elementwise import exponential
from dragoman.operations.activations import GELU_CUBE, GELU_SLOPE

ONE, TWO = np.float32(1), np.float32(2)
SLOPE, CUBE = np.float32(GELU_SLOPE), np.float32(GELU_CUBE)
TANH_BOUND = np.float32(8)  # beyond it tanh is 1 within 2e-7
# tanh x = x P(x^2) / Q(x^2) on [-8, 8], the minimax fraction: relative error 6e-9, below rounding
P0, P1, P2 = np.float32(9.99999994e-1), np.float32(1.34444924e-1), np.float32(3.57159135e-3)
P3, P4 = np.float32(2.18945515e-5), np.float32(1.52302611e-8)
Q1, Q2 = np.float32(4.67778197e-1), np.float32(2.61644175e-2)
Q3, Q4 = np.float32(3.41128108e-4), np.float32(8.52238343e-7)


def logistic(x: float) -> float:
    """1 / (1 + e^-x); NaN propagates."""
    return 1 / (1 + math.exp(-x))


@overload(logistic, inline="always")  # type: ignore[untyped-decorator]
def _logistic(x: Any) -> Any:
    return _logistic32 if x == types.float32 else _logistic64


def _logistic32(x: Any) -> Any:
    return ONE / (ONE + exponential(-x))


def _logistic64(x: Any) -> Any:
    return 1.0 / (1.0 + math.exp(-x))


def tanh(x: float) -> float:
    return math.tanh(x)


@overload(tanh, inline="always")  # type: ignore[untyped-decorator]
def _tanh(x: Any) -> Any:
    return _tanh32 if x == types.float32 else _tanh64


def _tanh32(x: Any) -> Any:
    v = min(max(x, -TANH_BOUND), TANH_BOUND)
    z = v * v
    above = (((P4 * z + P3) * z + P2) * z + P1) * z + P0
    below = (((Q4 * z + Q3) * z + Q2) * z + Q1) * z + ONE
    return v * above / below


def _tanh64(x: Any) -> Any:
    return math.tanh(x)


def gelu_denominator(x: float) -> float:
    """1 + e^-2u, u = sqrt(2 / pi) (x + 0.044715 x^3): x divided by it is the tanh form of GELU."""
    return 1 + math.exp(-2 * GELU_SLOPE * (x + GELU_CUBE * x * x * x))


@overload(gelu_denominator, inline="always")  # type: ignore[untyped-decorator]
def _gelu_denominator(x: Any) -> Any:
    return _gelu_denominator32 if x == types.float32 else _gelu_denominator64


def _gelu_denominator32(x: Any) -> Any:
    return ONE + exponential(-TWO * SLOPE * (x + CUBE * x * x * x))


def _gelu_denominator64(x: Any) -> Any:
    return 1.0 + exponential(-2.0 * GELU_SLOPE * (x + GELU_CUBE * x * x * x))
