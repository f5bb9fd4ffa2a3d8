"""Arguments that the attention kernels share. Python passes plain tuples, which numba recognizes faster."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from dragoman.engines.numba.jit import Kinds, inlined
from dragoman.graph import Array

LONG = 32  # queries and keys from which `blocked` is faster; at least 20, so that fives and sixes make up any number


@inlined
def is_long(rows: Any, keys: Any) -> Any:
    """Whether `blocked` handles a sequence. Its own length alone decides, so its bits are the same in any batch."""
    return rows >= LONG and keys >= LONG


class Columns(NamedTuple):
    """Some columns of a matrix: its data (flat, except for `scalar`), where they begin in row 0, and its row stride."""

    data: Array
    first: int | np.int64
    stride: int | np.int64


class AttentionSpec(NamedTuple):
    """Which keys a query attends to, and how they are scored.

    offsets, memory_offsets  [B + 1] where the queries and the keys of each sequence begin
    causal                   whether later keys are masked
    bias                     [heads, 2 reach + 1] by distance; [0, 1] if there is none
    """

    offsets: Array
    memory_offsets: Array
    heads: int
    causal: bool
    scale: float
    bias: Array


def attention_kinds(real: Any) -> Kinds:
    """The numba types of queries, keys and values, spec, outputs and their log-sum-exps."""
    integer, integers = types.int64, types.int64[::1]
    columns = types.NamedTuple((real[::1], integer, integer), Columns)
    spec = types.NamedTuple((integers, integers, integer, types.boolean, real, real[:, ::1]), AttentionSpec)
    return columns, columns, spec, real[::1], real[:, ::1]


def backward_kinds(real: Any) -> Kinds:
    """Those of `attention_kinds`, then of the derivatives of outputs, queries, keys and values, and bias."""
    return *attention_kinds(real), real[::1], real[::1], real[::1], real[:, ::1]


def head_kind(vectors: int) -> Any:
    """The numba type of `head_vectors`."""
    return types.UniTuple(types.int64, vectors)
