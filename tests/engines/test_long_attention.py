"""Attention in blocks, for sequences of LONG tokens or more: lengths around every border, widths, bias, NaN, bits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from dragoman import operations
from dragoman.graph import Array
from tests.engines.test_large_scores import PATTERNS, assert_close, move_scores
from tests.engines.test_numba_operations import assert_same, both, drawn

pytest.importorskip("numba")
import dragoman.engines.numba  # noqa: F401
from dragoman.engines.numba.kernels.attention import blocked, blocked_backward, scalar, simd
from dragoman.engines.numba.kernels.attention.arguments import LONG
from dragoman.engines.numba.kernels.attention.blocked_backward import QUERIES

# 5 and 6: rows of a microkernel; 8: a vector; 16: a panel; 32: LONG; 64: QUERIES
BORDERS = [1, 7, 8, 9, LONG - 1, LONG, LONG + 1, 47, 48, 49, QUERIES - 1, QUERIES, QUERIES + 1, 127, 128, 129, 200]
FLOAT32 = np.float32


def ends_of(lengths: list[int]) -> Array:
    return np.concatenate(([0], np.cumsum(lengths)))


def inputs(lengths: list[int], heads: int, width: int, reach: int | None, seed: int = 0) -> tuple[Array, Array | None]:
    rng = np.random.default_rng(seed)
    bias = None if reach is None else drawn(rng, FLOAT32, heads, 2 * reach + 1)
    return drawn(rng, FLOAT32, sum(lengths), 3 * heads * width), bias


def ours(operation: Any, *given: Any, **options: Any) -> tuple[Array, ...]:
    """The value of the kernel and its derivatives."""
    y, backward = operation._faster["numba"](*given, **options)
    found = backward(np.cos(np.arange(y.size).reshape(y.shape)).astype(y.dtype))
    return y, *(part for part in found if part is not None)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("reach", [None, 1, 16, 300])
@pytest.mark.parametrize("width", [3, 8, 13, 24])  # of 8 columns and others; each width costs seconds of compilation
def test_all_lengths_in_one_batch(width, reach, causal):
    """Long and short sequences side by side: each goes to its kernel, and none touches another's rows."""
    qkv, bias = inputs(BORDERS, 2, width, reach)
    assert_same(both(operations.attend_self, qkv, bias, offsets=ends_of(BORDERS), heads=2, causal=causal), FLOAT32)


@pytest.mark.parametrize("length", [LONG, LONG + 1, QUERIES + 1, 127, 128, 129])
@pytest.mark.parametrize("causal", [True, False])
def test_one_sequence_alone(length, causal):
    qkv, bias = inputs([length], 3, 8, 20)
    pair = both(operations.attend_self, qkv, bias, offsets=np.array([0, length]), heads=3, causal=causal, scaled=False)
    assert_same(pair, FLOAT32)


def test_cross_attention_of_any_two_lengths():
    lengths, memory = [40, 130, 33, 5, 64, 0, 100], [200, 33, 129, 90, 0, 64, 16]
    rng = np.random.default_rng(0)
    q, kv = drawn(rng, FLOAT32, sum(lengths), 24), drawn(rng, FLOAT32, sum(memory), 48)
    options = {"offsets": ends_of(lengths), "memory_offsets": ends_of(memory), "heads": 3}
    assert_same(both(operations.attend_cross, q, kv, **options), FLOAT32)


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_large_scores(pattern, biased):
    rng, ends = np.random.default_rng(0), ends_of([100, 70])
    q, k, v = (drawn(rng, FLOAT32, 170, 16) for _ in range(3))
    move_scores(q, k, 2, pattern)
    bias = drawn(rng, FLOAT32, 2, 5) if biased else None
    for causal in (False, True):
        pair = both(
            operations.attend_self, np.concatenate((q, k, v), axis=1), bias, offsets=ends, heads=2, causal=causal
        )
        assert_close(pair, FLOAT32)


@pytest.mark.parametrize("column", [0, 16, 32])  # of the queries, keys, values
@pytest.mark.parametrize("row", [40, 41, 99])
def test_nan_stays_visible_and_in_its_sequence(column, row):
    qkv, bias = inputs([40, 60, 50], 2, 8, 4)
    qkv[row, column] = np.nan
    options = {"offsets": ends_of([40, 60, 50]), "heads": 2, "causal": True}
    y, dqkv, dbias = ours(operations.attend_self, qkv, bias, **options)
    hurt = np.isnan(y).any(axis=1)
    assert hurt[row]
    assert not hurt[:40].any()
    assert not hurt[100:].any()
    others = np.r_[0:40, 100:150]
    assert np.isfinite(dqkv[others]).all()
    assert np.isnan(dqkv[40:100]).any()
    assert np.isnan(dbias[0]).any()
    assert np.isfinite(dbias[1]).all()


@pytest.mark.parametrize("causal", [True, False])
def test_bits_do_not_depend_on_the_batch(causal):
    """A sequence alone, and between others: what a shard gets does not change its results, short or long."""
    lengths = [20, 128, LONG, 200, 31, 129]
    qkv, bias = inputs(lengths, 2, 8, 9)
    together = ours(operations.attend_self, qkv, bias, offsets=ends_of(lengths), heads=2, causal=causal)
    ends = ends_of(lengths)
    weights = np.cos(np.arange(len(qkv) * 16).reshape(-1, 16)).astype(FLOAT32)
    for first, last in itertools.pairwise(ends):
        alone = np.ascontiguousarray(qkv[first:last])
        y, backward = operations.attend_self._faster["numba"](
            alone, bias, offsets=np.array([0, last - first]), heads=2, causal=causal
        )
        dqkv, _ = backward(weights[first:last])
        np.testing.assert_array_equal(y, together[0][first:last])
        np.testing.assert_array_equal(dqkv, together[1][first:last])


def test_the_same_inputs_give_the_same_bits():
    qkv, bias = inputs([128, 50, 200], 2, 24, 30)
    options = {"offsets": ends_of([128, 50, 200]), "heads": 2, "causal": True}
    first, second = (ours(operations.attend_self, qkv, bias, **options) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("lengths", "kind", "expected"),
    [
        ([LONG - 1, 3], FLOAT32, {"simd"}),
        ([LONG, 128], FLOAT32, {"blocked"}),
        ([LONG, LONG - 1], FLOAT32, {"blocked", "simd"}),
        ([128], np.float64, {"scalar"}),
    ],
)
def test_the_length_chooses_the_kernel(lengths, kind, expected, monkeypatch):
    called = set()
    names = {"blocked": blocked, "simd": simd, "scalar": scalar}
    for name, module in names.items():
        back = blocked_backward if name == "blocked" else module
        monkeypatch.setattr(module, "forward", lambda *_, name=name: called.add(name))
        monkeypatch.setattr(back, "backward", lambda *_, name=name: called.add(f"{name} backward"))
    qkv = np.zeros((sum(lengths), 48), kind)
    y, backward = operations.attend_self._faster["numba"](qkv, None, offsets=ends_of(lengths), heads=2)
    backward(y)
    assert called == expected | {f"{name} backward" for name in expected}
