"""A ModelSpec as the kernels of a search take it."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, cast

import numpy as np

from dragoman.batch import END
from dragoman.engines.numba.gemm.gemm import has_own_gemm
from dragoman.engines.numba.gemm.packed_weights import PANEL
from dragoman.engines.numba.gemm.small_gemm import addresses
from dragoman.engines.numba.search.quantized_argmax import NOT_QUANTIZED, allocate_quantized
from dragoman.engines.transformer_spec import ModelSpec
from dragoman.graph import Array

MANY, MANY_TIED = 3, 16  # rows from which packing weights pays; a tied table must be transposed as well


# The fields of ModelSpec, the addresses of the products, memory for packed weights, and the quantized output layer.
ModelView: Any = cast("Any", namedtuple)(
    "ModelView", (*ModelSpec._fields, "gemm", "gemm_transposed", "packed_weights", "quantized")
)


def model_view(spec: ModelSpec, rows: int, argmax_only: bool = False) -> Any:
    """rows: sequences written at a time; with many, weights are packed, which takes about as long as a step.

    argmax_only  nothing but the best label is needed
    """
    many = rows >= (MANY_TIED if spec.tied else MANY)
    quantize = many and argmax_only and spec.vocabulary >= PANEL and has_own_gemm()
    quantized = allocate_quantized(spec.depth, spec.vocabulary) if quantize else NOT_QUANTIZED
    return ModelView(*spec, *addresses(), np.empty(spec.theta.size if many else 0, np.float32), quantized)


def supports(spec: ModelSpec, batch_labels: Array) -> bool:
    """Whether the kernels support such a network; if not, decoding goes step by step."""
    theta = spec.theta
    if theta.dtype != np.float32 or not theta.flags.carray or spec.epsilon == 0:
        return False
    return (spec.depth // spec.heads) % 8 == 0 and batch_labels.dtype.kind in "iu" and spec.vocabulary > END
