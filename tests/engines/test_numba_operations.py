"""Every kernel computes what the definition computes, forward and backward, in both precisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import operations
from dragoman.errors import DragomanError
from dragoman.graph import Array, DeferredGradient
from dragoman.operations.dropout import Dropout
from dragoman.operations.softmax import log_sum_exp
from tests.strategies import generators, offsets

pytest.importorskip("numba")
import dragoman.engines.numba  # noqa: F401
from dragoman.engines.numba.gemm import blas
from dragoman.engines.numba.gemm.gemm import gemm_addresses
from dragoman.engines.numba.ops.dense import weights_derivative

KINDS = [np.float32, np.float64]
TOLERANCE = {np.float32: 3e-5, np.float64: 1e-11}
few = settings(max_examples=12)
rates = st.sampled_from([None, 0.1, 0.5])


def plain(x: Any) -> Any:
    return x.value() if isinstance(x, DeferredGradient) else x


def both(operation: Any, *inputs: Any, deltas: tuple[Any, ...] | None = None, **options: Any) -> tuple[Any, Any]:
    """(value, derivatives) by the definition and by the kernel; inputs must come out as they went in."""
    results = []
    for function in (operation.definition, operation._faster["numba"]):
        copies = tuple(None if x is None else x.copy() for x in inputs)
        outcome = function(*copies, **options)
        assert outcome is not NotImplemented
        value, backward = outcome
        for copy, given_ in zip(copies, inputs, strict=True):
            np.testing.assert_array_equal(copy, given_)
        arrays = value if isinstance(value, tuple) else (value,)
        chosen = deltas or tuple(np.cos(np.arange(a.size).reshape(a.shape)).astype(a.dtype) for a in arrays)
        found = backward(*chosen)
        results.append((arrays, tuple(map(plain, found if isinstance(found, tuple) else (found,)))))
    return results[0], results[1]


def assert_same(pair: tuple[Any, Any], kind: Any) -> None:
    (values, derivatives), (our_values, our_derivatives) = pair
    for name, theirs, ours in (("value", values, our_values), ("derivative", derivatives, our_derivatives)):
        for i, (a, b) in enumerate(zip(theirs, ours, strict=False)):
            assert (a is None) == (b is None), f"{name} {i}"
            if a is not None:
                scale = max(1.0, float(np.abs(a).max(initial=0)))
                np.testing.assert_allclose(b, a, atol=TOLERANCE[kind] * scale, rtol=0, err_msg=f"{name} {i}")
                if isinstance(a, np.ndarray):
                    assert np.asarray(b).dtype == a.dtype


def drawn(rng: np.random.Generator, kind: Any, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(kind)


def dropout(rate: float | None, first_row: int = 5) -> Dropout | None:
    return None if rate is None else Dropout(rate, 123456789, first_row)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ["identity", "relu", "gelu"])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
@few
@given(rng=generators(), n=st.integers(0, 9), d=st.integers(1, 9), k=st.integers(1, 9))
def test_linear(kind, activation, biased, transposed, rng, n, d, k):
    x, w, b = drawn(rng, kind, n, d), drawn(rng, kind, *((k, d) if transposed else (d, k))), drawn(rng, kind, k)
    pair = both(operations.linear, x, w, b if biased else None, activation=activation, transposed=transposed)
    assert_same(pair, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["inside", "outside"])
@few
@given(rng=generators(), n=st.integers(1, 9), d=st.integers(2, 20), rate=rates, unused=st.sampled_from([None, 0, 1]))
def test_add_normalize(kind, form, rng, n, d, rate, unused):
    inputs = [drawn(rng, kind, n, d), drawn(rng, kind, n, d), drawn(rng, kind, d), drawn(rng, kind, d)]
    deltas: list[Any] = [drawn(rng, kind, n, d), drawn(rng, kind, n, d)]
    if unused is not None:
        deltas[unused] = None
    pair = both(operations.add_normalize, *inputs, deltas=tuple(deltas), form=form, epsilon=1e-3, dropout=dropout(rate))
    assert_same(pair, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["inside", "outside"])
def test_normalize_and_constant_rows(kind, form):
    rng = np.random.default_rng(0)
    x = drawn(rng, kind, 5, 8)
    x[2] = 3.0
    assert_same(both(operations.normalize, x, drawn(rng, kind, 8), drawn(rng, kind, 8), form=form, epsilon=1e-2), kind)


@pytest.mark.parametrize("kind", KINDS)
@few
@given(rng=generators(), n=st.integers(0, 9), rate=rates, placed=st.booleans())
def test_embed(kind, rng, n, rate, placed):
    table, positions = drawn(rng, kind, 7, 6), drawn(rng, kind, 9, 6) if placed else None
    where = rng.integers(0, 9, n) if placed else None
    pair = both(
        operations.embed,
        table,
        positions,
        labels=rng.integers(0, 7, n).astype(np.int32),
        positions=where,
        scale=2.5,
        dropout=dropout(rate),
    )
    assert_same(pair, kind)


@pytest.mark.parametrize("kind", KINDS)
@few
@given(rng=generators(), n=st.integers(1, 9), rate=st.sampled_from([0.1, 0.5, 0.9]))
def test_drop_is_the_same_mask(kind, rng, n, rate):
    pair = both(operations.drop, drawn(rng, kind, n, 12), dropout=dropout(rate, 2**33))
    assert_same(pair, kind)
    np.testing.assert_array_equal(pair[0][0][0] == 0, pair[1][0][0] == 0)


@pytest.mark.parametrize("kind", KINDS)
@few
@given(
    rng=generators(),
    n=st.integers(1, 9),
    size=st.integers(2, 40),
    smoothing=st.sampled_from([0.0, 0.1]),
    weighted=st.booleans(),
    total=st.sampled_from([None, 17.0]),
)
def test_cross_entropy(kind, rng, n, size, smoothing, weighted, total):
    logits, targets = 5 * drawn(rng, kind, n, size), rng.integers(0, size, n)
    weights = np.append(rng.integers(0, 2, n - 1), 1).astype(np.float32) if weighted else None
    options = {"targets": targets, "weights": weights, "smoothing": smoothing, "total": total}
    pair = both(operations.cross_entropy, logits, deltas=(np.asarray(1.5, kind),), **options)
    assert_same(pair, kind)
    assert pair[0][0][1] == pair[1][0][1]  # hits, to the last one


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("biased", [True, False])
@few
@given(
    rng=generators(),
    n=st.integers(1, 9) | st.sampled_from([64, 65, 193]),  # more than 64 are taken a strip at a time
    size=st.integers(2, 40),
    smoothing=st.sampled_from([0.0, 0.1]),
    weighted=st.booleans(),
    slope=st.sampled_from([1.0, 1.5]),
)
def test_linear_cross_entropy(kind, transposed, biased, rng, n, size, smoothing, weighted, slope):
    weights = drawn(rng, kind, *((size, 5) if transposed else (5, size)))
    inputs = [drawn(rng, kind, n, 5), weights, *([drawn(rng, kind, size)] if biased else [])]
    positions = np.append(rng.integers(0, 2, n - 1), 1).astype(np.float32) if weighted else None
    options = {"targets": rng.integers(0, size, n), "loss_weights": positions, "smoothing": smoothing}
    deltas = (np.asarray(slope, kind),)
    pair = both(operations.linear_cross_entropy, *inputs, deltas=deltas, transposed=transposed, **options)
    assert_same(pair, kind)
    assert pair[0][0][1] == pair[1][0][1]


def test_without_a_product_to_call_the_definitions_run(numba, monkeypatch):
    """NumPy may be built with another BLAS than that of its wheels."""
    x, w, targets = np.ones((3, 2), np.float32), np.ones((2, 4), np.float32), np.array([0, 1, 2])
    expected = operations.linear(x, w), operations.linear_cross_entropy(x, w, targets=targets)
    monkeypatch.setattr(blas, "GEMM", None)
    assert operations.linear._faster["numba"](x, w) is NotImplemented
    assert operations.linear_cross_entropy._faster["numba"](x, w, targets=targets) is NotImplemented
    np.testing.assert_allclose(operations.linear(x, w), expected[0])
    np.testing.assert_allclose(operations.linear_cross_entropy(x, w, targets=targets), expected[1], rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("impossible", [-np.inf, -1e38])
def test_impossible_labels_do_not_count(kind, impossible):
    logits = np.array([[1.0, impossible, 3.0, impossible, impossible, impossible, impossible, 2.0]], kind)
    assert_same(both(operations.cross_entropy, logits, deltas=(np.asarray(1.0, kind),), targets=np.array([2])), kind)


def test_of_equal_logits_the_first_counts(numba):
    logits = np.array([[1.0, 3.0, 3.0, 0.0]], np.float32)
    for target, hits in ((1, 1.0), (2, 0.0)):
        assert operations.cross_entropy(logits, targets=np.array([target]))[1] == hits


# widths of 8 columns at a time, and others; every pair costs seconds of compilation
@pytest.mark.parametrize(
    ("kind", "heads", "width"), [(np.float32, 2, 8), (np.float32, 3, 24), (np.float32, 2, 3), (np.float64, 2, 3)]
)
@pytest.mark.parametrize("causal", [True, False])
@settings(max_examples=8)
@given(rng=generators(), starts=offsets(count=3, high=9), reach=st.sampled_from([None, 1, 4]), scaled=st.booleans())
def test_attend_self(kind, heads, width, causal, rng, starts, reach, scaled):
    qkv = drawn(rng, kind, starts[-1], 3 * heads * width)
    bias = None if reach is None else drawn(rng, kind, heads, 2 * reach + 1)
    pair = both(operations.attend_self, qkv, bias, offsets=starts, heads=heads, causal=causal, scaled=scaled)
    assert_same(pair, kind)


@pytest.mark.parametrize(("kind", "heads", "width"), [(np.float32, 2, 8), (np.float32, 2, 3), (np.float64, 2, 3)])
@settings(max_examples=8)
@given(rng=generators(), starts=offsets(count=3, high=6), memory=offsets(count=3, high=9))
def test_attend_cross_also_where_there_is_nothing_to_look_at(kind, heads, width, rng, starts, memory):
    q, kv = drawn(rng, kind, starts[-1], heads * width), drawn(rng, kind, memory[-1], 2 * heads * width)
    assert_same(both(operations.attend_cross, q, kv, offsets=starts, memory_offsets=memory, heads=heads), kind)


@pytest.mark.parametrize("reach", [None, 2])
@few
@given(rng=generators(), lengths=st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_attend_step(reach, rng, lengths):
    ends = np.concatenate(([0], np.cumsum(lengths)))
    q, rows = drawn(rng, np.float32, len(lengths), 16), drawn(rng, np.float32, int(ends[-1]), 32)
    bias = None if reach is None else drawn(rng, np.float32, 2, 2 * reach + 1)
    options = {"starts": ends[:-1], "lengths": np.array(lengths), "heads": 2}
    ours = operations.attend_step._faster["numba"](q, rows, bias, **options)
    np.testing.assert_allclose(ours, operations.attend_step.definition(q, rows, bias, **options), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_log_sum_exp(kind):
    x = 30 * drawn(np.random.default_rng(0), kind, 6, 50)
    for ours, theirs in zip(log_sum_exp._faster["numba"](x), log_sum_exp.definition(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    for bad in (np.nan, np.inf):
        x[1, 3] = bad
        assert log_sum_exp._faster["numba"](x) is NotImplemented


def test_long_sequences_hold_no_square(numba):
    """1,024 positions: the weights of all heads alone would be 4 * 1024^2 * 4 bytes = 16 MiB."""
    import tracemalloc

    qkv, ends = drawn(np.random.default_rng(0), np.float32, 1024, 3 * 32), np.array([0, 1024])
    y, backward = operations.attend_self._faster["numba"](qkv, None, offsets=ends, heads=4)
    backward(y)  # both are compiled, which takes memory too
    tracemalloc.start()
    y, backward = operations.attend_self._faster["numba"](qkv, None, offsets=ends, heads=4)
    backward(y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * 2**20


def test_the_logits_of_a_batch_are_not_held(numba):
    """1,024 rows and 1,000 labels: all logits would be 4 MB, those of a strip of 171 rows are 0.7."""
    import tracemalloc

    rng = np.random.default_rng(0)
    x, w, targets = drawn(rng, np.float32, 1024, 8), drawn(rng, np.float32, 8, 1000), rng.integers(0, 1000, 1024)
    one = np.ones((), np.float32)
    operations.linear_cross_entropy._faster["numba"](x, w, targets=targets)[1](one)  # compiled
    tracemalloc.start()
    operations.linear_cross_entropy._faster["numba"](x, w, targets=targets)[1](one)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


MISTAKES = [
    (operations.linear, (np.ones((2, 3)), np.ones((4, 5))), {}),
    (operations.linear, (np.ones((2, 3)), np.ones((3, 5)), np.ones(4)), {}),
    (operations.embed, (np.ones((4, 3)),), {"labels": np.array([4])}),
    (operations.embed, (np.ones((4, 3)), np.ones((2, 3))), {"labels": np.array([1]), "positions": np.array([2])}),
    (operations.embed, (np.ones((4, 3)),), {"labels": np.array([-1])}),
    (operations.cross_entropy, (np.ones((2, 3)),), {"targets": np.array([0, 3])}),
    (operations.cross_entropy, (np.full((2, 3), np.nan),), {"targets": np.array([0, 1])}),
    (operations.cross_entropy, (np.ones((2, 3)),), {"targets": np.array([0, 1]), "smoothing": 1.0}),
    (operations.attend_self, (np.ones((3, 12)),), {"offsets": np.array([0, 4]), "heads": 2}),
    (operations.attend_self, (np.ones((3, 12)),), {"offsets": np.array([0, 2, 1, 3]), "heads": 2}),
    (operations.attend_self, (np.ones((3, 12)),), {"offsets": np.array([0, 3]), "heads": 3}),
    (operations.add_normalize, (np.ones((2, 3)), np.ones((2, 4)), np.ones(3), np.ones(3)), {}),
    (operations.normalize, (np.ones((2, 3)), np.ones(3), np.ones(3)), {"form": "beside"}),
]


@pytest.mark.parametrize(("operation", "inputs", "options"), MISTAKES)
def test_mistakes_are_told_in_the_same_words(numba, operation, inputs, options):
    with pytest.raises(DragomanError) as theirs:
        operation.definition(*inputs, **options)
    with pytest.raises(DragomanError) as ours:
        operation(*inputs, **options)
    assert (type(ours.value), str(ours.value)) == (type(theirs.value), str(theirs.value))


@pytest.mark.parametrize("kind", KINDS)
@few
@given(rng=generators(), ends=offsets(5), width=st.integers(1, 9), depth=st.integers(1, 9))
def test_additive_attention(kind, rng, ends, width, depth):
    """Several queries, one or none look at several rows, one or none."""
    memory = np.concatenate(([0], np.cumsum(rng.integers(0, 5, len(ends) - 1))))
    inputs = (drawn(rng, kind, ends[-1], width), drawn(rng, kind, memory[-1], width), drawn(rng, kind, width))
    values = drawn(rng, kind, memory[-1], depth)
    pair = both(operations.attend_additive, *inputs, values, offsets=ends, memory_offsets=memory)
    assert_same(pair, kind)


@pytest.mark.parametrize(("inputs", "outputs", "rows"), [(8, 512, 333), (16, 1000, 37), (24, 520, 90), (64, 1030, 333)])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("add", [False, True])
def test_where_a_derivative_is_cut_leaves_its_bits(numba, inputs, outputs, rows, transposed, add):
    """Threads cut it as they are free: the same training must come of it all the same."""
    rng = np.random.default_rng(inputs)
    x, dc = (rng.standard_normal((rows, size)).astype(np.float32) for size in (inputs, outputs))
    shape = (outputs, inputs) if transposed else (inputs, outputs)
    begun = rng.standard_normal(shape).astype(np.float32)
    pending = weights_derivative(gemm_addresses(x.dtype), x, dc, shape, transposed)
    found, pieces = set(), pending.pieces
    while pieces <= pending.finest:
        out = begun.copy()
        for piece in range(pieces):
            pending.write(out, add, piece, pieces)
        found.add(out.tobytes())
        pieces *= 2
    assert len(found) == 1
    expected = (dc.T @ x if transposed else x.T @ dc) + (begun if add else 0)
    np.testing.assert_allclose(out, expected, atol=2e-5 * rows**0.5)
    if inputs >= 20 and gemm_addresses(x.dtype)[1]:
        assert pending.finest > pending.pieces
