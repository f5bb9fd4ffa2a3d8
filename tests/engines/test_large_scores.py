"""Scores far from 0: every softmax subtracts its maximum, or it overflows, in every kernel that has one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dragoman import operations
from dragoman.graph import Array
from dragoman.operations.softmax import log_sum_exp
from tests.engines.test_numba_operations import both, drawn

pytest.importorskip("numba")
import dragoman.engines.numba  # noqa: F401

OFFSETS, MEMORY = np.array([0, 5, 5, 9]), np.array([0, 4, 6, 12])
LEVELS = {np.float32: 150.0, np.float64: 2000.0}  # e^level is no number of this precision, nor is e^-level
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-9}  # scores of 150 and 2000 are rounded to 1.5e-5 and 2e-13
# what the score of every other key is of the first one's: all high, all low, far apart
PATTERNS = {"high": (1.0, 1.0), "low": (-1.0, -1.0), "apart": (1.0, -1.0), "apart, the first low": (-1.0, 1.0)}
every_pattern = pytest.mark.parametrize("pattern", PATTERNS)


def levels(pattern: str, count: int, kind: Any) -> Array:
    """By how much the scores of so many keys are moved."""
    return np.resize(PATTERNS[pattern], count).astype(kind) * LEVELS[kind]


def move_scores(q: Array, k: Array, heads: int, pattern: str, scaled: bool = True) -> None:
    """Let the first column of each head move the scores: q_0 k_0 / sqrt(width) is the level of a key."""
    kind, width = q.dtype.type, q.shape[1] // heads
    q[:, ::width] = 10
    k[:, ::width] = (levels(pattern, len(k), kind) * (width**0.5 if scaled else 1.0) / 10)[:, None]


def assert_close(pair: tuple[Any, Any], kind: Any) -> None:
    """Values and derivatives of the kernel are those of the definition, and finite."""
    for theirs, ours in zip(*pair, strict=True):
        for i, (a, b) in enumerate(zip(theirs, ours, strict=False)):
            if a is not None:
                assert np.isfinite(a).all(), "the definition itself overflows"
                scale = max(1.0, float(np.abs(a).max(initial=0)))
                np.testing.assert_allclose(b, a, atol=TOLERANCE[kind] * scale, rtol=0, err_msg=f"output {i}")


# the first is the kernel of eight columns at a time, the others that of any width
@pytest.mark.parametrize(("kind", "heads", "width"), [(np.float32, 2, 8), (np.float32, 2, 3), (np.float64, 2, 3)])
@pytest.mark.parametrize("biased", [False, True])
@every_pattern
def test_attend_self(kind, heads, width, biased, pattern):
    rng = np.random.default_rng(0)
    q, k, v = (drawn(rng, kind, OFFSETS[-1], heads * width) for _ in range(3))
    move_scores(q, k, heads, pattern)
    bias = drawn(rng, kind, heads, 5) if biased else None
    qkv = np.concatenate((q, k, v), axis=1)
    for causal in (False, True):
        assert_close(both(operations.attend_self, qkv, bias, offsets=OFFSETS, heads=heads, causal=causal), kind)


@pytest.mark.parametrize(("kind", "heads", "width"), [(np.float32, 2, 8), (np.float32, 2, 3), (np.float64, 2, 3)])
@every_pattern
def test_attend_cross(kind, heads, width, pattern):
    rng = np.random.default_rng(1)
    q = drawn(rng, kind, OFFSETS[-1], heads * width)
    k, v = (drawn(rng, kind, MEMORY[-1], heads * width) for _ in range(2))
    move_scores(q, k, heads, pattern)
    options = {"offsets": OFFSETS, "memory_offsets": MEMORY, "heads": heads}
    assert_close(both(operations.attend_cross, q, np.concatenate((k, v), axis=1), **options), kind)


@every_pattern
def test_attend_step(pattern):
    rng = np.random.default_rng(2)
    q, k, v = drawn(rng, np.float32, 3, 16), drawn(rng, np.float32, 12, 16), drawn(rng, np.float32, 12, 16)
    move_scores(q, k, 2, pattern)
    given = q, np.concatenate((k, v), axis=1), None
    options = {"starts": MEMORY[:-1], "lengths": np.diff(MEMORY), "heads": 2}
    ours, theirs = operations.attend_step._faster["numba"], operations.attend_step.definition
    np.testing.assert_allclose(ours(*given, **options), theirs(*given, **options), atol=2e-4)


@pytest.mark.parametrize("kind", LEVELS)
@every_pattern
def test_additive_attention(kind, pattern):
    """w tanh(q + k): a large weight, and arguments where tanh is 1 or -1."""
    rng = np.random.default_rng(3)
    q, k, w, v = (drawn(rng, kind, *shape) for shape in ((9, 6), (12, 6), (6,), (12, 4)))
    q[:, 0], k[:, 0], w[0] = 0, 30 * np.sign(levels(pattern, 12, kind)), LEVELS[kind]
    options = {"offsets": OFFSETS, "memory_offsets": MEMORY}
    assert_close(both(operations.attend_additive, q, k, w, v, **options), kind)


@pytest.mark.parametrize("kind", LEVELS)
@every_pattern
def test_cross_entropy(kind, pattern):
    rng = np.random.default_rng(4)
    targets = rng.integers(0, 7, 9)
    logits = drawn(rng, kind, 9, 7) + levels(pattern, 7, kind)
    for smoothing in (0.0, 0.1):
        options = {"targets": targets, "smoothing": smoothing, "deltas": (kind(1), None)}
        assert_close(both(operations.cross_entropy, logits, **options), kind)


@pytest.mark.parametrize("kind", LEVELS)
@every_pattern
def test_linear_cross_entropy(kind, pattern):
    rng = np.random.default_rng(5)
    x, w, targets = drawn(rng, kind, 9, 4), drawn(rng, kind, 4, 7), rng.integers(0, 7, 9)
    for smoothing in (0.0, 0.1):
        options = {"targets": targets, "smoothing": smoothing, "deltas": (kind(1), None)}
        assert_close(both(operations.linear_cross_entropy, x, w, levels(pattern, 7, kind), **options), kind)


@pytest.mark.parametrize("kind", LEVELS)
@every_pattern
def test_log_sum_exp(kind, pattern):
    x = drawn(np.random.default_rng(6), kind, 6, 11) + levels(pattern, 11, kind)
    for ours, theirs in zip(log_sum_exp._faster["numba"](x), log_sum_exp.definition(x), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4 if kind == np.float32 else 1e-11, rtol=0)
